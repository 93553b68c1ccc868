import {
  activityKinds,
  consumerDefaults,
  envelopeBytes,
  kindTable,
  limits,
  RoomtapError,
  type KindEntry,
} from "../core/index.ts";
import type { ConsumerOptions, Grant, PayloadLevel } from "./observer.ts";
import type { QueueBounds } from "./delivery.ts";

/** What becomes of an event of a kind, by filter, grants and level. */
export type Treatment = "skip" | "pass" | "meta" | "withhold";

/** The same, where only the event says: of an approval its `request.*` come at `meta`, of other questions they pass. */
export type KindTreatment = Treatment | "meta_of_approval";

/** By the kind's number: what this consumer asked for, as far as it was granted. */
export function treatmentsOf(options: ConsumerOptions): readonly KindTreatment[] {
  const { kinds } = options;
  const grants: ReadonlySet<Grant> = new Set(options.grants);
  const level: PayloadLevel = options.payload ?? "standard";
  return activityKinds.map((kind) => {
    if (kinds !== undefined && !kinds.includes(kind)) return "skip";
    const { grant }: KindEntry = kindTable[kind];
    if (grant === "reasoning" && !grants.has("reasoning")) return "withhold";
    if (level === "meta") return "meta";
    return grant === "approvals" && !grants.has("approvals") ? "meta_of_approval" : "pass";
  });
}

/** The queue's bounds with their defaults. No event is larger than the queue; at level `full` it may take all of it. */
export function boundsOf(options: ConsumerOptions): QueueBounds {
  const maxBytes = options.maxBytes ?? consumerDefaults.maxBytes;
  const asked = options.maxEventBytes ?? (options.payload === "full" ? maxBytes : consumerDefaults.maxEventBytes);
  return {
    maxEvents: options.maxEvents ?? consumerDefaults.maxEvents,
    maxBytes,
    maxEventBytes: Math.min(asked, maxBytes - envelopeBytes),
  };
}

/**
 * Checks what a consumer is registered with. Strict: an option that does not exist is an error.
 * @throws RoomtapError `unknown_kind`; `invalid_params` naming the option, what was expected and what was found
 */
export function checkConsumerOptions(options: ConsumerOptions): void {
  const misshapen = shapeProblem(options);
  if (misshapen !== null) throw new RoomtapError("invalid_params", misshapen);
  const { maxBytes = consumerDefaults.maxBytes } = options;
  const problem =
    unknownWord("grants", options.grants ?? [], grantWords) ??
    unknownWord("payload", options.payload === undefined ? [] : [options.payload], levelWords) ??
    bad("maxEvents", options.maxEvents, 1, 1_048_576) ??
    bad("maxBytes", options.maxBytes, limits.minQueueBytes, 1_073_741_824) ??
    bad("maxEventBytes", options.maxEventBytes, 512, maxBytes) ??
    bad("stallMs", options.stallMs, 1, Number.MAX_SAFE_INTEGER) ??
    bad("concurrency", options.concurrency, 1, limits.maxConcurrency) ??
    bad("batch", options.batch, 1, limits.maxBatchEvents) ??
    concurrentBatches(options) ??
    (options.payload === "full" && !options.grants?.includes("full") ? 'payload "full" needs the grant "full"' : null);
  if (problem !== null) throw new RoomtapError("invalid_params", `consumer ${options.id}: ${problem}`);
  const unknown = options.kinds?.find((kind) => !activityKinds.includes(kind));
  if (unknown !== undefined) {
    throw new RoomtapError(
      "unknown_kind",
      `consumer ${options.id}: no kind "${unknown}"; known: ${activityKinds.join(", ")}`,
    );
  }
}

const optionNames: readonly string[] = [
  "id",
  "kinds",
  "rooms",
  "grants",
  "payload",
  "maxEvents",
  "maxBytes",
  "maxEventBytes",
  "stallMs",
  "concurrency",
  "batch",
  "handler",
] satisfies readonly (keyof ConsumerOptions)[];

/** What is wrong with options from a caller that no compiler has checked; null when nothing is. */
function shapeProblem(given: unknown): string | null {
  if (typeof given !== "object" || given === null) return `a consumer: expected { id, handler }, got ${typeof given}`;
  const { id, handler, ...rest } = given as { readonly [name: string]: unknown };
  if (typeof id !== "string" || id === "") return `a consumer: id: expected a text that is not empty, got ${typeof id}`;
  if (typeof handler !== "function") return `consumer ${id}: handler: expected a function, got ${typeof handler}`;
  const unknown = Object.keys(rest).find((name) => !optionNames.includes(name));
  if (unknown !== undefined) return `consumer ${id}: ${unknown}: no such option; known: ${optionNames.join(", ")}`;
  const noList = ["kinds", "rooms", "grants"].find((name) => rest[name] !== undefined && !Array.isArray(rest[name]));
  return noList === undefined ? null : `consumer ${id}: ${noList}: expected a list, got ${typeof rest[noList]}`;
}

const grantWords: readonly Grant[] = ["reasoning", "approvals", "full"];
const levelWords: readonly PayloadLevel[] = ["meta", "standard", "full"];

function unknownWord(name: string, words: readonly string[], known: readonly string[]): string | null {
  const unknown = words.find((word) => !known.includes(word));
  return unknown === undefined ? null : `${name} takes ${known.join(", ")}; got "${unknown}"`;
}

function bad(name: string, value: number | undefined, min: number, max: number): string | null {
  if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) return null;
  return `${name} is a whole number from ${min} to ${max}, got ${value}`;
}

function concurrentBatches({ batch, concurrency = 1 }: ConsumerOptions): string | null {
  if (batch === undefined || concurrency === 1) return null;
  return `batch goes with concurrency 1, got ${concurrency}: a batch has events of several attempts, and two of them side by side would break their order`;
}
