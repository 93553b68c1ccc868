import { z } from "zod";
import { RoomtapError, type Runner } from "../core/index.ts";
import type { Member } from "./room-record.ts";
import type { PolicyOptions } from "./policy.ts";
import { problemText } from "./problem-text.ts";
import { parseRoster, rosterDigest } from "./roster.ts";

/** What people call a room. One line. */
export const roomNameSchema = z
  .string()
  .regex(/^\P{Cc}{1,200}$/u, { message: "expected 1 to 200 characters, no control characters" })
  .refine((name) => name.isWellFormed(), { message: "expected text without half surrogate pairs" });

/** @throws RoomtapError `invalid_params` for a name that is none */
export function checkRoomName(name: unknown): void {
  const { error } = roomNameSchema.safeParse(name);
  if (error !== undefined) throw new RoomtapError("invalid_params", `name: ${problemText(error)}`);
}

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
  /** Under which id of the host's agents the runner is known, so that the room is driven again after a restart. */
  readonly profile?: string | undefined;
}

/** A room as a host is given it. */
export interface RoomDefinition {
  readonly room_id: string;
  /** Of a new room; one that is there keeps its name until it is renamed. Default the room's id. */
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
