import {
  activityKinds,
  messageOf,
  type ActivityEvent,
  type ActivityKind,
  type Attempt,
  type Clock,
  type Report,
} from "../core/index.ts";
import { isDelta } from "./coalesce.ts";
import type { Failure } from "./handler-calls.ts";
import type { Healing } from "./healing.ts";
import type { BatchFailures } from "./observer.ts";
import type { LossCause, Losses } from "./delivery.ts";

/** What a notice says of a loss that it reports. */
const lossNotices = {
  overflow: ["saturated", "its queue reached its bound; what it loses is counted and told as gaps"],
  unhandled: ["unhandled", "what was handed to it reached nobody; it is counted as dropped and told as gaps"],
} as const;

const failureNotices = {
  thrown: ["handler_threw", "its handler threw"],
  rejected: ["handler_rejected", "its handler rejected"],
  stalled: ["stalled", "a call of its handler has run for longer than stallMs"],
} as const;

/** The counters of one consumer, and its notices, of which each kind is reported once. */
export class Books implements Losses {
  published = 0;
  delivered = 0;
  merged = 0;
  dropped = 0;
  gaps = 0;
  lagging = false;
  readonly droppedByKind = new Map<ActivityKind, number>();
  readonly failures = { thrown: 0, rejected: 0, stalled: 0 };
  readonly #id: string;
  readonly #clock: Clock;
  readonly #report: Report;
  readonly #healing: Healing;
  readonly #reported = new Set<string>();
  #closed = false;

  constructor(parts: {
    readonly id: string;
    readonly clock: Clock;
    readonly report: Report;
    readonly healing: Healing;
  }) {
    this.#id = parts.id;
    this.#clock = parts.clock;
    this.#report = parts.report;
    this.#healing = parts.healing;
  }

  /** Counts an event that the handler got, or a gap. */
  deliver(event: ActivityEvent): void {
    if (event.kind === "gap") this.gaps++;
    else this.delivered++;
  }

  drop(attempt: Attempt, event: ActivityEvent, kind: number, count: number, cause: LossCause): void {
    const word = activityKinds[kind] ?? event.kind;
    this.dropped += count;
    this.droppedByKind.set(word, (this.droppedByKind.get(word) ?? 0) + count);
    // What is dropped because the consumer was disposed is no news, and nothing will heal.
    if (this.#closed) return;
    if (isDelta(event)) {
      this.#healing.broke(attempt, event.kind);
    } else {
      this.lagging = true;
      if (cause === "overflow")
        this.#reportOnce(
          "lagging",
          "it lost events that start or end something: its handler is too slow for its bound",
        );
    }
    const [code, message] = lossNotices[cause];
    this.#reportOnce(code, message);
  }

  ended(attempt: Attempt): void {
    this.#healing.forget(attempt);
  }

  at(): number {
    return this.#clock.now();
  }

  /** Counts a call that misbehaved. */
  fail(failure: Failure, cause?: unknown): void {
    this.failures[failure]++;
    this.#reportFailure(failure, failure === "stalled" ? undefined : messageOf(cause), cause);
  }

  /** Counts what a batch's outcome tells. */
  addFailures({ message, ...counts }: BatchFailures): void {
    for (const failure of ["thrown", "rejected", "stalled"] as const) {
      const count = counts[failure] ?? 0;
      if (count === 0) continue;
      this.failures[failure] += count;
      this.#reportFailure(failure, message);
    }
  }

  /** Losses from now on are counted and not told. */
  close(): void {
    this.#closed = true;
  }

  #reportFailure(failure: Failure, message: string | undefined, cause?: unknown): void {
    const [code, text] = failureNotices[failure];
    this.#reportOnce(code, message === undefined ? text : `${text}: ${message}`, cause);
  }

  #reportOnce(code: string, message: string, cause?: unknown): void {
    if (this.#reported.has(code)) return;
    this.#reported.add(code);
    this.#report({ code, message: `consumer ${this.#id}: ${message}`, subject: this.#id, cause });
  }
}
