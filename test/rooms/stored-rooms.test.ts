import { describe, expect, it } from "vitest";
import type { Runner } from "../../core/index.ts";
import { storedRooms } from "../../rooms/stored-rooms.ts";
import type { Member, RoomRecord } from "../../rooms/index.ts";
import { says } from "../support/held-runner.ts";

const agents: ReadonlyMap<string, Runner> = new Map([["default", says("hi")]]);

function memberOf(handle: string, more: Partial<Member>): Member {
  return { member_id: `m-${handle}`, handle, display_name: handle, runner_kind: "test", ...more };
}

function recordOf(room_id: string, members: readonly Member[], disbanded_at: number | null = null): RoomRecord {
  return { room_id, members, disbanded_at } as unknown as RoomRecord;
}

const named = memberOf("a", { profile: "default" });
const person = memberOf("p", { runner_kind: null });

describe("rooms that nobody has defined", () => {
  it.each([
    ["named agents that are here", [named], true],
    ["named agents and persons", [person, named], true],
    ["an agent that is not here", [named, memberOf("b", { profile: "other" })], false],
    ["a runner without a name", [named, memberOf("b", {})], false],
    ["persons alone", [person], false],
  ])("are driven or left: %s", async (_, members, isDriven) => {
    const log = { rooms: async () => [recordOf("r1", members)] };
    const { driven, left } = await storedRooms(log, agents, () => false);
    expect([driven.length, left]).toEqual(isDriven ? [1, []] : [0, ["r1"]]);
    for (const parts of driven) {
      expect(parts.members).toEqual(
        members.map(({ runner_kind: _kind, ...member }) => ({
          ...member,
          profile: member.profile,
          runner: member.profile === undefined ? null : agents.get(member.profile),
        })),
      );
    }
  });

  it("are none that are defined or disbanded", async () => {
    const log = { rooms: async () => [recordOf("r1", [named]), recordOf("r2", [named], 1)] };
    expect(await storedRooms(log, agents, (roomId) => roomId === "r1")).toEqual({ driven: [], left: [] });
  });
});
