import { writeSync } from "node:fs";
import type { FromChild } from "./child-messages.ts";
import { childPipes } from "./child-pipes.ts";

/** How long a write to a pipe that is full waits where the system does not do that by itself. */
const fullPipeMs = 1;

/** The child's end of the pipe to its host. */
export class HostLink {
  readonly #maxLineBytes: number;

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  /**
   * Writes a message and returns when the system has it: while the host is behind, the child waits here, so it holds nothing
   * that is not written, and what was sent is not lost with it. False for one whose line is over the bound: nothing is
   * written then. When the host is gone the child ends.
   */
  send(message: FromChild): boolean {
    const line = Buffer.from(`${JSON.stringify(message)}\n`);
    if (line.length - 1 > this.#maxLineBytes) return false;
    for (let at = 0; at < line.length;) at += this.#write(line.subarray(at));
    return true;
  }

  #write(bytes: Buffer): number {
    try {
      return writeSync(childPipes.told, bytes);
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code !== "EAGAIN") process.exit(1);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, fullPipeMs);
      return 0;
    }
  }
}
