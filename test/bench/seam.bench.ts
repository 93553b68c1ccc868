import {
  createRedactor,
  makeCoordinates,
  noRedaction,
  Tap,
  type ActivityEvent,
  type Attempt,
} from "../../core/index.ts";
import { Observers } from "../../observers/index.ts";
import {
  atMost,
  holds,
  median,
  medianRatio,
  round,
  sideBySide,
  timeNs,
  type BenchResult,
  type Contender,
} from "./measure.ts";

const burst = 256;
const bursts = 60;
const burnNs = 5_000n;

/** 200 bytes of prose that differ from frame to frame, as a model's output does. */
const texts = Array.from({ length: burst }, (_, index) =>
  `piece ${index}: the quick brown fox jumps over the lazy dog, asks for a review, gets it, and goes on with its task. `
    .repeat(3)
    .slice(0, 200),
);

interface Bus {
  readonly tap: Tap;
  readonly attempt: Attempt;
  readonly observers: Observers;
  readonly received: { count: number };
}

type MakeConsumer = (received: { count: number }) => (event: unknown) => void;

/** Functions of their own, each from a module of its own, so that no call is shared between consumers. */
const makers: readonly MakeConsumer[] = await Promise.all(
  Array.from({ length: 100 }, async (_, index) => {
    const source = `export const make = (received) => function consumer${index}(event) { received.count++; };`;
    const module = (await import(`data:text/javascript,${encodeURIComponent(source)}`)) as { make: MakeConsumer };
    return module.make;
  }),
);

function distinct(count: number, received: { count: number }): ((event: unknown) => void)[] {
  return makers.slice(0, count).map((make) => make(received));
}

function openBus(consumers: number, redaction: boolean, handler?: (event: ActivityEvent) => void): Bus {
  const observers = new Observers();
  const tap = new Tap({ activity: observers, redactor: redaction ? createRedactor() : noRedaction });
  const coordinates = makeCoordinates({
    room_id: "release",
    thread_id: "main",
    member_id: "m-planner",
    turn_id: `t-${"0".repeat(32)}`,
    task_id: `k-${"0".repeat(32)}`,
    execution_generation: 1,
  });
  const received = { count: 0 };
  const handlers = handler === undefined ? distinct(consumers, received) : [handler];
  handlers.forEach((each, index) => observers.observe({ id: `c${index}`, handler: each }));
  return { tap, observers, received, attempt: tap.begin(coordinates, "session", null) };
}

function emitBurst({ tap, attempt }: Bus): void {
  const { runtimeId } = attempt.session;
  for (const text of texts) {
    tap.seam.writeJson(
      { jsonrpc: "2.0", method: "event", params: { type: "message.delta", session_id: runtimeId, payload: { text } } },
      attempt,
    );
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** ns per frame on the producer's side, and checks that every consumer got every frame. */
function producer(consumers: number, redaction: boolean, check: { lost: number }): Contender {
  return async () => {
    const bus = openBus(consumers, redaction);
    let spent = 0;
    for (let turn = 0; turn < bursts; turn++) {
      spent += timeNs(() => emitBurst(bus));
      await nextTurn();
    }
    await bus.observers.drain(1_000);
    check.lost += bursts * burst * consumers - bus.received.count;
    return spent / (bursts * burst);
  };
}

function stampedEvent(text: string, n: number): object {
  const coordinates = {
    room_id: "release",
    thread_id: "main",
    member_id: "m-planner",
    turn_id: `t-${"0".repeat(32)}`,
    task_id: `k-${"0".repeat(32)}`,
    execution_generation: 1,
  };
  return {
    v: 1,
    coordinates,
    kind: "message.delta",
    n,
    seq: n,
    at: 1_764_512_345_678,
    payload: { text, offset: n * 200 },
  };
}

function stringify(): number {
  const events = texts.map((text, index) => stampedEvent(text, index + 1));
  let length = 0;
  const spent = timeNs(() => {
    for (let turn = 0; turn < bursts; turn++) for (const event of events) length += JSON.stringify(event).length;
  });
  return length > 0 ? spent / (bursts * burst) : Number.NaN;
}

/** Calls `consumers` functions with a fresh frame each time: the floor of any synchronous bus. */
function direct(consumers: number): Contender {
  return () => {
    const received = { count: 0 };
    const handlers = distinct(consumers, received);
    const spent = timeNs(() => {
      for (let turn = 0; turn < bursts; turn++) {
        for (const text of texts) {
          const frame = {
            jsonrpc: "2.0",
            method: "event",
            params: { type: "message.delta", session_id: "s", payload: { text } },
          };
          for (const handler of handlers) handler(frame);
        }
      }
    });
    return received.count === bursts * burst * consumers ? spent / (bursts * burst) : Number.NaN;
  };
}

function burn(): void {
  const until = process.hrtime.bigint() + burnNs;
  while (process.hrtime.bigint() < until);
}

const slowBursts = 8;

async function slowConsumer(): Promise<number> {
  const bus = openBus(1, false, burn);
  let spent = 0;
  for (let turn = 0; turn < slowBursts; turn++) {
    spent += timeNs(() => emitBurst(bus));
    await nextTurn();
  }
  await bus.observers.drain(5_000);
  return spent / (slowBursts * burst);
}

function slowEmitter(): number {
  const spent = timeNs(() => {
    for (let turn = 0; turn < slowBursts; turn++) for (const _ of texts) burn();
  });
  return spent / (slowBursts * burst);
}

async function wall(): Promise<number> {
  const bus = openBus(10, false);
  const start = process.hrtime.bigint();
  for (let turn = 0; turn < bursts; turn++) {
    emitBurst(bus);
    await nextTurn();
  }
  await bus.observers.drain(1_000);
  return Number(process.hrtime.bigint() - start) / (bursts * burst);
}

/** Builds and freezes the event once and calls 10 functions with it, in the same bursts. */
async function wallDirect(): Promise<number> {
  const received = { count: 0 };
  const handlers = distinct(10, received);
  const coordinates = Object.freeze({ room_id: "release" });
  const start = process.hrtime.bigint();
  let n = 0;
  for (let turn = 0; turn < bursts; turn++) {
    for (const text of texts) {
      n++;
      const payload = Object.freeze({ text, offset: n * 200 });
      const event = Object.freeze({
        v: 1,
        coordinates,
        kind: "message.delta",
        n,
        seq: n,
        at: 1_764_512_345_678,
        payload,
      });
      for (const handler of handlers) handler(event);
    }
    await nextTurn();
  }
  return Number(process.hrtime.bigint() - start) / (bursts * burst);
}

export async function run(): Promise<BenchResult> {
  const check = { lost: 0 };
  const samples = await sideBySide({
    on1: producer(1, true, check),
    on10: producer(10, true, check),
    on100: producer(100, true, check),
    off10: producer(10, false, check),
    off100: producer(100, false, check),
    stringify,
    direct10: direct(10),
    direct100: direct(100),
    slowConsumer,
    slowEmitter,
    wall,
    wallDirect,
  });
  const { on1, on10, on100, off10, off100, direct10, direct100 } = samples;
  const row = (
    consumers: number,
    figures: readonly number[],
    floor: readonly number[],
  ): BenchResult["rows"][number] => ({
    consumers,
    producer_ns: Math.round(median(figures)),
    ratio_stringify: round(medianRatio(figures, samples.stringify)),
    ratio_direct: round(medianRatio(figures, floor)),
  });
  return {
    rows: [
      { ...row(1, on1, samples.stringify), ratio_direct: "-" },
      row(10, on10, direct10),
      row(100, on100, direct100),
      { ...row(10, off10, direct10), redaction: "off" },
      { ...row(100, off100, direct100), redaction: "off" },
    ],
    gates: [
      atMost("producer, 10 consumers / JSON.stringify", medianRatio(on10, samples.stringify), 1),
      atMost("producer, 100 consumers / 1 consumer", medianRatio(on100, on1), 1.5),
      atMost("redaction off, 10 consumers / 10 direct calls", medianRatio(off10, direct10), 1.5),
      atMost("redaction off, 100 consumers / 100 direct calls", medianRatio(off100, direct100), 0.25),
      atMost(
        "producer, a consumer burning 5 us / synchronous emitter",
        medianRatio(samples.slowConsumer, samples.slowEmitter),
        0.05,
      ),
      atMost("wall, 10 consumers / freeze once and call 10", medianRatio(samples.wall, samples.wallDirect), 2),
      holds("every consumer got every frame", check.lost === 0),
    ],
  };
}
