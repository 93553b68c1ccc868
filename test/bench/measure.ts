import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** What a bench returns. `rows` are for people; `gates` decide the exit status. */
export interface BenchResult {
  readonly rows: readonly { readonly [column: string]: number | string }[];
  readonly gates: readonly Gate[];
}

export interface Gate {
  readonly name: string;
  readonly value: number;
  readonly limit: number;
  /** Within the limit, with the tolerance. */
  readonly ok: boolean;
}

/** Machines differ and share their cores: a gate is missed only beyond this factor of its limit. */
export const tolerance = 1.3;

/** A gate for a value that should be small: missed above `tolerance` x the limit. */
export function atMost(name: string, value: number, limit: number): Gate {
  return { name, value: round(value), limit, ok: value <= limit * tolerance };
}

/** A gate for a value that should be large: missed below the limit / `tolerance`. */
export function atLeast(name: string, value: number, limit: number): Gate {
  return { name, value: round(value), limit, ok: value >= limit / tolerance };
}

/** A gate without tolerance, for what is true or false: 1 when it holds. */
export function holds(name: string, truth: boolean): Gate {
  return { name, value: truth ? 1 : 0, limit: 1, ok: truth };
}

/** One round of a contender. It returns its own figure, in any unit, so that set-up stays outside. */
export type Contender = () => number | Promise<number>;

/**
 * Runs the contenders side by side: one warm-up round, then `rounds` rounds in which each runs once, in an order that
 * turns from round to round. The samples of a contender stand in order of rounds.
 */
export async function sideBySide<Name extends string>(
  contenders: Readonly<Record<Name, Contender>>,
  rounds = 7,
): Promise<Record<Name, readonly number[]>> {
  const names = Object.keys(contenders) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, number[]>;
  for (let turn = -1; turn < rounds; turn++) {
    for (let place = 0; place < names.length; place++) {
      const name = names[(place + turn + 1) % names.length];
      if (name === undefined) continue;
      const figure = await contenders[name]();
      if (turn >= 0) samples[name].push(figure);
    }
  }
  return samples;
}

export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const upper = sorted[sorted.length >> 1] ?? Number.NaN;
  const lower = sorted[(sorted.length - 1) >> 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

/** Median over the rounds of `a / b`: noise that lasts longer than a round falls out. */
export function medianRatio(a: readonly number[], b: readonly number[]): number {
  return median(a.map((figure, index) => figure / (b[index] ?? Number.NaN)));
}

/** How long `run` takes, in nanoseconds. */
export function timeNs(run: () => void): number {
  const start = process.hrtime.bigint();
  run();
  return Number(process.hrtime.bigint() - start);
}

/** Bytes of live heap, after a full collection. */
export function liveHeapBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

/** Three significant digits: more would be noise. */
export function round(value: number): number {
  return Number(value.toPrecision(3));
}
