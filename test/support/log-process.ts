import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const childFile = fileURLToPath(new URL("./log-child.ts", import.meta.url));

/** A process of its own at a log: see `log-child.ts` for what it does. */
export interface LogProcess {
  readonly process: ChildProcess;
  /** The next line that it says. */
  line(): Promise<string>;
  say(line: string): void;
  /** Resolves when it is gone. */
  kill(): Promise<void>;
}

/** @param uid whose process it is to be; absent: ours */
export function logProcess(
  action: "hold" | "open" | "look" | "post" | "put" | "race" | "lock",
  file: string,
  uid?: number,
): LogProcess {
  const words = ["--import", "tsx", childFile, action, file];
  const identity = uid === undefined ? {} : { uid };
  const started = spawn(process.execPath, words, { stdio: ["pipe", "pipe", "inherit"], ...identity });
  const lines = createInterface({ input: started.stdout })[Symbol.asyncIterator]();
  return {
    process: started,
    line: async () => String((await lines.next()).value),
    say: (line) => void started.stdin.write(`${line}\n`),
    async kill() {
      if (started.exitCode !== null || started.signalCode !== null) return;
      started.kill("SIGKILL");
      await once(started, "exit");
    },
  };
}
