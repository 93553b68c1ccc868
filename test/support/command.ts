import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { rootFolder } from "./repository.ts";

/** The built command. */
export const commandFile = join(rootFolder, "dist", "bin.js");

export interface CommandResult {
  /** 128 and the signal's number when one killed it. */
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  /** What is written to its input, which then ends. Default: nothing. */
  readonly stdin?: string;
  /** Beside PATH and HOME. */
  readonly env?: { readonly [name: string]: string };
  readonly cwd?: string;
  /** Another program than the built command; run by `node`. */
  readonly file?: string;
}

/** A command that runs, with its input open. */
export interface RunningCommand {
  readonly child: ChildProcessWithoutNullStreams;
  readonly result: Promise<CommandResult>;
  type(text: string): void;
  /** Resolves when what it has written to either stream so far fits, with what fits. Rejects when it ends before. */
  seen(pattern: RegExp): Promise<RegExpExecArray>;
}

/** Starts `roomtap` with arguments. It is killed when its test ends before it does. */
export function startCommand(args: readonly string[], options: Omit<CommandOptions, "stdin"> = {}): RunningCommand {
  const running = spawnCommand(args, options);
  onTestFinished(() => void running.child.kill("SIGKILL"));
  return running;
}

/** Runs `roomtap` with arguments to its end. */
export function runCommand(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const running = spawnCommand(args, options);
  running.child.stdin.end(options.stdin ?? "");
  return running.result;
}

function spawnCommand(args: readonly string[], { env = {}, cwd, file = commandFile }: CommandOptions): RunningCommand {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [file, ...args], { cwd, env: { PATH, HOME, ...env } });
  let stdout = "";
  let stderr = "";
  let look = (): void => undefined;
  const read = (take: (text: string) => void) => (chunk: Buffer) => {
    take(chunk.toString("utf8"));
    look();
  };
  child.stdout.on(
    "data",
    read((text) => (stdout += text)),
  );
  child.stderr.on(
    "data",
    read((text) => (stderr += text)),
  );
  // It may end before it has read its input.
  child.stdin.on("error", () => undefined);
  const result = new Promise<CommandResult>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      resolve({ status: code ?? 128 + (signal === "SIGKILL" ? 9 : 15), stdout, stderr });
    });
  });
  const seen = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      look = () => {
        const found = pattern.exec(stdout) ?? pattern.exec(stderr);
        if (found !== null) resolve(found);
      };
      void result.then(() => reject(new Error(`it ended before it wrote ${String(pattern)}: ${stdout}${stderr}`)));
      look();
    });
  return { child, result, type: (text) => void child.stdin.write(text), seen };
}

/** The JSON of each line. */
export function jsonLines<Value>(text: string): readonly Value[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Value);
}
