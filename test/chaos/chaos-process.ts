import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../core/index.ts";
import type { Order } from "./order.ts";

const childFile = fileURLToPath(new URL("./child.ts", import.meta.url));

/** How a process ended: by a kill, of its own accord, or by a fault, with what it wrote on its stderr. */
export type Ending = { readonly how: "killed" | "done" } | { readonly how: "broken"; readonly message: string };

/** A host in a process of its own, loaded and waiting for its order. */
export class ChaosProcess {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterableIterator<string>;
  readonly #exited: Promise<unknown>;
  #errors = "";

  constructor() {
    const child = spawn(process.execPath, ["--import", "tsx", childFile], { stdio: ["pipe", "pipe", "pipe"] });
    this.#process = child;
    // From now on: lines of one that dies before it is asked would be lost.
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    this.#exited = once(child, "close");
    child.stderr.on("data", (text: Buffer) => (this.#errors += String(text)));
    // It may die before it has read its order.
    child.stdin.on("error", () => undefined);
  }

  /** Gives the order and tells of each line; resolves when the process is gone. */
  async carryOut(order: Order, onLine: (line: string) => void): Promise<Ending> {
    this.#process.stdin?.end(`${JSON.stringify(order)}\n`);
    for await (const line of this.#lines) onLine(line);
    await this.#exited;
    if (this.#process.signalCode === "SIGKILL") return { how: "killed" };
    if (this.#process.exitCode === 0) return { how: "done" };
    return { how: "broken", message: `exit ${this.#process.exitCode}: ${this.#errors.trim()}` };
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }

  /** Lets it stand still for a while, as a machine that swaps does. */
  stall(ms: number): void {
    this.#process.kill("SIGSTOP");
    systemClock.after(ms, () => this.#process.kill("SIGCONT"));
  }

  /** Ends one that was never needed. */
  async discard(): Promise<void> {
    this.#process.stdin?.end();
    this.kill();
    await this.#exited;
  }
}

/** Processes that are loaded ahead, so that nobody waits for them. */
export class ProcessPool {
  readonly #ready: ChaosProcess[] = [];
  readonly #size: number;

  constructor(size: number) {
    this.#size = size;
    this.#fill();
  }

  take(): ChaosProcess {
    const process = this.#ready.shift() ?? new ChaosProcess();
    this.#fill();
    return process;
  }

  async close(): Promise<void> {
    await Promise.all(this.#ready.splice(0).map((process) => process.discard()));
  }

  #fill(): void {
    while (this.#ready.length < this.#size) this.#ready.push(new ChaosProcess());
  }
}
