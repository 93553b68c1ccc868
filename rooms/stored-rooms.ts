import type { Runner } from "../core/index.ts";
import { defaultPolicy } from "./policy.ts";
import type { RoomParts } from "./present-room.ts";
import type { MemberDefinition } from "./room-definition.ts";
import type { RoomReader } from "./room-reader.ts";
import type { RoomRecord } from "./room-record.ts";

/** Active rooms of the database that nobody has defined. */
export interface StoredRooms {
  /** Made at run time, and all agents of their members are here. */
  readonly driven: readonly RoomParts[];
  /** The ids of the others. */
  readonly left: readonly string[];
}

/** @param isDefined whether the host was given the room */
export async function storedRooms(
  log: Pick<RoomReader, "rooms">,
  agents: ReadonlyMap<string, Runner>,
  isDefined: (roomId: string) => boolean,
): Promise<StoredRooms> {
  const [driven, left]: [RoomParts[], string[]] = [[], []];
  for (const record of await log.rooms()) {
    if (isDefined(record.room_id) || record.disbanded_at !== null) continue;
    const members = definedMembers(record, agents);
    if (members === null) left.push(record.room_id);
    else driven.push({ record, members, policy: defaultPolicy });
  }
  return { driven, left };
}

/**
 * The members of a stored room with the agents that they name; null when one of them names an agent that is not here or
 * has a runner without a name, and when nobody names any.
 */
function definedMembers(
  { members }: RoomRecord,
  agents: ReadonlyMap<string, Runner>,
): readonly MemberDefinition[] | null {
  if (members.every(({ profile }) => profile === undefined)) return null;
  const definitions: MemberDefinition[] = [];
  for (const { runner_kind, profile, ...member } of members) {
    const runner = profile === undefined ? null : agents.get(profile);
    if (runner === undefined || (runner === null && runner_kind !== null)) return null;
    definitions.push({ ...member, runner, profile });
  }
  return definitions;
}
