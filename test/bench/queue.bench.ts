/**
 * A consumer that never drains, against 1,000,000 deltas through the real seam: what it costs in memory, and whether its
 * books and its gaps tell the truth when it is read to the end. Beside it, what it costs the producer.
 */
import { consumerDefaults, makeCoordinates, Tap, type Attempt } from "../../core/index.ts";
import { Observers, type ConsumerStats, type Subscription } from "../../observers/index.ts";
import {
  atMost,
  holds,
  liveHeapBytes,
  median,
  medianRatio,
  round,
  sideBySide,
  timeNs,
  type BenchResult,
  type Contender,
} from "./measure.ts";

const deltas = 1_000_000;
const burst = 256;
const mebibyte = 1_048_576;
/** So many frames per round are enough to time the producer: most of them come when the queue is full. */
const timedFrames = 100_000;

/** What a consumer saw, counted and not kept. */
interface Seen {
  events: number;
  members: number;
  told: number;
  snapshots: number;
  lastLength: number;
}

interface Bus {
  readonly tap: Tap;
  readonly observers: Observers;
  readonly attempt: Attempt;
  readonly consumer: Subscription;
  readonly seen: Seen;
  /** Lets the handler go. */
  readonly release: () => void;
}

function openBus(stuck: boolean): Bus {
  const observers = new Observers();
  const tap = new Tap({ activity: observers });
  const coordinates = makeCoordinates({
    room_id: "release",
    thread_id: "main",
    member_id: "m-planner",
    turn_id: `t-${"0".repeat(32)}`,
    task_id: `k-${"0".repeat(32)}`,
    execution_generation: 1,
  });
  const seen: Seen = { events: 0, members: 0, told: 0, snapshots: 0, lastLength: 0 };
  let release = (): void => undefined;
  let hold: Promise<void> | undefined = stuck ? new Promise((resolve) => (release = resolve)) : undefined;
  const consumer = observers.observe({
    id: "consumer",
    stallMs: Number.MAX_SAFE_INTEGER,
    handler: (event) => {
      if (event.kind === "gap") {
        seen.told += event.payload.dropped;
      } else if (event.kind === "message.delta" && event.n !== null) {
        seen.events++;
        seen.members += event.n - (event.n_from ?? event.n) + 1;
        seen.lastLength = event.payload.offset + event.payload.text.length;
        if (event.payload.snapshot === true) seen.snapshots++;
      }
      return hold;
    },
  });
  return {
    tap,
    observers,
    consumer,
    seen,
    attempt: tap.begin(coordinates, "session", null),
    release: () => {
      hold = undefined;
      release();
    },
  };
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** `units` characters that differ from frame to frame, and are made for each frame anew as a parser would. */
function textOf(k: number, units: number): string {
  return units === 1 ? "abcdefghij".charAt(k % 10) : `piece ${k}: the quick brown fox `.repeat(8).slice(0, units);
}

function emitBurst({ tap, attempt }: Bus, from: number, units: number): void {
  for (let k = from; k < from + burst; k++)
    tap.emit(attempt, { type: "message.delta", payload: { text: textOf(k, units) } });
}

interface Lagged {
  readonly growth: number;
  readonly full: ConsumerStats;
  readonly end: ConsumerStats;
  readonly seen: Seen;
  readonly units: number;
  readonly published: number;
}

/** Publishes all deltas to a consumer whose handler hangs at the first one, then reads it to the end. */
async function lag(units: number): Promise<Lagged> {
  const bus = openBus(true);
  const before = liveHeapBytes();
  for (let k = 0; k < deltas; k += burst) {
    emitBurst(bus, k, units);
    await nextTurn();
  }
  const growth = liveHeapBytes() - before;
  const full = bus.consumer.stats();
  bus.release();
  await bus.observers.drain(60_000);
  bus.consumer.dispose();
  const end = bus.consumer.stats();
  return { growth, full, end, seen: bus.seen, units: bus.attempt.message.units, published: bus.attempt.n };
}

function addsUp({ full, end, seen, units, published }: Lagged): boolean {
  const sum = ({ delivered, merged, dropped, depth }: ConsumerStats): number => delivered + merged + dropped + depth;
  return (
    [full, end].every((stats) => stats.published === published && sum(stats) === published) &&
    end.depth === 0 &&
    seen.told === end.dropped &&
    seen.members + seen.told === published &&
    seen.lastLength === units
  );
}

/** ns per frame on the producer's side. */
function producer(stuck: boolean): Contender {
  return async () => {
    const bus = openBus(stuck);
    let spent = 0;
    for (let k = 0; k < timedFrames; k += burst) {
      spent += timeNs(() => emitBurst(bus, k, 200));
      await nextTurn();
    }
    bus.release();
    await bus.observers.drain(10_000);
    bus.consumer.dispose();
    return spent / timedFrames;
  };
}

export async function run(): Promise<BenchResult> {
  const long = await lag(200);
  const short = await lag(1);
  const samples = await sideBySide({ stuck: producer(true), reading: producer(false) });
  const row = (name: string, { growth, full, end }: Lagged): BenchResult["rows"][number] => ({
    deltas: name,
    heap_mib: round(growth / mebibyte),
    held_mib: round(full.bytes / mebibyte),
    depth: full.depth,
    merged: end.merged,
    dropped: end.dropped,
    gaps: end.gaps,
  });
  return {
    rows: [
      row("200 characters", long),
      row("1 character", short),
      { consumer: "never drains", producer_ns: Math.round(median(samples.stuck)) },
      { consumer: "keeps up", producer_ns: Math.round(median(samples.reading)) },
      { producer_ratio: round(medianRatio(samples.stuck, samples.reading)) },
    ],
    gates: [
      atMost("heap, 200 characters / byte bound", long.growth / consumerDefaults.maxBytes, 2),
      atMost("heap, 1 character / byte bound", short.growth / consumerDefaults.maxBytes, 2),
      holds("delivered + merged + dropped + depth = published, and the gaps say so (200 characters)", addsUp(long)),
      holds("delivered + merged + dropped + depth = published, and the gaps say so (1 character)", addsUp(short)),
    ],
  };
}
