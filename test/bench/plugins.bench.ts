/**
 * A plugin in a worker, from the build: what a batch saves against events that cross one by one, and what a plugin that
 * loops for ever, is ended and started again, costs the producer.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCoordinates, systemClock, Tap, type Attempt } from "../../core/index.ts";
import { Observers } from "../../observers/index.ts";
import type { BatchHandler } from "../../observers/index.ts";
import type * as InlineCodeModule from "../../plugins/inline-code.ts";
import type { PluginInstance } from "../../plugins/instance.ts";
import type * as ServicesModule from "../../plugins/local-services.ts";
import { permitOf } from "../../plugins/permit.ts";
import type * as RoutesModule from "../../plugins/route-table.ts";
import type * as WorkerModule from "../../plugins/worker/index.ts";
import {
  atLeast,
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

const built = (path: string): string => new URL(`../../dist/plugins/${path}.js`, import.meta.url).href;
const { workerCode } = (await import(built("worker/index"))) as typeof WorkerModule;
const { LocalServices } = (await import(built("local-services"))) as typeof ServicesModule;
const { RouteTable } = (await import(built("route-table"))) as typeof RoutesModule;
const { inlineCode } = (await import(built("inline-code"))) as typeof InlineCodeModule;

const burst = 256;
/** Bursts of a round that measures delivery. */
const deliveredBursts = 20;
/** A round of the producer goes on for so long: the looping worker is ended and started again in it. */
const roundMs = 1_200;
const stallMs = 40;

const texts = Array.from({ length: burst }, (_, index) =>
  `piece ${index}: the quick brown fox jumps over the lazy dog, asks for a review, gets it, and goes on with its task. `
    .repeat(3)
    .slice(0, 200),
);

const nextTurn = (): Promise<void> => new Promise((resolve) => systemClock.defer(resolve));

/** A bus with one plugin, or none. */
interface Rig {
  readonly tap: Tap;
  readonly attempt: Attempt;
  readonly observers: Observers;
  readonly ends: { count: number };
  readonly close: () => Promise<void>;
}

/** Services whose batches are smaller than a worker would have them. */
class Narrowed extends LocalServices {
  readonly #most: number;

  constructor(most: number, ...parts: ConstructorParameters<typeof LocalServices>) {
    super(...parts);
    this.#most = most;
  }

  override relay(registration: Parameters<typeof this.observe>[0], batch: number, handler: BatchHandler): () => void {
    return super.relay(registration, Math.min(batch, this.#most), handler);
  }
}

interface RigOptions {
  readonly file?: string;
  readonly inline?: boolean;
  readonly most?: number;
}

async function openRig({ file, inline = false, most = Infinity }: RigOptions): Promise<Rig> {
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
  const attempt = tap.begin(coordinates, "session", null);
  const ends = { count: 0 };
  let instance: PluginInstance | null = null;
  if (file !== undefined) {
    const module = (await import(file)) as { default: never };
    const code = inline
      ? inlineCode(module.default, () => (run) => run())
      : await workerCode(file, systemClock, new AbortController().signal);
    const permit = permitOf(null, [], "bench");
    const report = (): void => undefined;
    const services = new Narrowed(most, "bench", permit, { observers, routes: new RouteTable(), report });
    instance = code.instance({
      ...{ id: "bench", permit, services, clock: systemClock, config: { stallMs }, stepMs: 100 },
      onFault: (message) => void (ends.count += message.startsWith("its worker ended") ? 1 : 0),
      onRestart: report,
      onGivenUp: report,
    });
    await instance.check();
    await instance.setup();
  }
  return { tap, attempt, observers, ends, close: async () => instance?.unload() };
}

function emitBurst({ tap, attempt }: Rig): void {
  for (const text of texts) tap.emit(attempt, { type: "message.delta", payload: { text } });
}

interface Check {
  lost: number;
  /** Of one round, the most. */
  ends: number;
}

/** ns per event from the seam to the end of its handler. */
function delivery(options: RigOptions, check: Check): Contender {
  return async () => {
    const rig = await openRig(options);
    const start = process.hrtime.bigint();
    for (let turn = 0; turn < deliveredBursts; turn++) {
      emitBurst(rig);
      await rig.observers.drain(10_000);
    }
    const spent = Number(process.hrtime.bigint() - start);
    const [stats] = rig.observers.stats();
    check.lost += deliveredBursts * burst - (stats?.delivered ?? 0);
    await rig.close();
    return spent / (deliveredBursts * burst);
  };
}

/** ns per frame on the producer's side; beside it a consumer that keeps up. Each burst begins with a tool's start. */
function producer(file: string | undefined, check: Check): Contender {
  return async () => {
    const rig = await openRig(file === undefined ? {} : { file });
    rig.observers.observe({ id: "healthy", handler: () => undefined });
    const samples: number[] = [];
    const until = systemClock.monotonic() + roundMs;
    for (let turn = 0; systemClock.monotonic() < until; turn++) {
      const tool_id = `c${turn}`;
      rig.tap.emit(rig.attempt, { type: "tool.start", payload: { tool_id, name: "run" } });
      rig.tap.emit(rig.attempt, { type: "tool.complete", payload: { tool_id, outcome: "ok" } });
      samples.push(timeNs(() => emitBurst(rig)) / burst);
      await nextTurn();
    }
    if (file !== undefined) check.ends = Math.max(check.ends, rig.ends.count);
    await rig.close();
    rig.observers.close();
    return median(samples);
  };
}

export async function run(): Promise<BenchResult> {
  const folder = mkdtempSync(join(tmpdir(), "roomtap-bench-"));
  try {
    const write = (name: string, handler: string): string => {
      const file = join(folder, name);
      writeFileSync(
        file,
        `export default { id: "bench", version: "1.0.0", setup(ctx, { stallMs }) { let count = 0; ${handler} } };`,
      );
      return file;
    };
    const counting = write("counting.mjs", `ctx.on("*", () => { count++; });`);
    const looping = write("looping.mjs", `ctx.on("tool.*", () => { for (;;); }, { stallMs });`);
    const check: Check = { lost: 0, ends: 0 };
    const samples = await sideBySide(
      {
        batched: delivery({ file: counting }, check),
        single: delivery({ file: counting, most: 1 }, check),
        inline: delivery({ file: counting, inline: true }, check),
        with: producer(looping, check),
        without: producer(undefined, check),
      },
      5,
    );
    const ns = (figures: readonly number[]): number => Math.round(median(figures));
    return {
      rows: [
        { delivery: "inline", event_ns: ns(samples.inline) },
        { delivery: "worker, batches", event_ns: ns(samples.batched) },
        { delivery: "worker, one by one", event_ns: ns(samples.single) },
        { producer: "without", frame_ns: ns(samples.without) },
        { producer: "beside a looping worker", frame_ns: ns(samples.with), ends: check.ends },
        { producer_ratio: round(medianRatio(samples.with, samples.without)) },
      ],
      gates: [
        atLeast("worker, one by one / batches", medianRatio(samples.single, samples.batched), 1.5),
        atMost("producer, beside a looping worker / without", medianRatio(samples.with, samples.without), 1.1),
        holds("every event was handled", check.lost === 0),
        holds("the looping worker was started again", check.ends > 1),
      ],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
