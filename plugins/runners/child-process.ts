import { spawn } from "node:child_process";
import type { Duplex, Readable, Writable } from "node:stream";
import { createRedactor, secretsOfEnvironment, type Clock } from "../../core/index.ts";
import { builtFile } from "../built-file.ts";
import { environmentOf, exitText, startFault } from "./agent-process.ts";
import type { ToChild } from "./child-messages.ts";
import { childPipes } from "./child-pipes.ts";
import { LastLines } from "./last-lines.ts";
import { LineReader } from "./line-reader.ts";
import { keepGroup, killGroup, ownGroup } from "./process-group.ts";
import { within } from "./waiting.ts";

/** What a runner's child is started with. */
export interface ChildStart {
  readonly cwd?: string | undefined;
  /** Beside PATH and HOME. */
  readonly env?: { readonly [name: string]: string } | undefined;
  readonly clock: Clock;
  /** Of one line that it writes, its end not counted. */
  readonly maxLineBytes: number;
  /** Told each line; undefined for one that is too long, behind which none follows. Must not throw. */
  readonly onLine: (line: string | undefined) => void;
}

/** The process of a runner's child, and the pipes to it. */
export interface RunnerProcess {
  /** How it ended, as part of a sentence, with its last lines. Settles once, when all that it had written was read. */
  readonly ended: Promise<string>;
  /** What was told to it and has not left yet. Bytes. */
  readonly backlogBytes: number;
  tell(message: ToChild): void;
  /** Reads no further line. */
  deafen(): void;
  /** Groups of processes that it has started, by their leaders: they are killed with it. */
  groups: readonly number[];
  /** Kills it and all it started. */
  kill(): void;
}

/** How long the end of a process and the end of its output may lie apart. */
const exitNewsMs = 1_000;

/**
 * Starts the child of a runner, in a process group of its own: Ctrl-C in the terminal reaches the host alone. It reads one
 * chunk in a turn of the event loop, so a child that writes without end takes its share and no more; what is not read yet
 * waits in the pipe, and the child at it.
 *
 * @throws what the system says at once; most failures to start come by `ended`
 */
export function startRunnerProcess({ cwd, env = {}, clock, maxLineBytes, onLine }: ChildStart): RunnerProcess {
  const child = spawn(process.execPath, [builtFile("runners/child-main.js")], {
    ...(cwd !== undefined && { cwd }),
    env: environmentOf(env),
    stdio: ["ignore", "pipe", "pipe", "pipe", "pipe", "pipe"],
    ...ownGroup,
  });
  keepGroup(child);
  const pipes: readonly unknown[] = child.stdio;
  const told = pipes[childPipes.told] as Readable;
  const heard = pipes[childPipes.heard] as Writable;
  const life = pipes[childPipes.life] as Duplex;
  // A pipe that breaks because its other end died: `ended` tells it.
  for (const pipe of [child.stdout, child.stderr, told, heard, life]) pipe?.on("error", () => undefined);
  const last = new LastLines();
  child.stderr?.on("data", (chunk: Buffer) => last.add(chunk));
  // Nobody reads it, and a runner that prints must not wait for that.
  child.stdout?.resume();
  readLines(told, { clock, maxLineBytes, onLine });
  const read = Promise.all([closed(told), closed(child.stderr)]);
  // A runner that prints a secret prints one of those it was given, most likely.
  const redactor = createRedactor({ literals: secretsOfEnvironment(env) });
  const gone = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => resolve(exitText(code, signal)));
    child.once("error", (fault) => {
      // Other errors are about signals that could not be sent.
      if (child.pid === undefined) resolve(`could not be started: ${startFault(fault, cwd)}`);
    });
  });
  const self: RunnerProcess = {
    groups: [],
    ended: gone.then(async (how) => {
      for (const pid of self.groups) killGroup(pid, "SIGKILL");
      // A process that it started may hold a pipe open.
      if (child.pid !== undefined) await within(clock, exitNewsMs, read);
      for (const pipe of [child.stdout, child.stderr, told, heard, life]) pipe?.destroy();
      const lines = last.text(redactor);
      return lines === "" ? how : `${how}; its last lines: ${lines}`;
    }),
    get backlogBytes() {
      return heard.writableLength;
    },
    tell: (message) => void (heard.writable && heard.write(`${JSON.stringify(message)}\n`)),
    deafen: () => void told.destroy(),
    kill() {
      for (const pid of self.groups) killGroup(pid, "SIGKILL");
      if (child.exitCode === null && child.signalCode === null) killGroup(child.pid, "SIGKILL");
    },
  };
  return self;
}

interface Reading extends Pick<ChildStart, "clock" | "maxLineBytes" | "onLine"> {}

function readLines(told: Readable, { clock, maxLineBytes, onLine }: Reading): void {
  const lines = new LineReader(maxLineBytes);
  told.on("data", (chunk: Buffer) => {
    told.pause();
    for (const line of lines.push(chunk)) {
      // Its reader may have had enough in the middle of a chunk.
      if (told.destroyed) return;
      onLine(line);
    }
    clock.defer(() => told.resume());
  });
}

function closed(pipe: Readable | null): Promise<void> {
  return new Promise((resolve) => {
    if (pipe === null || pipe.destroyed) resolve();
    else pipe.once("close", resolve);
  });
}
