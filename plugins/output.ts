import type { Writable } from "node:stream";
import { oneLine } from "./terminal-text.ts";

/** Where a command writes. Data goes to `out`, notes for people to `note`. */
export interface Output {
  /**
   * Writes a line of data. Resolves when the next one may follow: a slow reader slows the command, not its memory.
   * Rejects when the reader is gone or the line cannot be written; the command is to end then.
   */
  readonly out: (line: string) => Promise<void>;
  /** Writes a line for people. What would break or colour the line is shown, not obeyed. */
  readonly note: (line: string) => void;
}

/** Data to one stream, notes to another. It hears of every error of the data stream, also of one that comes late. */
export class StreamOutput implements Output {
  /** Resolves once data can be written no more. It never does while all goes well. */
  readonly lost: Promise<Error>;
  readonly #data: Writable;
  readonly #notes: Writable;
  #fault: Error | null = null;

  constructor(data: Writable, notes: Writable) {
    this.#data = data;
    this.#notes = notes;
    this.lost = new Promise((resolve) => {
      data.on("error", (fault) => {
        this.#fault ??= fault;
        resolve(this.#fault);
      });
    });
    // Without anybody who reads notes there is nobody to tell.
    notes.on("error", () => undefined);
  }

  /** Why data can be written no more; null while it can. */
  get fault(): Error | null {
    return this.#fault;
  }

  /** The reader went away because it had what it wanted, as `head -1` does: no fault of anybody. */
  get hasLeft(): boolean {
    return this.#fault !== null && "code" in this.#fault && this.#fault.code === "EPIPE";
  }

  readonly out = (line: string): Promise<void> =>
    new Promise((next, refuse) => {
      this.#data.write(`${line}\n`, (fault) => {
        if (fault === null || fault === undefined) next();
        else refuse((this.#fault ??= fault));
      });
    });

  readonly note = (line: string): void => {
    this.#notes.write(`${oneLine(line)}\n`);
  };
}
