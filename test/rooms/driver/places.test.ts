import { describe, expect, it } from "vitest";
import { HeldRunner, roomOf, says, TestHost, until } from "../../support/open-room.ts";
import { coordinatesOf } from "../../support/turn-coordinates.ts";

describe("rooms side by side", () => {
  it("run up to `maxConcurrentTurns` turns, and the next begins when one ends", async () => {
    const held = new HeldRunner();
    const rooms = Array.from({ length: 6 }, (_, index) => roomOf(held, ["a"], `r${index}`));
    const test = await TestHost.open({ rooms, maxConcurrentTurns: 3 });
    await Promise.all(test.host.rooms.map((room) => room.post({ text: "go" })));
    await held.turn(2);
    await test.pass(100);
    expect([held.turns.length, test.host.runs.length]).toEqual([3, 3]);
    held.turns[1]?.say("one");
    await held.turn(3);
    await test.pass(100);
    expect([held.turns.length, test.host.runs.length]).toEqual([4, 3]);
    for (let index = 0; index < 6; index++) (await held.turn(index)).say("done");
    await test.quiet();
    for (const room of test.host.rooms) expect(room.folded.through_seq).toBe(2);
  });

  it("take turns when there is one place", async () => {
    const held = new HeldRunner();
    const rooms = ["r1", "r2", "r3"].map((roomId) => roomOf(held, ["a", "b", "c"], roomId));
    const test = await TestHost.open({ rooms, maxConcurrentTurns: 1 });
    for (const room of test.host.rooms) await room.post({ text: "go" });
    await test.pass(100);
    for (let index = 0; index < 9; index++) (await held.turn(index)).say("done");
    await test.quiet();
    expect(held.turns.map(({ turn }) => coordinatesOf(turn).room_id).join(" ")).toBe("r1 r2 r3 r1 r2 r3 r1 r2 r3");
  });

  it("overlook no free place when a room in line has nothing to start any more", async () => {
    const held = new HeldRunner();
    const rooms = ["r1", "r2", "r3"].map((roomId) => roomOf(held, ["a"], roomId));
    const test = await TestHost.open({ rooms, maxConcurrentTurns: 1 });
    const [first, second, third] = test.host.rooms;
    await first?.post({ text: "go" });
    await held.turn(0);
    for (let count = 0; count < 5; count++) await second?.post({ text: `${count}`, thread_id: `t${count}` });
    await test.pass(100);
    await third?.post({ text: "go" });
    await test.pass(100);
    second?.close();
    held.turns[0]?.say("done");
    const next = await held.turn(1);
    expect(coordinatesOf(next.turn).room_id).toBe("r3");
    next.say("done");
    await test.quiet();
    expect(held.turns).toHaveLength(2);
  });

  it("are not held up by a room whose turn hangs", async () => {
    const held = new HeldRunner();
    const rooms = [roomOf(held), roomOf(says("hi"), ["a", "b"], "r2")];
    const test = await TestHost.open({ rooms });
    await test.room.post({ text: "go" });
    await held.turn(0);
    await test.host.room("r2").post({ text: "go" });
    await until(() => test.host.room("r2").folded.through_seq === 4);
    expect(test.room.folded.through_seq).toBe(1);
    held.turns[0]?.say("done");
    await test.quiet();
  });

  it("and threads of one room run side by side with different members", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held, ["a", "b"])] });
    await test.room.post({ text: "@a one", thread_id: "t1" });
    await test.room.post({ text: "@b two", thread_id: "t2" });
    await held.turn(1);
    expect(held.turns.map(({ turn }) => coordinatesOf(turn).thread_id)).toEqual(["t1", "t2"]);
    expect(new Set(held.turns.map(({ turn }) => turn.session)).size).toBe(2);
    for (const { say } of held.turns.toReversed()) say("done");
    await test.quiet();
    expect(await test.told()).toEqual([
      "started m-a mention",
      "started m-b mention",
      "settled m-b completed",
      "settled m-a completed",
    ]);
  });
});
