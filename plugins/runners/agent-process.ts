import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { createRedactor, messageOf, secretsOfEnvironment, type Clock } from "../../core/index.ts";
import type { AcpConfig } from "./config.ts";
import { LastLines } from "./last-lines.ts";
import { keepGroup, killGroup, ownGroup } from "./process-group.ts";
import { within } from "./waiting.ts";

/** A child process that runs an agent. */
export interface AgentProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** How it ended, as part of a sentence: `exited with code 1`. Settles once, also when it could not be started. */
  readonly ended: Promise<string>;
  /** The last lines of its standard error, for an error text, without secrets; "" when it wrote none. */
  lastLines(): string;
  /** Closes its input; after `graceMs` sends SIGTERM, after as long again SIGKILL. Resolves when it has ended. */
  end(graceMs: number): Promise<void>;
}

/**
 * Starts the agent of a config, in a process group of its own: Ctrl-C in the terminal reaches the host alone, which then
 * stops turns in order. What is left of the group when the agent ends is killed, and all of it when the host exits.
 * When the host is killed the agent reads the end of its input.
 *
 * @throws what the system says at once (e.g. arguments that are too long); most failures to start come by `ended`
 */
export function startAgentProcess({ command, args = [], cwd, env = {} }: AcpConfig, clock: Clock): AgentProcess {
  const child = spawn(command, args, {
    ...(cwd !== undefined && { cwd }),
    env: environmentOf(env),
    stdio: ["pipe", "pipe", "pipe"],
    ...ownGroup,
  });
  keepGroup(child);
  const last = new LastLines();
  child.stderr.on("data", (chunk: Buffer) => last.add(chunk));
  // An agent that prints a secret prints one of those it was given, most likely.
  const redactor = createRedactor({ literals: secretsOfEnvironment(env) });
  for (const pipe of [child.stdin, child.stdout, child.stderr]) {
    // A pipe that breaks because its other end died: `ended` tells it.
    pipe.on("error", () => undefined);
  }
  const ended = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => resolve(exitText(code, signal)));
    child.once("error", (fault: NodeJS.ErrnoException) => {
      // Other errors are about signals that could not be sent.
      if (child.pid === undefined) resolve(`could not be started: ${startFault(fault, cwd)}`);
    });
  });
  return {
    stdin: child.stdin,
    stdout: child.stdout,
    ended,
    lastLines: () => last.text(redactor),
    async end(graceMs) {
      child.stdin.end();
      if ((await within(clock, graceMs, ended)) !== undefined) return;
      killGroup(child.pid, "SIGTERM");
      if ((await within(clock, graceMs, ended)) !== undefined) return;
      killGroup(child.pid, "SIGKILL");
      await ended;
    },
  };
}

/** What the config names, plus PATH and HOME: nothing else of the host's environment reaches an agent. */
export function environmentOf(named: { readonly [name: string]: string }): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return { ...(PATH !== undefined && { PATH }), ...(HOME !== undefined && { HOME }), ...named };
}

/** Why a process could not be started. The system says ENOENT of a missing folder, too, and names the command. */
export function startFault(fault: Error, cwd: string | undefined): string {
  return cwd !== undefined && !existsSync(cwd) ? `its folder ${cwd} does not exist` : messageOf(fault);
}

/** How a process ended, as part of a sentence. */
export function exitText(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `exited with code ${code}` : `was killed by ${signal}`;
}
