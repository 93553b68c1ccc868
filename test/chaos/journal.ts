import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import type { PointName } from "./fault-points.ts";

/** A fact that outlives the process that noted it: it is in the file before the next instruction. */
export type Entry =
  /** A post was answered `accepted`. */
  | {
      readonly kind: "accepted";
      readonly room_id: string;
      readonly message_id: string;
      readonly addressed: readonly string[];
    }
  /** A runner was called, and has done nothing else yet. */
  | { readonly kind: "called"; readonly by: string; readonly task_id: string; readonly execution_generation: number }
  /** One more attempt of a task is about to be asked for; whether it was stored is not known. */
  | { readonly kind: "asked"; readonly task_id: string; readonly execution_generation: number }
  /** A stop was answered: posts up to the number, and attempts up to the row, begin nothing by themselves any more. */
  | { readonly kind: "stopped"; readonly room_id: string; readonly post_number: number; readonly seq: number }
  /** A post was asked to be closed. */
  | { readonly kind: "closed"; readonly message_id: string }
  /** A process has come to its fatal point. */
  | { readonly kind: "at"; readonly point: PointName };

/** The end of a file that several processes write, each line in one piece. */
export class Journal {
  readonly #handle: number;

  constructor(file: string) {
    this.#handle = openSync(file, "a");
  }

  note(entry: Entry): void {
    writeSync(this.#handle, `${JSON.stringify(entry)}\n`);
  }

  close(): void {
    closeSync(this.#handle);
  }
}

/** All that was noted, in the order in which it was. */
export function readJournal(file: string): readonly Entry[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Entry);
}
