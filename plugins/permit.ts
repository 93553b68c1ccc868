import { activityKinds, RoomtapError, type ActivityKind } from "../core/index.ts";
import type { Grant, PayloadLevel } from "../observers/index.ts";
import type { Manifest, Permissions } from "./manifest.ts";
import { kindsOf } from "./patterns.ts";
import type { BatchOptions, HandlerOptions } from "./plugin.ts";

/**
 * What an operator may grant a plugin. What its manifest asks for and is not granted keeps it from loading, unless it is
 * `optional` there.
 */
export const pluginGrants = ["full", "reasoning", "approvals", "answer", "routes"] as const;
/** A word of `pluginGrants`. `answer` has `approvals` in it. */
export type PluginGrant = (typeof pluginGrants)[number];

/** What a plugin may do: what it asks for, all of it granted. Plain data, the same in a worker. */
export interface Permit {
  readonly hooks: readonly ActivityKind[];
  /** null: all. */
  readonly rooms: readonly string[] | null;
  /** The most that its handlers may have. */
  readonly payload: PayloadLevel;
  /** Of its consumers. */
  readonly grants: readonly Grant[];
  readonly answers: boolean;
  readonly routes: boolean;
  /** Paths of the server that it may serve besides its own. */
  readonly paths: readonly string[];
}

/** The grants that permissions need. */
function neededBy({ payload, reasoning, approvals, routes }: Permissions): readonly PluginGrant[] {
  const needs: Record<PluginGrant, boolean> = {
    full: payload === "full",
    reasoning,
    approvals: approvals === "observe",
    answer: approvals === "answer",
    routes: routes !== false,
  };
  return pluginGrants.filter((grant) => needs[grant]);
}

/**
 * What a plugin may do. One without a manifest asks for what it was granted.
 * @param subject whose it is, for the message: `plugin crew`
 * @throws RoomtapError `not_granted`, naming what is asked for and what was granted
 */
export function permitOf(manifest: Manifest | null, granted: readonly PluginGrant[], subject: string): Permit {
  if (manifest === null) return permitOfGrants(granted);
  const { permissions } = manifest;
  const has = (grant: PluginGrant): boolean =>
    granted.includes(grant) || (grant === "approvals" && granted.includes("answer"));
  const needed = neededBy(permissions);
  const missing = needed.filter((grant) => !has(grant));
  if (missing.length > 0) {
    const words = granted.length === 0 ? "none" : granted.join(", ");
    const entry = JSON.stringify([...new Set([...granted, ...missing])]);
    throw new RoomtapError(
      "not_granted",
      `${subject}: its manifest asks for ${missing.join(", ")}; granted: ${words}. To grant it: "grants": ${entry}`,
    );
  }
  const { rooms, payload, routes, optional } = permissions;
  const given = [...needed, ...optional.filter(has)];
  return {
    hooks: kindsOf(manifest.hooks),
    rooms: rooms === "all" ? null : rooms,
    payload: given.includes("full") ? "full" : payload,
    grants: consumerGrants(given),
    answers: given.includes("answer"),
    routes: given.includes("routes"),
    paths: typeof routes === "boolean" ? [] : routes,
  };
}

function permitOfGrants(granted: readonly PluginGrant[]): Permit {
  return {
    hooks: activityKinds,
    rooms: null,
    payload: granted.includes("full") ? "full" : "standard",
    grants: consumerGrants(granted),
    answers: granted.includes("answer"),
    routes: granted.includes("routes"),
    paths: [],
  };
}

function consumerGrants(granted: readonly PluginGrant[]): readonly Grant[] {
  const words: readonly Grant[] = ["reasoning", "approvals", "full"];
  return words.filter((word) => granted.includes(word) || (word === "approvals" && granted.includes("answer")));
}

/** The grants that a permit came of, as the plugin is told them. */
export function grantsOf({ payload, grants, answers, routes }: Permit): readonly PluginGrant[] {
  const given: Record<PluginGrant, boolean> = {
    full: payload === "full",
    reasoning: grants.includes("reasoning"),
    approvals: grants.includes("approvals"),
    answer: answers,
    routes,
  };
  return pluginGrants.filter((grant) => given[grant]);
}

/** What a handler asks for, as far as a permit decides on it. */
export interface Asked extends Pick<HandlerOptions | BatchOptions, "rooms" | "payload"> {
  readonly kinds: readonly ActivityKind[];
}

/**
 * Kinds, rooms and level of a handler, with the defaults of its permit.
 * @throws RoomtapError `not_granted` for what the permit does not cover
 */
export function permittedOptions(
  { kinds, rooms, payload }: Asked,
  permit: Permit,
): { readonly kinds: readonly ActivityKind[]; readonly rooms?: readonly string[]; readonly payload: PayloadLevel } {
  // Kinds of a pattern that stand in no hook are left out; one that names none of them is a fault.
  const hooked = kinds.filter((kind) => permit.hooks.includes(kind));
  if (hooked.length === 0) {
    throw new RoomtapError(
      "not_granted",
      `a handler asks for ${kinds.join(", ")}; the manifest's hooks name ${permit.hooks.join(", ")}`,
    );
  }
  const level = payload ?? (permit.payload === "meta" ? "meta" : "standard");
  if (levels.indexOf(level) > levels.indexOf(permit.payload)) {
    throw new RoomtapError("not_granted", `payload: ${level} is more than ${permit.payload}, which was granted`);
  }
  const hidden = rooms?.find((room) => permit.rooms !== null && !permit.rooms.includes(room));
  if (hidden !== undefined) {
    throw new RoomtapError("not_granted", `rooms: the manifest does not name ${hidden}`);
  }
  const seen = rooms ?? permit.rooms;
  return { kinds: hooked, payload: level, ...(seen === null ? {} : { rooms: seen }) };
}

const levels: readonly PayloadLevel[] = ["meta", "standard", "full"];

/** Whether a plugin may see a room. */
export function maySeeRoom(permit: Permit, roomId: string): boolean {
  return permit.rooms === null || permit.rooms.includes(roomId);
}
