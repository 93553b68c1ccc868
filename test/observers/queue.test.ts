import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  envelopeBytes,
  kindIndex,
  limits,
  type ActivityEvent,
  type ActivityKind,
  type Attempt,
} from "../../core/index.ts";
import type { HandOut, Losses } from "../../observers/delivery.ts";
import { Queue } from "../../observers/queue.ts";
import { Bus } from "../support/bus.ts";

const bus = new Bus();
let members = 0;
const newAttempt = (): Attempt => bus.begin({ member_id: `m${++members}` });

/** Counts what the queue tells, and keeps which numbers were dropped. */
class Ledger implements Losses {
  merged = 0;
  readonly dropped: [Attempt, number, number][] = [];
  readonly ends: Attempt[] = [];

  drop(attempt: Attempt, event: ActivityEvent, _kind: number, count: number): void {
    this.dropped.push([attempt, (event.n ?? 0) - count + 1, event.n ?? 0]);
  }

  ended(attempt: Attempt): void {
    this.ends.push(attempt);
  }

  at(): number {
    return 7;
  }
}

function eventOf(attempt: Attempt, kind: ActivityKind, n: number, text = "x"): ActivityEvent {
  const payload = kind.endsWith(".delta") ? { text, offset: 0 } : { tool_id: text, name: "run" };
  return { v: 1, coordinates: attempt.coordinates, kind, n, seq: n, at: n, payload } as ActivityEvent;
}

function open(
  maxEvents: number,
  maxBytes = 1_000_000,
  handOut: HandOut = "serial",
): { queue: Queue; ledger: Ledger; offer: Offer } {
  const ledger = new Ledger();
  const queue = new Queue({ maxEvents, maxBytes, maxEventBytes: 16_384 }, ledger, handOut);
  const offer: Offer = (attempt, kind, n, text = "x") => {
    queue.offer(eventOf(attempt, kind, n, text), attempt, kindIndex.get(kind) ?? 0, envelopeBytes + text.length);
  };
  return { queue, ledger, offer };
}

type Offer = (attempt: Attempt, kind: ActivityKind, n: number, text?: string) => void;

/** What the queue gives until nothing is left: a number for an event, the payload for a gap. */
function readAll(queue: Queue): readonly unknown[] {
  const read: unknown[] = [];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { event } = next;
    read.push(event.kind === "gap" ? event.payload : event.n_from === undefined ? event.n : [event.n_from, event.n]);
  }
  expect([queue.held, queue.depth, queue.bytes]).toEqual([0, 0, 0]);
  return read;
}

function gapOf(dropped: number, first_n: number | null, last_n: number | null, kinds: object): object {
  return { dropped, withheld: 0, first_n, last_n, kinds, reason: "overflow" };
}

describe("a queue at its bound", () => {
  it("C-013 drops a delta before an end, then the oldest end, and tells each loss at its place", () => {
    const { queue, offer } = open(4);
    const attempt = newAttempt();
    for (const n of [2, 3, 4, 5]) offer(attempt, "tool.completed", n);
    offer(attempt, "message.delta", 6);
    offer(attempt, "tool.completed", 7);
    expect(readAll(queue)).toEqual([
      gapOf(1, 2, 2, { "tool.completed": 1 }),
      3,
      4,
      5,
      gapOf(1, 6, 6, { "message.delta": 1 }),
      7,
    ]);
  });

  it("C-013 drops a message delta before a reasoning delta that came later, and no end at all", () => {
    const { queue, ledger, offer } = open(4);
    const attempt = newAttempt();
    offer(attempt, "message.delta", 2);
    offer(attempt, "tool.completed", 3);
    offer(attempt, "tool.completed", 4);
    offer(attempt, "reasoning.delta", 5);
    offer(attempt, "tool.completed", 6);
    expect(ledger.dropped).toEqual([[attempt, 2, 2]]);
    expect(readAll(queue)).toEqual([gapOf(1, 2, 2, { "message.delta": 1 }), 3, 4, 5, 6]);
  });

  it("merges a delta into the one it follows, and no other", () => {
    const { queue, ledger, offer } = open(2);
    const [a, b] = [newAttempt(), newAttempt()];
    offer(a, "message.delta", 1, "one");
    offer(b, "message.delta", 1, "other");
    offer(a, "message.delta", 2, "two");
    offer(a, "message.delta", 3, "three");
    expect([ledger.merged, queue.depth, queue.bytes]).toEqual([2, 2, 2 * envelopeBytes + "onetwothreeother".length]);
    const first = queue.shift();
    expect(first?.event).toMatchObject({ n_from: 1, n: 3, seq: 3, payload: { text: "onetwothree", offset: 0 } });
    // Of another kind, or behind a hole, it stands by itself.
    offer(b, "reasoning.delta", 2);
    offer(b, "reasoning.delta", 4);
    expect(readAll(queue)).toEqual([gapOf(1, 1, 1, { "message.delta": 1 }), 2, 4]);
  });

  it("merges up to maxEventBytes to the byte, and counts a dropped merge with all its members", () => {
    const { queue, ledger, offer } = open(1);
    const attempt = newAttempt();
    offer(attempt, "message.delta", 1, "x".repeat(16_383));
    offer(attempt, "message.delta", 2, "x");
    expect([ledger.merged, queue.bytes]).toEqual([1, envelopeBytes + 16_384]);
    offer(attempt, "message.delta", 3, "x");
    expect([ledger.merged, ledger.dropped]).toEqual([0, [[attempt, 1, 2]]]);
    expect(readAll(queue)).toEqual([gapOf(2, 1, 2, { "message.delta": 2 }), 3]);
  });

  it("joins neighbouring gaps, withheld and dropped, into one", () => {
    const { queue, offer } = open(2);
    const attempt = newAttempt();
    queue.withhold(eventOf(attempt, "reasoning.delta", 1), attempt, kindIndex.get("reasoning.delta") ?? 0);
    offer(attempt, "message.delta", 2);
    queue.withhold(eventOf(attempt, "reasoning.delta", 3), attempt, kindIndex.get("reasoning.delta") ?? 0);
    offer(attempt, "tool.started", 4);
    offer(attempt, "tool.started", 5);
    const kinds = { "reasoning.delta": 2, "message.delta": 1 };
    const gap = { dropped: 1, withheld: 2, first_n: 1, last_n: 3, kinds, reason: "overflow" };
    expect(readAll(queue)).toEqual([gap, 4, 5]);
  });

  it("tells a loss at an attempt's end when everything before it has been read", () => {
    const { queue, ledger, offer } = open(2);
    const [a, b] = [newAttempt(), newAttempt()];
    offer(a, "tool.started", 1);
    offer(b, "tool.started", 1);
    offer(a, "message.delta", 2);
    // The consumer does not want the event that settles `a`.
    queue.end(a);
    expect(ledger.ends).toEqual([]);
    const first = queue.shift();
    expect([first?.event.n, first?.isLast]).toEqual([1, true]);
    expect(readAll(queue)).toEqual([gapOf(1, 2, 2, { "message.delta": 1 }), 1]);
  });

  it("tells a loss that includes the end of its attempt", () => {
    const { queue, ledger, offer } = open(1);
    const [a, b] = [newAttempt(), newAttempt()];
    offer(a, "tool.started", 1);
    offer(a, "turn.settled", 2);
    offer(b, "tool.started", 1);
    expect(ledger.ends).toEqual([a]);
    expect(readAll(queue)).toEqual([gapOf(2, 1, 2, { "tool.started": 1, "turn.settled": 1 }), 1]);
  });

  it.each([
    [limits.maxGapAttempts - 1, 0],
    [limits.maxGapAttempts, 0],
    [limits.maxGapAttempts + 1, 1],
  ])("I8 names the gaps of %i ended attempts, and counts %i in a nameless one", (count, nameless) => {
    const { queue, offer } = open(1);
    for (let k = 0; k < count; k++) offer(newAttempt(), "turn.settled", k + 1);
    const last = newAttempt();
    offer(last, "tool.started", 1);
    const read = readAll(queue) as { first_n: number | null }[];
    expect(read).toHaveLength(Math.min(count, limits.maxGapAttempts) + nameless + 1);
    expect(read.filter((each) => each.first_n === null)).toEqual(
      nameless === 0 ? [] : [gapOf(1, null, null, { "turn.settled": 1 })],
    );
  });

  it("I8 keeps 256 open gaps; the oldest beyond is told early, by name", () => {
    const { queue, offer } = open(1);
    const filler = newAttempt();
    offer(filler, "tool.started", 1);
    for (let k = 0; k < limits.maxGapAttempts; k++) offer(newAttempt(), "message.delta", k + 1);
    expect(queue.held).toBe(1);
    offer(newAttempt(), "message.delta", 999);
    expect(queue.held).toBe(2);
    expect(queue.shift()?.event.payload).toEqual(gapOf(1, 1, 1, { "message.delta": 1 }));
  });

  it("I8 counts an open gap behind a waiting event namelessly: told by name, it would come too early", () => {
    const { queue, offer } = open(limits.maxGapAttempts + 2);
    const attempts = Array.from({ length: limits.maxGapAttempts + 1 }, newAttempt);
    const reasoning = kindIndex.get("reasoning.delta") ?? 0;
    for (const attempt of attempts) {
      offer(attempt, "tool.started", 1);
      queue.withhold(eventOf(attempt, "reasoning.delta", 2), attempt, reasoning);
    }
    const first = queue.shift();
    expect(first?.event).toMatchObject({
      coordinates: null,
      payload: { dropped: 0, withheld: 1, first_n: null, last_n: null, reason: "not_granted" },
    });
    expect(readAll(queue)).toEqual(attempts.map(() => 1));
    expect(attempts.map((attempt) => queue.takeGap(attempt, 0) !== undefined)).toEqual(
      attempts.map((_, index) => index > 0),
    );
  });

  it("counts what is thrown away at its end as dropped, with the members of merged deltas", () => {
    const { queue, ledger, offer } = open(2);
    const attempt = newAttempt();
    offer(attempt, "tool.started", 1);
    for (const n of [2, 3, 4]) offer(attempt, "message.delta", n);
    queue.clear();
    expect([ledger.merged, ledger.dropped]).toEqual([
      0,
      [
        [attempt, 1, 1],
        [attempt, 2, 4],
      ],
    ]);
    expect(readAll(queue)).toEqual([]);
  });
});

describe("a queue that hands out attempts side by side", () => {
  it("gives nothing of an attempt before what is in hand of it came back", () => {
    const { queue, offer } = open(10, 1_000_000, "side_by_side");
    const [a, b] = [newAttempt(), newAttempt()];
    for (const [attempt, n] of [
      [a, 1],
      [a, 2],
      [b, 1],
      [b, 2],
    ] as const)
      offer(attempt, "tool.started", n);
    const first = queue.shift();
    const second = queue.shift();
    expect([first?.attempt, second?.attempt, queue.shift(), queue.held]).toEqual([a, b, undefined, 2]);
    if (second !== undefined) queue.release(second);
    expect(queue.shift()).toMatchObject({ attempt: b, event: { n: 2 } });
    if (first !== undefined) queue.release(first);
    expect(queue.shift()).toMatchObject({ attempt: a, event: { n: 2 } });
  });

  it("counts the early gap of an attempt in hand namelessly: told by name, it could run beside it", () => {
    const { queue, offer } = open(2, 1_000_000, "side_by_side");
    const busy = newAttempt();
    offer(busy, "tool.started", 1);
    const inHand = queue.shift();
    const reasoning = kindIndex.get("reasoning.delta") ?? 0;
    for (const attempt of [busy, ...Array.from({ length: limits.maxGapAttempts }, newAttempt)])
      queue.withhold(eventOf(attempt, "reasoning.delta", 2), attempt, reasoning);
    expect(queue.shift()?.event).toMatchObject({ coordinates: null, payload: { withheld: 1 } });
    expect([inHand?.attempt, queue.held]).toEqual([busy, 0]);
  });

  it("tells an early gap as a turn of its attempt", () => {
    const { queue, offer } = open(2, 1_000_000, "side_by_side");
    const reasoning = kindIndex.get("reasoning.delta") ?? 0;
    const attempts = Array.from({ length: limits.maxGapAttempts + 1 }, newAttempt);
    const [first = newAttempt()] = attempts;
    for (const attempt of attempts) queue.withhold(eventOf(attempt, "reasoning.delta", 1), attempt, reasoning);
    offer(first, "tool.started", 2);
    const gap = queue.shift();
    // It wears the time of the event that it precedes.
    expect(gap?.event).toMatchObject({ kind: "gap", coordinates: first.coordinates, at: 2 });
    expect(queue.shift()).toBe(undefined);
    if (gap !== undefined) queue.release(gap);
    expect(queue.shift()).toMatchObject({ attempt: first, event: { n: 2 } });
  });
});

describe("a queue that hands out batches", () => {
  it("joins what was lost in hand with what was lost behind it", () => {
    const { queue, ledger, offer } = open(1, 1_000_000, "batch");
    const [a, b] = [newAttempt(), newAttempt()];
    offer(a, "tool.started", 1);
    const inHand = [queue.shift()].flatMap((delivery) => delivery ?? []);
    offer(a, "turn.settled", 2);
    offer(b, "tool.started", 1);
    expect(queue.held).toBe(2);
    queue.lose(inHand);
    expect(ledger.dropped).toEqual([
      [a, 2, 2],
      [a, 1, 1],
    ]);
    expect(readAll(queue)).toEqual([gapOf(2, 1, 2, { "tool.started": 1, "turn.settled": 1 }), 1]);
  });

  it("puts what was lost in hand before what is due already and before what waits", () => {
    const { queue, offer } = open(2, 1_000_000, "batch");
    const reasoning = kindIndex.get("reasoning.delta") ?? 0;
    const attempts = Array.from({ length: limits.maxGapAttempts + 1 }, newAttempt);
    const [first = newAttempt()] = attempts;
    offer(first, "tool.started", 1);
    const inHand = [queue.shift()].flatMap((delivery) => delivery ?? []);
    for (const attempt of attempts) queue.withhold(eventOf(attempt, "reasoning.delta", 2), attempt, reasoning);
    offer(first, "tool.started", 3);
    queue.lose(inHand);
    const kinds = { "tool.started": 1, "reasoning.delta": 1 };
    const gap = { dropped: 1, withheld: 1, first_n: 1, last_n: 2, kinds, reason: "overflow" };
    expect(readAll(queue)).toEqual([gap, 3]);
  });

  it.each(["serial", "side_by_side", "batch"] as const)(
    "C-019 of a call that hangs (%s) holds nothing of what comes and goes behind it",
    (handOut) => {
      const { queue, offer } = open(1, 1_000_000, handOut);
      const attempt = newAttempt();
      offer(attempt, "tool.started", 1);
      const inHand = queue.shift();
      for (let n = 2; n < 10; n++) offer(attempt, "tool.started", n);
      expect(inHand?.from).toMatchObject({ before: null, after: null, older: null, newer: null });
    },
  );
});

const kindsOf = { delta: "message.delta", reason: "reasoning.delta", tool: "tool.started" } as const;

describe("a queue's books", () => {
  it("C-015 count exactly the bytes that are held, through 10,000 random operations", () => {
    const operation = fc.record({
      what: fc.constantFrom("delta", "delta", "delta", "reason", "tool", "tool", "read", "read", "clear" as const),
      attempt: fc.nat(2),
      units: fc.oneof(fc.nat(300), fc.nat(65_536 - envelopeBytes)),
      rare: fc.nat(200),
    });
    fc.assert(
      fc.property(fc.array(operation, { minLength: 1_000, maxLength: 1_000 }), (operations) => {
        const { queue, ledger, offer } = open(64, 524_288);
        const attempts = [newAttempt(), newAttempt(), newAttempt()];
        const numbers = [0, 0, 0];
        /** Bytes by attempt and number: an account of its own. */
        const held = new Map<string, number>();
        let sum = 0;
        const release = (attempt: Attempt, from: number, to: number): void => {
          for (let n = from; n <= to; n++) {
            const key = `${attempts.indexOf(attempt)}/${n}`;
            sum -= held.get(key) ?? Number.NaN;
            held.delete(key);
          }
        };
        for (const { what, attempt: index, units, rare } of operations) {
          const attempt = attempts[index] ?? newAttempt();
          if (what === "read") {
            const next = queue.shift();
            if (next !== undefined && next.attempt !== null)
              release(next.attempt, next.event.n_from ?? next.event.n ?? 0, next.event.n ?? 0);
          } else if (what === "clear") {
            if (rare === 0) queue.clear();
          } else {
            const n = (numbers[index] = (numbers[index] ?? 0) + 1);
            const depth = queue.depth;
            offer(attempt, kindsOf[what], n, "x".repeat(units));
            // Appended, it is one more; merged, it is none.
            const bytes = queue.depth === depth - ledger.dropped.length ? units : envelopeBytes + units;
            held.set(`${index}/${n}`, bytes);
            sum += bytes;
          }
          for (const [dropper, from, to] of ledger.dropped.splice(0)) release(dropper, from, to);
          expect(queue.bytes).toBe(sum);
          expect(queue.bytes <= 524_288 && queue.depth <= 64 && queue.bytes >= 0).toBe(true);
        }
        readAll(queue);
      }),
      { numRuns: 10 },
    );
  });
});
