import type { Runner } from "../core/index.ts";
import type { Member } from "./log.ts";
import type { PolicyOptions } from "./policy.ts";
import { parseRoster, rosterDigest } from "./roster.ts";

/** A member as a host is given it. */
export interface MemberDefinition {
  /** What `@handle` names. */
  readonly handle: string;
  /** Default `m-` and the handle. */
  readonly member_id?: string | undefined;
  /** Default the handle. */
  readonly display_name?: string | undefined;
  /** null for a person. */
  readonly runner: Runner | null;
}

/** A room as a host is given it. */
export interface RoomDefinition {
  readonly room_id: string;
  /** Default the room's id. */
  readonly name?: string | undefined;
  /** 1 to 16, in the order in which they answer. */
  readonly members: readonly MemberDefinition[];
  /** Bounds of its discussions. Default: 3 rounds, 10 texts of members, 2 owed passes. */
  readonly policy?: PolicyOptions | undefined;
}

/** A roster as it is stored, and who drives its members. */
export interface DefinedRoster {
  readonly content: { readonly members: readonly Member[]; readonly roster_digest: string };
  /** By member id. */
  readonly runners: ReadonlyMap<string, Runner>;
}

/** @throws RoomtapError `invalid_roster` that names the first bad member */
export function rosterOf(given: readonly MemberDefinition[]): DefinedRoster {
  const members = parseRoster(
    given.map(({ runner, ...member }) => ({ ...member, runner_kind: runner === null ? null : runner.kind })),
  );
  const runners = new Map<string, Runner>();
  for (const [index, { member_id }] of members.entries()) {
    const runner = given[index]?.runner;
    if (runner !== null && runner !== undefined) runners.set(member_id, runner);
  }
  return { content: { members, roster_digest: rosterDigest(members) }, runners };
}
