import { z } from "zod";
import { RoomtapError } from "../../../core/index.ts";
import type { LogRow, MemberDefinition, RoomRecord } from "../../../rooms/index.ts";
import type { GatewayHost } from "../host.ts";

/** What names a room in a call. Whether it can be an id is nobody's business: an unknown one is an unknown room. */
export const roomId = z.string().min(1).max(256);

/** A member as a client names it. `profile` is one of the config's agents; null makes it a person. */
export const membersSchema = z.array(
  z.object({
    handle: z.string(),
    member_id: z.string().optional(),
    display_name: z.string().optional(),
    profile: z.string().nullish(),
  }),
);

/** A row of the log; open, because rows may grow. */
export const rowSchema = z.looseObject({ seq: z.number(), kind: z.string(), payload: z.looseObject({}) });

/** A room with its roster. */
export const recordSchema = z.looseObject({ room_id: z.string(), name: z.string(), revision: z.number() });

/** A room as clients are shown it. */
export function shownRecord(record: RoomRecord): Omit<RoomRecord, "stop"> {
  const { room_id, name, revision, members, roster_digest, created_at, paused, disbanded_at } = record;
  return { room_id, name, revision, members, roster_digest, created_at, paused, disbanded_at };
}

/** A name as a client gives it, as it is kept and shown to everybody: without secrets. */
export function shownName(name: string, host: GatewayHost): string {
  return host.redactor.text(name);
}

/**
 * Members with their runners.
 * @param present whoever is in the room already: a member that names no profile stays what it is there
 * @throws RoomtapError `invalid_roster` for a profile that the host does not have
 */
export function memberDefinitions(
  members: z.output<typeof membersSchema>,
  present: readonly MemberDefinition[],
  host: GatewayHost,
): readonly MemberDefinition[] {
  return members.map(({ profile, display_name, ...given }) => {
    const member = { ...given, ...(display_name === undefined ? {} : { display_name: shownName(display_name, host) }) };
    if (profile === undefined) return { ...member, ...drivenAs(member, present) };
    if (profile === null) return { ...member, runner: null };
    const runner = host.agents.get(profile);
    if (runner !== undefined) return { ...member, runner, profile };
    const known = [...host.agents.keys()];
    const names = known.length === 0 ? "none" : known.join(", ");
    const message = `member ${member.handle}: no agent "${profile}" here; known: ${names}`;
    throw new RoomtapError("invalid_roster", message, { data: { known } });
  });
}

function drivenAs(
  member: Pick<MemberDefinition, "handle" | "member_id">,
  present: readonly MemberDefinition[],
): Pick<MemberDefinition, "runner" | "profile"> {
  const same = present.find((each) => idOf(each) === idOf(member));
  return { runner: same?.runner ?? null, profile: same?.profile };
}

function idOf({ handle, member_id = `m-${handle}` }: Pick<MemberDefinition, "handle" | "member_id">): string {
  return member_id;
}

/** Rows of a room, secrets masked, as `groups.log` gives them. */
export async function shownRows(
  host: GatewayHost,
  room_id: string,
  page: { readonly since_seq: number; readonly limit: number; readonly include_disbanded?: boolean },
): Promise<{ events: LogRow[]; cursor: number; latest_seq: number; has_more: boolean }> {
  const { rows, cursor, latest_seq, has_more } = await host.rooms.log(room_id, page);
  return { events: [...rows], cursor, latest_seq, has_more };
}
