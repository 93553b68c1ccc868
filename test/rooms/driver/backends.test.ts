import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Runner } from "../../../core/index.ts";
import { loopClock, temporaryFolder } from "../../support/open-log.ts";
import { member, runnerOf, TestHost } from "../../support/open-room.ts";

/** An agent on a backend of its own, which may be down. */
function onBackend(down: Set<string>, handle: string): Runner {
  return runnerOf(() =>
    down.has(handle)
      ? { status: "failed", reason_code: "member_unavailable", error: "its backend is down" }
      : { status: "completed", text: `I am ${handle}` },
  );
}

describe("members on backends of their own", () => {
  it("C-085 stay members while a backend is down, and answer again when it is back, also after a restart", async () => {
    const file = join(temporaryFolder(), "room.db");
    const clock = loopClock();
    const down = new Set(["b"]);
    const handles = ["a", "b", "c"];
    const rooms = [{ room_id: "r1", members: handles.map((handle) => member(handle, onBackend(down, handle))) }];
    const ends: (string | null)[][] = [];
    const round = async (test: TestHost, text: string): Promise<void> => {
      const before = (await test.rows()).length;
      await test.room.post({ text });
      await test.quiet();
      const settled = (await test.rows()).slice(before).filter(({ kind }) => kind === "turn.settled");
      ends.push(settled.map(({ payload }) => ("status" in payload ? (payload.reason_code ?? payload.status) : null)));
      const { room, members } = await test.room.state();
      expect([room.roster.length, members.length]).toEqual([3, 3]);
    };
    const test = await TestHost.open({ rooms, file, clock });
    await round(test, "one");
    down.clear();
    await round(test, "two");
    await test.close();
    const again = await TestHost.open({ rooms, file, clock });
    await round(again, "three");
    expect(ends).toEqual([
      ["completed", "member_unavailable", "completed"],
      ["completed", "completed", "completed"],
      ["completed", "completed", "completed"],
    ]);
  });
});
