import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  activityKinds,
  limits,
  noRedaction,
  type ActivityEvent,
  type ActivityKind,
  type Attempt,
} from "../../core/index.ts";
import type { BatchOutcome, ConsumerSettings, ConsumerStats, Subscription } from "../../observers/index.ts";
import { Bus, eventsOf, textOf, type Watcher } from "../support/bus.ts";

type Step =
  | {
      readonly do: "publish";
      readonly attempt: number;
      readonly what: "message" | "reasoning" | "tool";
      readonly units: number;
    }
  | { readonly do: "burst"; readonly attempt: number; readonly count: number }
  | { readonly do: "settle"; readonly attempt: number }
  | { readonly do: "release"; readonly which: number }
  | { readonly do: "tick" | "stats" };

const someAttempt = fc.nat(2);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant("publish" as const),
      attempt: someAttempt,
      what: fc.constantFrom("message", "message", "reasoning", "tool" as const),
      units: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 9_000 })),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("burst" as const),
      attempt: someAttempt,
      count: fc.integer({ min: 1_000, max: 1_300 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("settle" as const), attempt: someAttempt }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom("tick", "tick", "stats" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("release" as const), which: fc.nat(3) }) },
);

/** How the handler is called; of batches, what becomes of one after the other, and then all of each is handled. */
type Mode = { readonly concurrency: number } | { readonly batch: number; readonly outcomes: readonly Outcome[] };

interface Outcome {
  /** Of so many events in a hundred it is said that they were handled. */
  readonly percent: number;
  readonly fresh: boolean;
}

interface Setup {
  readonly mode: Mode;
  readonly options: Partial<ConsumerSettings> & { readonly maxEvents: number; readonly maxBytes: number };
  readonly isAsync: boolean;
  /** What the handler does besides: look at the books, make its own turn say something, or fail now and then. */
  readonly habit: "none" | "stats" | "emit" | "fail";
}

const mode: fc.Arbitrary<Mode> = fc.oneof(
  fc.record({ concurrency: fc.integer({ min: 1, max: 4 }) }),
  fc.record({
    batch: fc.constantFrom(1, 2, 7, 1_024),
    outcomes: fc.array(fc.record({ percent: fc.constantFrom(0, 30, 70, 100), fresh: fc.boolean() }), { maxLength: 12 }),
  }),
);

const setup: fc.Arbitrary<Setup> = fc.record({
  mode,
  isAsync: fc.boolean(),
  habit: fc.constantFrom("none", "stats", "emit", "fail"),
  options: fc.record({
    maxEvents: fc.constantFrom(1, 2, 5, 40, 1_024),
    maxBytes: fc.constantFrom(16_384, 40_000, 4_194_304),
    grants: fc.constantFrom<readonly ("reasoning" | "approvals")[]>(["reasoning", "approvals"], ["approvals"]),
    kinds: fc.constantFrom<readonly ActivityKind[]>(
      activityKinds,
      activityKinds,
      ["message.delta"],
      ["message.delta", "tool.started", "turn.settled"],
      ["tool.completed", "reasoning.delta"],
    ),
  }),
});

/** At any time: the sums, and the bounds. The batch that the handler has comes on top of what waits. */
function checkBooks(stats: ConsumerStats, { mode, options }: Setup, isInCall = false): void {
  const { published, delivered, merged, dropped, depth, bytes, running } = stats;
  expect(delivered + merged + dropped + depth).toBe(published);
  const [inHand, bytesInHand] =
    "batch" in mode && (isInCall || running > 0) ? [mode.batch, limits.maxBatchBytes] : [0, 0];
  expect(depth).toBeLessThanOrEqual(options.maxEvents + inHand);
  expect(bytes).toBeLessThanOrEqual(options.maxBytes + bytesInHand);
  expect(bytes > 0).toBe(depth > 0);
  expect(running).toBeLessThanOrEqual("batch" in mode ? 1 : mode.concurrency);
}

/** The bus, an observer that loses nothing, and one whose calls wait until they are let go. */
class Run {
  readonly bus = new Bus({ redactor: noRedaction });
  readonly all: Watcher;
  readonly watcher: Subscription;
  /** What reached the handler, in order. */
  readonly got: ActivityEvent[] = [];
  /** So many of these came before somebody new began who knows nothing of them. */
  renewedAt = 0;
  calls = 0;
  /** Laws that its handler saw broken. */
  readonly faults: unknown[] = [];
  readonly #setup: Setup;
  readonly #attempts: Attempt[] = [];
  readonly #settled = new Set<Attempt>();
  /** Attempts with a call that runs, each once. */
  readonly #busy = new Set<unknown>();
  #waiting: (() => void)[] = [];
  #isFree = false;
  #pieces = 0;
  #echoes = 0;

  constructor(setup: Setup) {
    this.#setup = setup;
    const { mode, options } = setup;
    this.all = this.bus.watch({ id: "all", maxEvents: 1_048_576, maxBytes: 1_073_741_824 });
    this.watcher = this.bus.observers.observe(
      "batch" in mode
        ? { ...options, id: "watched", batch: mode.batch, handler: (events) => this.#onBatch(events, mode) }
        : { ...options, id: "watched", concurrency: mode.concurrency, handler: (event) => this.#onEvent(event) },
    );
    for (const member of ["m0", "m1", "m2"]) this.#attempts.push(this.bus.start({ member_id: member }));
  }

  #onEvent(event: ActivityEvent): unknown {
    this.got.push(event);
    if (this.#busy.has(event.coordinates)) this.faults.push("two calls of one attempt");
    // Of the gap that counts for nobody several may run.
    if (event.coordinates !== null) this.#busy.add(event.coordinates);
    try {
      return this.#work(() => void this.#busy.delete(event.coordinates));
    } catch (fault) {
      this.#busy.delete(event.coordinates);
      throw fault;
    }
  }

  #onBatch(events: readonly ActivityEvent[], { batch, outcomes }: Extract<Mode, { readonly batch: number }>): unknown {
    if (events.length === 0 || events.length > batch) this.faults.push(`a batch of ${events.length}`);
    const { percent, fresh } = outcomes[this.calls] ?? { percent: 100, fresh: false };
    const handled = Math.floor((events.length * percent) / 100);
    const outcome = (): BatchOutcome => {
      this.got.push(...events.slice(0, handled));
      if (fresh) this.renewedAt = this.got.length;
      return { handled, fresh };
    };
    try {
      return this.#work(outcome);
    } catch (fault) {
      // A batch that was thrown at counts as handled.
      this.got.push(...events);
      throw fault;
    }
  }

  /** What a handler throws goes no further: it is kept for the end. */
  #lookAtBooks(): void {
    try {
      checkBooks(this.watcher.stats(), this.#setup, true);
    } catch (fault) {
      this.faults.push(fault);
    }
  }

  /** Does what the handler does, and gives what `done` gives: at once, or when it is let go. */
  #work(done: () => unknown): unknown {
    const { habit, isAsync } = this.#setup;
    const call = ++this.calls;
    if (habit === "stats") this.#lookAtBooks();
    if (habit === "emit" && this.#echoes++ < 50) this.#publish(this.#attempts[0], "message", 5);
    if (habit === "fail" && call % 5 === 0) throw new Error("no");
    if (!isAsync || this.#isFree) return done();
    return new Promise((resolve) => this.#waiting.push(() => resolve(done())));
  }

  get attempts(): readonly Attempt[] {
    return this.#attempts;
  }

  async take(each: Step): Promise<void> {
    switch (each.do) {
      case "publish":
        return this.#publish(this.#attempts[each.attempt], each.what, each.units);
      case "burst":
        for (let k = 0; k < each.count; k++) this.#publish(this.#attempts[each.attempt], "message", 3);
        return undefined;
      case "settle":
        return this.#settle(this.#attempts[each.attempt]);
      case "tick":
        this.bus.clock.tick();
        return undefined;
      case "release":
        this.#waiting.splice(each.which % Math.max(1, this.#waiting.length), 1)[0]?.();
        for (let turns = 0; turns < 4; turns++) await Promise.resolve();
        return undefined;
      case "stats":
        checkBooks(this.watcher.stats(), this.#setup);
        return undefined;
    }
  }

  async finish(): Promise<void> {
    for (const attempt of this.#attempts) this.#settle(attempt);
    await this.letGo();
    checkBooks(this.watcher.stats(), this.#setup);
    this.watcher.dispose();
    this.bus.close();
  }

  /** Lets all calls go, those that run and those to come. */
  async letGo(): Promise<void> {
    this.#isFree = true;
    for (const go of this.#waiting.splice(0)) go();
    await this.bus.idle();
  }

  #publish(attempt: Attempt | undefined, what: "message" | "reasoning" | "tool", units: number): void {
    if (attempt === undefined) return;
    const text = `${++this.#pieces};`.padEnd(units, "abcdefghij");
    if (what === "tool") this.bus.emit(attempt, "tool.complete", { tool_id: text.slice(0, 512), result: text });
    else if (what === "message") this.bus.delta(attempt, text);
    else this.bus.reason(attempt, text);
  }

  #settle(attempt: Attempt | undefined): void {
    if (attempt === undefined || this.#settled.has(attempt)) return;
    this.#settled.add(attempt);
    this.bus.settle(attempt);
  }
}

/** Each loss is told in order, at its place, and every number that is wanted is delivered or lies in exactly one gap. */
function checkAttempt(
  attempt: Attempt,
  all: readonly ActivityEvent[],
  got: readonly ActivityEvent[],
  kinds: readonly ActivityKind[],
): void {
  const wanted = all.flatMap((event) =>
    event.coordinates === attempt.coordinates && kinds.includes(event.kind) ? [event.n ?? 0] : [],
  );
  const missing = new Set(wanted);
  let reached = 0;
  for (const event of got) {
    if (event.coordinates !== attempt.coordinates) continue;
    const first = event.kind === "gap" ? event.payload.first_n : (event.n_from ?? event.n);
    const last = event.kind === "gap" ? event.payload.last_n : event.n;
    if (first === null || last === null) throw new Error("an event without its numbers");
    expect(first).toBeGreaterThan(reached);
    reached = last;
    const covered = wanted.filter((n) => n >= first && n <= last);
    if (event.kind === "gap") expect(covered).toHaveLength(event.payload.dropped + event.payload.withheld);
    else expect(covered).toHaveLength(last - first + 1);
    for (const n of covered) expect(missing.delete(n)).toBe(true);
  }
  expect([...missing]).toEqual([]);
}

/** What a consumer put together is whole, or lacks only what it lost behind the last delta that it got. */
function checkText(attempt: Attempt, kind: "message.delta" | "reasoning.delta", { got, renewedAt }: Run): void {
  const own = got.slice(renewedAt).filter((event) => event.coordinates === attempt.coordinates);
  const deltas = eventsOf(own, kind);
  const lastDelta = deltas.at(-1);
  const behind = lastDelta === undefined ? own : own.slice(own.indexOf(lastDelta) + 1);
  const isCutOff = eventsOf(behind, "gap").some(({ payload }) => (payload.kinds[kind] ?? 0) > 0);
  const whole = (kind === "message.delta" ? attempt.message : attempt.reasoning).text;
  if (lastDelta === undefined) expect(isCutOff || whole === "" || renewedAt > 0).toBe(true);
  else if (isCutOff) expect(whole.startsWith(textOf(own, kind) ?? "\0")).toBe(true);
  else expect(textOf(own, kind)).toBe(whole);
}

describe("any schedule of publishing, draining and waiting", () => {
  it("C-015 adds up, explains each hole at its place, and leaves the text whole, in each mode", async () => {
    await fc.assert(
      fc.asyncProperty(setup, fc.array(step, { minLength: 5, maxLength: 80 }), async (consumer, steps) => {
        const run = new Run(consumer);
        for (const each of steps) await run.take(each);
        await run.finish();
        const { all, watcher, attempts, got, faults } = run;
        expect(faults).toEqual([]);
        const { kinds = activityKinds, grants = [] } = consumer.options;
        const gaps = eventsOf(got, "gap");
        const stats = watcher.stats();
        const seesReasoning = grants.includes("reasoning");
        expect(gaps.reduce((sum, { payload }) => sum + payload.dropped, 0)).toBe(stats.dropped);
        expect(gaps.reduce((sum, { payload }) => sum + payload.withheld, 0)).toBe(
          seesReasoning || !kinds.includes("reasoning.delta") ? 0 : eventsOf(all.events, "reasoning.delta").length,
        );
        expect([stats.gaps, stats.delivered]).toEqual([gaps.length, got.length - gaps.length]);
        expect([stats.depth, stats.bytes, stats.running]).toEqual([0, 0, 0]);
        expect(eventsOf(all.events, "gap")).toEqual([]);
        for (const attempt of attempts) {
          checkAttempt(attempt, all.events, got, kinds);
          if (kinds.includes("message.delta")) checkText(attempt, "message.delta", run);
          if (kinds.includes("reasoning.delta") && seesReasoning) checkText(attempt, "reasoning.delta", run);
        }
        expect(got.every((event) => Object.isFrozen(event) && Object.isFrozen(event.payload))).toBe(true);
      }),
      { numRuns: 400 },
    );
  });

  it("C-015 may be cut short: no further call starts, and the books are closed when the last one has settled", async () => {
    await fc.assert(
      fc.asyncProperty(setup, fc.array(step, { maxLength: 40 }), async (consumer, steps) => {
        const run = new Run(consumer);
        for (const each of steps) await run.take(each);
        run.watcher.dispose();
        const { calls } = run;
        checkBooks(run.watcher.stats(), consumer);
        await run.letGo();
        expect(run.faults).toEqual([]);
        const { depth, bytes, running, published, delivered, merged, dropped } = run.watcher.stats();
        expect([run.calls, depth, bytes, running]).toEqual([calls, 0, 0, 0]);
        expect(delivered + merged + dropped).toBe(published);
        run.bus.close();
      }),
      { numRuns: 150 },
    );
  });
});
