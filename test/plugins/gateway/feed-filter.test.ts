import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ActivityEvent } from "../../../core/index.ts";
import { FeedFilter } from "../../../plugins/gateway/feed-filter.ts";
import { ModelledAttempt, type Handling, type MiddleKind } from "../../support/feed-model.ts";

const middle = fc.constantFrom<MiddleKind>(
  "message.delta",
  "message.delta",
  "reasoning.delta",
  "tool.started",
  "turn.error",
);
const handling = fc.constantFrom<Handling>("pass", "merge", "merge", "drop");
const attempt = fc.record({
  middles: fc.array(middle, { maxLength: 10 }),
  handlings: fc.array(handling, { maxLength: 12 }),
});

/** A room in which attempts run side by side; the snapshot is taken after so many events, and each choice says whose is next. */
const room = fc.record({
  attempts: fc.array(attempt, { minLength: 1, maxLength: 4 }),
  choices: fc.array(fc.nat(), { minLength: 64, maxLength: 64 }),
  instant: fc.nat({ max: 48 }),
});

/** Publishes in the order of the choices. Gives the filter of the snapshot, and tells it of the rows behind that. */
function publish({ attempts, choices, instant }: typeof room extends fc.Arbitrary<infer Room> ? Room : never) {
  const all = attempts.map((each, index) => new ModelledAttempt(index, each));
  const inSnapshot = new Map<ModelledAttempt, number>();
  const before = new Set<ModelledAttempt>();
  let filter: FeedFilter | null = null;
  let seq = 0;
  for (let step = 0; filter === null || all.some(({ isOver }) => !isOver); step++) {
    if (filter === null && (step === instant || all.every(({ isOver }) => isOver))) {
      const running = all.filter(({ published, isOver }) => published > 0 && !isOver);
      for (const each of running) inSnapshot.set(each, each.published);
      for (const each of all.filter(({ isOver }) => isOver)) before.add(each);
      filter = new FeedFilter(running.map((each) => each.snapshot()));
    }
    const left = all.filter(({ isOver }) => !isOver);
    const next = left[(choices[step % choices.length] ?? 0) % Math.max(1, left.length)];
    if (next === undefined) break;
    next.published++;
    if (next.published === 1) next.startedSeq = ++seq;
    else if (next.isOver) next.settledSeq = ++seq;
    else continue;
    filter?.told(next.row(next.isOver ? "turn.settled" : "turn.started"));
  }
  return { all, inSnapshot, before, filter: filter ?? new FeedFilter([]) };
}

/** Hands the events of all attempts to the filter, interleaved, each attempt's in its order. */
function toldOf(all: readonly ModelledAttempt[], filter: FeedFilter, choices: readonly number[]) {
  const told = new Map(all.map((each) => [each, [] as ActivityEvent[]]));
  const waiting = all.map((each) => ({ each, events: [...each.delivered()] }));
  for (let step = 0; ; step++) {
    const left = waiting.filter(({ events }) => events.length > 0);
    const next = left[(choices[(step * 7) % choices.length] ?? 0) % Math.max(1, left.length)];
    const event = next?.events.shift();
    if (next === undefined || event === undefined) return told;
    const passed = filter.pass(event);
    if (passed !== null) told.get(next.each)?.push(passed);
  }
}

/** First and last number that an event stands for. */
function rangeOf(event: ActivityEvent): readonly [first: number, last: number] {
  if (event.kind === "gap") return [event.payload.first_n ?? 0, event.payload.last_n ?? 0];
  return [event.n_from ?? event.n ?? 0, event.n ?? 0];
}

/** The text that a client puts together from a beginning; null when a piece of it was lost and not made good. */
function readText(start: string, events: readonly ActivityEvent[]): string | null {
  let text: string | null = start;
  for (const event of events) {
    if (event.kind === "gap" && "message.delta" in event.payload.kinds) text = null;
    if (event.kind !== "message.delta") continue;
    if (event.payload.snapshot === true) text = event.payload.text;
    else if (text !== null) {
      expect(event.payload.offset).toBe(text.length);
      text += event.payload.text;
    }
  }
  return text;
}

describe("the filter of a feed", () => {
  it("tells each number above the snapshot once, or in a gap", () => {
    fc.assert(
      fc.property(room, (given) => {
        const { all, inSnapshot, before, filter } = publish(given);
        const told = toldOf(all, filter, given.choices);
        for (const each of all) {
          const events = told.get(each) ?? [];
          if (before.has(each)) {
            expect(events).toEqual([]);
            continue;
          }
          let known = inSnapshot.get(each) ?? 0;
          const start = each.text("message.delta", known);
          for (const event of events) {
            const [first, last] = rangeOf(event);
            expect(first).toBe(known + 1);
            known = last;
          }
          expect(known).toBe(each.kinds.length);
          const text = readText(start, events);
          if (text !== null) expect(text).toBe(each.text("message.delta", known));
        }
      }),
      { numRuns: 500 },
    );
  });

  it("tells a gap that begins before the snapshot from there on", () => {
    const each = new ModelledAttempt(0, { middles: ["tool.started", "tool.started", "tool.started"], handlings: [] });
    each.published = 3;
    const filter = new FeedFilter([each.snapshot()]);
    const gap = {
      ...each.delivered()[0],
      kind: "gap",
      n: null,
      payload: { dropped: 3, withheld: 0, first_n: 2, last_n: 4, kinds: { "tool.started": 3 }, reason: "overflow" },
    } as unknown as ActivityEvent;
    expect(filter.pass(gap)?.payload).toEqual({
      dropped: 1,
      withheld: 0,
      first_n: 4,
      last_n: 4,
      kinds: { "tool.started": 1 },
      reason: "overflow",
    });
  });

  it("cuts a merged delta of level meta by its numbers", () => {
    const each = new ModelledAttempt(0, { middles: ["message.delta", "message.delta"], handlings: [] });
    each.published = 2;
    const filter = new FeedFilter([each.snapshot()]);
    const [, , delta] = each.delivered();
    const merged = { ...delta, n_from: 2, payload: { offset: 0, sizes: { text: 6 } } } as unknown as ActivityEvent;
    expect(filter.pass(merged)).toMatchObject({ n_from: 3, n: 3, payload: { offset: 3 } });
    expect(filter.pass(merged)?.payload).not.toHaveProperty("sizes");
  });

  it("passes what counts losses of no single attempt", () => {
    const gap = { kind: "gap", coordinates: null, n: null, payload: { dropped: 1 } } as unknown as ActivityEvent;
    expect(new FeedFilter([]).pass(gap)).toBe(gap);
  });

  it("knows an attempt by a row that is told, and not before", () => {
    const each = new ModelledAttempt(0, { middles: [], handlings: [] });
    const filter = new FeedFilter([]);
    const [started] = each.delivered();
    if (started === undefined) throw new Error("no event");
    expect([filter.knows(started), filter.pass(started)]).toEqual([false, null]);
    filter.told(each.row("turn.started"));
    expect([filter.knows(started), filter.pass(started)]).toEqual([true, started]);
  });

  it("forgets an attempt by its end, also by one that was lost", () => {
    for (const handlings of [[], ["drop", "drop"]] as const) {
      const each = new ModelledAttempt(0, { middles: [], handlings });
      const filter = new FeedFilter([]);
      filter.told(each.row("turn.started"));
      const events = each.delivered();
      expect(events.map((event) => [filter.knows(event), filter.pass(event)])).toEqual(
        events.map((event) => [true, event]),
      );
      expect(events.map((event) => filter.knows(event))).toEqual(events.map(() => false));
    }
  });

  it("forgets the attempt told first when more than 1,024 run elsewhere", () => {
    const filter = new FeedFilter([]);
    const attempts = Array.from(
      { length: 1_025 },
      (_, index) => new ModelledAttempt(index, { middles: [], handlings: [] }),
    );
    const knows = (index: number): boolean | undefined => {
      const [event] = attempts[index]?.delivered() ?? [];
      return event && filter.knows(event);
    };
    for (const each of attempts.slice(0, 1_024)) filter.told(each.row("turn.started"));
    expect([knows(0), knows(1_023)]).toEqual([true, true]);
    for (const each of attempts.slice(1_024)) filter.told(each.row("turn.started"));
    expect([knows(0), knows(1), knows(1_024)]).toEqual([false, true, true]);
  });
});
