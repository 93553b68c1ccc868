import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { createRedactor, messageOf, secretsOfEnvironment, type Clock } from "../../core/index.ts";
import type { AcpConfig } from "./config.ts";
import { LastLines } from "./last-lines.ts";
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
    detached: process.platform !== "win32",
    windowsHide: true,
  });
  killAtExit(child);
  const last = new LastLines();
  child.stderr.on("data", (chunk: Buffer) => last.add(chunk));
  // An agent that prints a secret prints one of those it was given, most likely.
  const redactor = createRedactor({ literals: secretsOfEnvironment(env) });
  for (const pipe of [child.stdin, child.stdout, child.stderr]) {
    // A pipe that breaks because its other end died: `ended` tells it.
    pipe.on("error", () => undefined);
  }
  const ended = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => {
      kill(child, "SIGKILL");
      resolve(signal === null ? `exited with code ${code}` : `was killed by ${signal}`);
    });
    child.once("error", (fault: NodeJS.ErrnoException) => {
      // Other errors are about signals that could not be sent.
      if (child.pid === undefined) resolve(`could not be started: ${reasonOf(fault, cwd)}`);
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
      kill(child, "SIGTERM");
      if ((await within(clock, graceMs, ended)) !== undefined) return;
      kill(child, "SIGKILL");
      await ended;
    },
  };
}

/** What the config names, plus PATH and HOME: nothing else of the host's environment reaches an agent. */
function environmentOf(named: { readonly [name: string]: string }): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return { ...(PATH !== undefined && { PATH }), ...(HOME !== undefined && { HOME }), ...named };
}

// The system says ENOENT of a missing folder, too, and names the command.
function reasonOf(fault: Error, cwd: string | undefined): string {
  return cwd !== undefined && !existsSync(cwd) ? `its folder ${cwd} does not exist` : messageOf(fault);
}

/** Sends a signal to the agent and what it started. */
function kill(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // Nothing of the group is left.
  }
}

const alive = new Set<ChildProcess>();

function killAtExit(child: ChildProcess): void {
  if (child.pid === undefined) return;
  if (alive.size === 0) process.on("exit", killAll);
  alive.add(child);
  child.once("exit", () => {
    alive.delete(child);
    if (alive.size === 0) process.off("exit", killAll);
  });
}

function killAll(): void {
  for (const child of alive) kill(child, "SIGKILL");
}
