import { z } from "zod";
import { idSchema, limits, RoomtapError } from "../core/index.ts";
import { digest } from "./canonical-json.ts";
import type { Member } from "./room-record.ts";

/** Words behind `@` that are no member: the room twice, and the person. */
export const reservedHandles = ["all", "everyone", "user"] as const;

const handleSchema = z
  .string({ error: "expected a handle" })
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, {
    message: "expected 1 to 64 of A-Z a-z 0-9 _ - beginning with a letter or a digit",
  })
  .refine((handle) => !reservedHandles.some((reserved) => reserved === handle.toLowerCase()), {
    message: `expected a handle other than ${reservedHandles.join(", ")}`,
  });

/** Of a member or of who posts. One line, because a prompt shows it as `name: text`. */
export const displayNameSchema = z
  .string()
  .regex(/^\P{Cc}{1,128}$/u, { message: "expected 1 to 128 characters, no control characters" })
  .refine((name) => name.isWellFormed(), { message: "expected text without half surrogate pairs" });

/** The id of an agent. */
export const profileSchema = z.string({ error: "expected the id of an agent" }).min(1).max(128);

const memberSchema = z
  .strictObject({
    handle: handleSchema,
    member_id: idSchema.optional(),
    display_name: displayNameSchema.optional(),
    runner_kind: z.string({ error: "expected the kind of a runner, or null for a person" }).min(1).nullable(),
    profile: profileSchema.optional(),
  })
  .transform(({ handle, member_id, display_name, runner_kind, profile }): Member => ({
    member_id: member_id ?? `m-${handle}`,
    handle,
    display_name: display_name ?? handle,
    runner_kind,
    ...(profile === undefined ? {} : { profile }),
  }));

/** What a roster is read from. `member_id` defaults to `m-` and the handle, `display_name` to the handle. */
export type MemberInput = z.input<typeof memberSchema>;

/** What could be read of a roster, in its order, and a sentence for each entry that could not. */
export interface RosterReading {
  readonly members: readonly Member[];
  readonly problems: readonly string[];
}

/**
 * Reads what can be read: an entry that does not parse, or whose id or handle (case ignored) an earlier one has, is left
 * out and named with what was expected and what was found.
 */
export function readRoster(entries: readonly unknown[]): RosterReading {
  const members: Member[] = [];
  const problems: string[] = [];
  const handleOf = new Map<string, string>();
  const ids = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const where = `member ${index + 1}${nameOf(entry)}`;
    const parsed = memberSchema.safeParse(entry);
    if (!parsed.success) {
      problems.push(`${where}: ${problemOf(parsed.error.issues[0], entry)}`);
      continue;
    }
    const { member_id, handle } = parsed.data;
    const holder = handleOf.get(handle.toLowerCase());
    if (holder !== undefined) {
      problems.push(`${where}: handle: expected one that no other member has (case ignored), got that of @${holder}`);
    } else if (ids.has(member_id)) {
      problems.push(`${where}: member_id: expected one that no other member has, got ${shown(member_id)} again`);
    } else {
      handleOf.set(handle.toLowerCase(), handle);
      ids.add(member_id);
      members.push(parsed.data);
    }
  }
  return { members, problems };
}

/**
 * The members of a roster, in its order.
 * @throws RoomtapError `invalid_roster` that names the first bad member, what was expected and what was found
 */
export function parseRoster(entries: readonly unknown[]): readonly Member[] {
  if (entries.length < 1 || entries.length > limits.maxMembers) {
    throw new RoomtapError("invalid_roster", `expected 1 to ${limits.maxMembers} members, got ${entries.length}`);
  }
  const { members, problems } = readRoster(entries);
  if (problems[0] !== undefined) throw new RoomtapError("invalid_roster", problems[0]);
  return members;
}

/** Digest (64 hex) over member id, handle and runner kind in roster order; names, agents, commands and folders do not count. */
export function rosterDigest(members: readonly Member[]): string {
  return digest([
    "roster_digest",
    members.map(({ member_id, handle, runner_kind }) => [member_id, handle, runner_kind]),
  ]);
}

/** The members that runners drive, in roster order: all but the persons. */
export function drivenMembers(members: readonly Member[]): readonly Member[] {
  return members.filter((member) => member.runner_kind !== null);
}

function nameOf(entry: unknown): string {
  const handle = fieldOf(entry, "handle");
  return typeof handle === "string" ? ` (@${handle.slice(0, 64)})` : "";
}

function problemOf(issue: z.core.$ZodIssue | undefined, entry: unknown): string {
  if (issue === undefined) return "expected a member";
  if (issue.code === "unrecognized_keys") return `expected no key ${issue.keys.map(shown).join(", ")}`;
  const key = issue.path[0];
  return key === undefined
    ? `expected an object, got ${shown(entry)}`
    : `${String(key)}: ${issue.message}, got ${shown(fieldOf(entry, String(key)))}`;
}

function fieldOf(entry: unknown, key: string): unknown {
  return typeof entry === "object" && entry !== null && Object.hasOwn(entry, key) ? Reflect.get(entry, key) : undefined;
}

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 80));
  if (value === null || value === undefined) return String(value);
  return Array.isArray(value) ? "a list" : `a value of type ${typeof value}`;
}
