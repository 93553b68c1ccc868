import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { RoomtapError } from "../../../core/index.ts";
import { openSqliteLog, type RoomLog } from "../../../rooms/index.ts";
import { interposed } from "../../support/interposed.ts";
import { loopClock, temporaryFolder } from "../../support/open-log.ts";
import { HeldRunner, roomOf, TestHost, until } from "../../support/open-room.ts";

describe("a post's receipt", () => {
  it("says that a turn starts only when its start is durable", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held), roomOf(held, ["a"], "r2")], maxConcurrentTurns: 1 });
    const receipt = await test.room.post({ text: "go" });
    expect([receipt.starts, (await test.rows()).length]).toEqual([true, 1]);
    expect((await test.room.post({ text: "beside it", thread_id: "side" })).starts).toBe(false);
    expect((await test.host.room("r2").post({ text: "no place" })).starts).toBe(false);
    expect((await test.room.post({ text: "@nobody" })).starts).toBe(false);
    await until(() => held.turns.length === 1);
    for (let index = 0; index < 3; index++) (await held.turn(index)).say("done");
    await test.quiet();
  });

  it("says no at once while a settle is refused, and so does the state go on", async () => {
    const [clock, held] = [loopClock(), new HeldRunner()];
    const log = await openSqliteLog({ file: ":memory:", clock });
    let isFull = true;
    const append: RoomLog["append"] = (given) =>
      isFull && given.rows[0]?.kind === "turn.settled"
        ? Promise.reject(new RoomtapError("log_full", "full"))
        : log.append(given);
    const test = await TestHost.open({ rooms: [roomOf(held)], clock, log: interposed(log, { append }) });
    await test.room.post({ text: "go" });
    (await held.turn(0)).say("done");
    const early = test.room.post({ text: "@a while it is tried" });
    await until(() => test.notices.length === 1);
    // Time stands still: nothing here waits for the next try.
    const late = await test.room.post({ text: "@a after it was refused" });
    expect([(await early).starts, late.starts, (await test.room.state()).log.latest_seq]).toEqual([false, false, 1]);
    isFull = false;
    await test.pass(500);
    (await held.turn(1)).say("done");
    await test.quiet();
  });

  it("says no for what a paused member or another host is to answer", async () => {
    const file = join(temporaryFolder(), "test.db");
    const [clock, held] = [loopClock(), new HeldRunner()];
    const test = await TestHost.open({ rooms: [roomOf(held)], file, clock });
    await test.room.pause();
    expect((await test.room.post({ text: "go" })).starts).toBe(false);
    const other = await TestHost.open({ rooms: [roomOf(held)], file, clock });
    await test.room.resume();
    (await held.turn(0)).say("done");
    await test.quiet();
    expect((await other.room.post({ text: "more" })).starts).toBe(false);
    await test.quiet();
  });
});
