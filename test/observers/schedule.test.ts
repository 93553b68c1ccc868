import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { activityKinds, noRedaction, type ActivityEvent, type ActivityKind, type Attempt } from "../../core/index.ts";
import type { ConsumerOptions, ConsumerStats } from "../../observers/index.ts";
import { Bus, eventsOf, gate, textOf, type Watcher } from "../support/bus.ts";

type Step =
  | {
      readonly do: "publish";
      readonly attempt: number;
      readonly what: "message" | "reasoning" | "tool";
      readonly units: number;
    }
  | { readonly do: "burst"; readonly attempt: number; readonly count: number }
  | { readonly do: "settle"; readonly attempt: number }
  | { readonly do: "tick" | "release" | "stats" };

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
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom("tick", "tick", "release", "stats" as const) }) },
);

interface Setup {
  readonly options: Partial<ConsumerOptions>;
  readonly isAsync: boolean;
  /** What the handler does besides: it may look at the books, or make its own turn say something. */
  readonly habit: "none" | "stats" | "emit";
}

const setup: fc.Arbitrary<Setup> = fc.record({
  isAsync: fc.boolean(),
  habit: fc.constantFrom("none", "stats", "emit"),
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

/** At any time: the sums, and the bounds. */
function checkBooks(
  { published, delivered, merged, dropped, depth, bytes }: ConsumerStats,
  options: Partial<ConsumerOptions>,
): void {
  expect(delivered + merged + dropped + depth).toBe(published);
  expect(depth).toBeLessThanOrEqual(options.maxEvents ?? 0);
  expect(bytes).toBeLessThanOrEqual(options.maxBytes ?? 0);
  expect(bytes > 0).toBe(depth > 0);
}

/** The bus, an observer that loses nothing, and one whose handler waits until it is let go. */
class Run {
  readonly bus = new Bus({ redactor: noRedaction });
  readonly all: Watcher;
  readonly watcher: Watcher;
  readonly #options: Partial<ConsumerOptions>;
  readonly #attempts: Attempt[] = [];
  readonly #settled = new Set<Attempt>();
  #gate = gate();
  #isFree = false;
  #pieces = 0;
  #echoes = 0;

  constructor({ options, isAsync, habit }: Setup) {
    this.#options = options;
    this.all = this.bus.watch({ id: "all", maxEvents: 1_048_576, maxBytes: 1_073_741_824 });
    const handler = (): unknown => {
      if (habit === "stats") checkBooks(this.watcher.stats(), this.#options);
      if (habit === "emit" && this.#echoes++ < 50) this.#publish(this.#attempts[0], "message", 5);
      return isAsync && !this.#isFree ? this.#gate.opened : undefined;
    };
    this.watcher = this.bus.watch({ id: "watched", ...options, handler });
    for (const member of ["m0", "m1", "m2"]) this.#attempts.push(this.bus.start({ member_id: member }));
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
        this.#gate.open();
        this.#gate = gate();
        await Promise.resolve();
        await Promise.resolve();
        return undefined;
      case "stats":
        checkBooks(this.watcher.stats(), this.#options);
        return undefined;
    }
  }

  async finish(): Promise<void> {
    for (const attempt of this.#attempts) this.#settle(attempt);
    this.#isFree = true;
    this.#gate.open();
    await this.bus.idle();
    checkBooks(this.watcher.stats(), this.#options);
    this.bus.close();
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
function checkText(attempt: Attempt, kind: "message.delta" | "reasoning.delta", got: readonly ActivityEvent[]): void {
  const own = got.filter((event) => event.coordinates === attempt.coordinates);
  const deltas = eventsOf(own, kind);
  const lastDelta = deltas.at(-1);
  const behind = lastDelta === undefined ? own : own.slice(own.indexOf(lastDelta) + 1);
  const isCutOff = eventsOf(behind, "gap").some(({ payload }) => (payload.kinds[kind] ?? 0) > 0);
  const whole = (kind === "message.delta" ? attempt.message : attempt.reasoning).text;
  if (lastDelta === undefined) expect(isCutOff || whole === "").toBe(true);
  else if (isCutOff) expect(whole.startsWith(textOf(own, kind) ?? "\0")).toBe(true);
  else expect(textOf(own, kind)).toBe(whole);
}

describe("any schedule of publishing, draining and waiting", () => {
  it("adds up, explains each hole at its place, and leaves the text whole", async () => {
    await fc.assert(
      fc.asyncProperty(setup, fc.array(step, { minLength: 5, maxLength: 80 }), async (consumer, steps) => {
        const run = new Run(consumer);
        for (const each of steps) await run.take(each);
        await run.finish();
        const { all, watcher, attempts } = run;
        const { kinds = activityKinds, grants = [] } = consumer.options;
        const gaps = eventsOf(watcher.events, "gap");
        const stats = watcher.stats();
        const seesReasoning = grants.includes("reasoning");
        expect(gaps.reduce((sum, { payload }) => sum + payload.dropped, 0)).toBe(stats.dropped);
        expect(gaps.reduce((sum, { payload }) => sum + payload.withheld, 0)).toBe(
          seesReasoning || !kinds.includes("reasoning.delta") ? 0 : eventsOf(all.events, "reasoning.delta").length,
        );
        expect(stats.gaps).toBe(gaps.length);
        expect([stats.depth, stats.bytes, eventsOf(all.events, "gap").length]).toEqual([0, 0, 0]);
        for (const attempt of attempts) {
          checkAttempt(attempt, all.events, watcher.events, kinds);
          if (kinds.includes("message.delta")) checkText(attempt, "message.delta", watcher.events);
          if (kinds.includes("reasoning.delta") && seesReasoning) checkText(attempt, "reasoning.delta", watcher.events);
        }
        expect(watcher.events.every((event) => Object.isFrozen(event) && Object.isFrozen(event.payload))).toBe(true);
      }),
      { numRuns: 150 },
    );
  });
});
