import { messageOf, type Report } from "./errors.ts";
import type { WriteResult } from "./runner.ts";

/** What became of a frame that had no effect. */
export type Refusal = Exclude<WriteResult, "written" | "held">;

/** Counts the frames that had no effect, by reason: a refusal is a value, not an exception. */
export class Refusals {
  readonly #report: Report;
  readonly #counts = new Map<Refusal, number>();
  #reported = false;

  constructor(report: Report) {
    this.#report = report;
  }

  of(reason: Refusal): number {
    return this.#counts.get(reason) ?? 0;
  }

  count(reason: Refusal): Refusal {
    this.#counts.set(reason, this.of(reason) + 1);
    return reason;
  }

  /** A frame whose fields threw when they were read. The first one is reported. */
  countFault(fault: unknown): Refusal {
    if (!this.#reported) {
      this.#reported = true;
      this.#report({ code: "invalid_frame", message: `a frame threw: ${messageOf(fault)}`, cause: fault });
    }
    return this.count("invalid_frame");
  }
}
