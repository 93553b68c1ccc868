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
import type { QueueBounds } from "./queue.ts";

/** What becomes of an event of a kind, by filter, grants and level. */
export type Treatment = "skip" | "pass" | "meta" | "withhold";

/** By the kind's number: what this consumer asked for, as far as it was granted. */
export function treatmentsOf(options: ConsumerOptions): readonly Treatment[] {
  const { kinds } = options;
  const grants: ReadonlySet<Grant> = new Set(options.grants);
  const level: PayloadLevel = options.payload ?? "standard";
  return activityKinds.map((kind) => {
    if (kinds !== undefined && !kinds.includes(kind)) return "skip";
    const { grant }: KindEntry = kindTable[kind];
    if (grant === "reasoning" && !grants.has("reasoning")) return "withhold";
    if (level === "meta" || (grant === "approvals" && !grants.has("approvals"))) return "meta";
    return "pass";
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

/** @throws RoomtapError `invalid_params` naming the option, what was expected and what was found */
export function checkConsumerOptions(options: ConsumerOptions): void {
  const { maxBytes = consumerDefaults.maxBytes } = options;
  const problem =
    (options.id === "" ? "id is a text that is not empty" : null) ??
    unknownWord("grants", options.grants ?? [], grantWords) ??
    unknownWord("payload", options.payload === undefined ? [] : [options.payload], levelWords) ??
    bad("maxEvents", options.maxEvents, 1, 1_048_576) ??
    bad("maxBytes", options.maxBytes, limits.minQueueBytes, 1_073_741_824) ??
    bad("maxEventBytes", options.maxEventBytes, 512, maxBytes) ??
    bad("stallMs", options.stallMs, 1, Number.MAX_SAFE_INTEGER) ??
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
