import { describe, expect, it } from "vitest";
import { RoomtapError } from "../../../core/index.ts";
import { openSqliteLog, type RoomLog } from "../../../rooms/index.ts";
import { interposed } from "../../support/interposed.ts";
import { claim, goneProcess, loopClock } from "../../support/open-log.ts";
import { HeldRunner, member, roomOf, runnerOf, says, TestHost, until } from "../../support/open-room.ts";

describe("a stop", () => {
  it("R33 cancels what runs, closes what waits, answers a repeat alike, and pauses nobody", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [{ ...roomOf(held, ["a", "b"]), policy: {} }] });
    await test.room.post({ text: "go" });
    const first = await held.turn(0);
    const answer = await test.room.stop({ cancelId: "x1" });
    expect(answer).toEqual({ cancelled: 1, fence: { post_number: 1, seq: 1 } });
    expect([first.turn.signal.aborted, first.turn.signal.reason]).toEqual([true, "stopped"]);
    expect((await test.room.state()).members[0]).toMatchObject({ state: "stopping" });
    first.say("I was at it");
    await test.quiet();
    expect(await test.told()).toEqual(["started m-a message", "settled m-a stopped"]);
    expect((await test.rows())[1]?.payload).toMatchObject({ status: "cancelled", text: "I was at it" });
    expect((await test.room.state()).threads).toMatchObject([{ status: "stopped", owed: [] }]);
    expect(await test.room.stop({ cancelId: "x1" })).toEqual(answer);
    expect(await test.room.stop({ cancelId: "x2" })).toEqual({ cancelled: 0, fence: { post_number: 1, seq: 2 } });
    await test.room.post({ text: "@b go on" });
    (await held.turn(1)).say("here");
    await test.quiet();
    expect((await test.told()).slice(2)).toEqual(["started m-b mention", "settled m-b completed"]);
  });

  it("R33 repeated while another turn runs stops nothing", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)] });
    await test.room.stop({ cancelId: "x1" });
    await test.room.post({ text: "go" });
    const { turn, say } = await held.turn(0);
    expect(await test.room.stop({ cancelId: "x1" })).toEqual({ cancelled: 0, fence: { post_number: 0, seq: 0 } });
    expect(turn.signal.aborted).toBe(false);
    say("done");
    await test.quiet();
    expect(await test.told()).toEqual(["started m-a message", "settled m-a completed"]);
  });

  it("is stored before anybody is interrupted, and interrupts nobody when it could not be", async () => {
    const clock = loopClock();
    const log = await openSqliteLog({ file: ":memory:", clock });
    const held = new HeldRunner();
    let isFull = true;
    let abortedAtStop: boolean | undefined;
    const stop: RoomLog["stop"] = async (given) => {
      if (isFull) throw new RoomtapError("log_full", "full");
      abortedAtStop = held.turns[0]?.turn.signal.aborted;
      return log.stop(given);
    };
    const test = await TestHost.open({ rooms: [roomOf(held)], clock, log: interposed(log, { stop }) });
    await test.room.post({ text: "go" });
    const { turn } = await held.turn(0);
    await expect(test.room.stop()).rejects.toMatchObject({ code: "log_full" });
    expect(turn.signal.aborted).toBe(false);
    isFull = false;
    await test.room.stop();
    expect([abortedAtStop, turn.signal.aborted]).toEqual([false, true]);
  });

  it("R34 comes too late for a turn that ended before its runner was told", async () => {
    const clock = loopClock();
    const log = await openSqliteLog({ file: ":memory:", clock });
    const held = new HeldRunner();
    const stop: RoomLog["stop"] = async (given) => {
      const result = await log.stop(given);
      held.turns[0]?.say("just in time");
      return new Promise((resolve) => clock.defer(() => resolve(result)));
    };
    const test = await TestHost.open({ rooms: [roomOf(held)], clock, log: interposed(log, { stop }) });
    await test.room.post({ text: "go" });
    const { turn } = await held.turn(0);
    expect(await test.room.stop()).toMatchObject({ cancelled: 1 });
    await test.quiet();
    expect(turn.signal.aborted).toBe(false);
    expect(await test.told()).toEqual(["started m-a message", "settled m-a completed"]);
    expect(test.of("turn.settled")).toHaveLength(1);
  });

  it("R34 that its runner answers with a completed turn cancels it all the same, and keeps the text", async () => {
    const runner = runnerOf(
      (turn) =>
        new Promise((resolve) => {
          turn.emit({ type: "message.delta", payload: { text: "half" } });
          turn.signal.addEventListener("abort", () => resolve({ status: "completed" }));
        }),
    );
    const test = await TestHost.open({ rooms: [roomOf(runner)] });
    await test.room.post({ text: "go" });
    await until(() => test.of("message.delta").length === 1);
    await test.room.stop();
    await test.quiet();
    expect((await test.rows())[1]?.payload).toMatchObject({
      status: "cancelled",
      reason_code: "stopped",
      text: "half",
    });
  });

  it("R35 holds for the next host: what it was to stop is abandoned, and nobody runs it again", async () => {
    const clock = loopClock();
    const log = await openSqliteLog({ file: ":memory:", clock });
    const held = new HeldRunner();
    const safe = { kind: "test", rerun: "safe", run: held.run.bind(held), close: held.close.bind(held) } as const;
    // The host dies when the stop is stored, and before its runner hears of it.
    const stop: RoomLog["stop"] = async (given) => {
      await log.stop(given);
      await claim(log, "r1", "dead", goneProcess);
      throw new RoomtapError("closed", "the host died");
    };
    const rooms = [roomOf(safe, ["a", "b"])];
    const first = await TestHost.open({ rooms, clock, log: interposed(log, { stop }) });
    await first.room.post({ text: "go" });
    const { turn } = await held.turn(0);
    await expect(first.room.stop()).rejects.toMatchObject({ code: "closed" });
    expect(turn.signal.aborted).toBe(false);
    const next = await TestHost.open({ rooms, clock, log });
    await next.quiet();
    expect([held.turns.length, ...(await next.told())]).toEqual([1, "started m-a message", "settled m-a host_lost"]);
    expect((await next.room.state()).threads).toMatchObject([{ status: "stopped", owed: [] }]);
    await next.room.post({ text: "@b go on" });
    (await held.turn(1)).say("here");
    await next.quiet();
    expect((await next.told()).slice(2)).toEqual(["started m-b mention", "settled m-b completed"]);
  });
});

describe("a cancellation", () => {
  it("ends one turn and leaves the others of the room", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held, ["a", "b"])] });
    await test.room.post({ text: "@a one", thread_id: "t1" });
    await test.room.post({ text: "@b two", thread_id: "t2" });
    const [first, second] = [await held.turn(0), await held.turn(1)];
    expect(await test.room.cancel({ turnId: first.turn.turn_id })).toBe(1);
    expect([first.turn.signal.reason, second.turn.signal.aborted]).toEqual(["turn_cancelled", false]);
    first.end({ status: "cancelled" });
    second.say("done");
    await test.quiet();
    expect((await test.told()).slice(2).toSorted()).toEqual(["settled m-a turn_cancelled", "settled m-b completed"]);
    const again = test.room.cancel({ turnId: first.turn.turn_id });
    await expect(again).rejects.toMatchObject({ code: "unknown_turn" });
  });

  it("closes one post that waits, which is shown with the next and answered by nobody", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)] });
    await test.room.post({ text: "one" });
    await held.turn(0);
    const { message_id: messageId } = await test.room.post({ text: "two", thread_id: "side" });
    expect(await test.room.cancel({ messageId })).toBe(1);
    await expect(test.room.cancel({ messageId })).rejects.toMatchObject({ code: "unknown_message" });
    held.turns[0]?.say("done");
    await test.quiet();
    expect([held.turns.length, (await test.room.state()).inbox]).toMatchObject([
      1,
      [{ message_id: messageId, state: "closed" }],
    ]);
    await test.room.post({ text: "three", thread_id: "side" });
    const next = await held.turn(1);
    expect(next.turn.unseen.map(({ text }) => text)).toEqual(["two", "three"]);
    next.say("done");
    await test.quiet();
    expect((await test.room.state()).inbox).toEqual([]);
  });
});

describe("a roster that changes", () => {
  it("R44 cancels the turn of a member that is gone, and releases what it was owed", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held, ["a", "b"])] });
    await test.room.post({ text: "@a one" });
    const first = await held.turn(0);
    await test.room.post({ text: "@a two", thread_id: "side" });
    const before = (await test.rows())[0];
    const room = await test.room.setRoster([member("b", held), member("c", held)], { expectedRevision: 1 });
    expect([room.revision, room.members.map(({ member_id }) => member_id)]).toEqual([2, ["m-b", "m-c"]]);
    expect(first.turn.signal.reason).toBe("member_removed");
    const stale = test.room.setRoster([member("a", held)], { expectedRevision: 1 });
    await expect(stale).rejects.toMatchObject({ code: "revision_conflict" });
    first.end({ status: "cancelled" });
    await test.quiet();
    expect(await test.told()).toEqual(["started m-a mention", "settled m-a member_removed"]);
    expect((await test.room.state()).inbox).toMatchObject([{ thread_id: "side", owed: [] }]);
    await test.room.post({ text: "@c three" });
    const next = await held.turn(1);
    next.say("here");
    await test.quiet();
    const digests = (await test.rows()).flatMap((row) =>
      row.kind === "turn.started" ? [row.payload.roster_digest] : [],
    );
    expect(digests).toEqual([before?.kind === "turn.started" ? before.payload.roster_digest : "", room.roster_digest]);
    expect(digests[0]).not.toBe(digests[1]);
  });

  it("R44 in the config is a new revision at the next start, and the same one is none", async () => {
    const clock = loopClock();
    const log = await openSqliteLog({ file: ":memory:", clock });
    const revisions: number[] = [];
    for (const handles of [["a"], ["a"], ["a", "b"], ["b"]]) {
      const test = await TestHost.open({ rooms: [roomOf(says("hi"), handles)], clock, log });
      revisions.push(test.room.record.revision);
      await test.host.close();
    }
    expect(revisions).toEqual([1, 1, 2, 3]);
  });
});

describe("a room that is disbanded", () => {
  it("R60 cancels what runs, takes nothing more, and stays readable", async () => {
    const clock = loopClock();
    const log = await openSqliteLog({ file: ":memory:", clock });
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held, ["a", "b"])], clock, log });
    await test.room.post({ text: "go" });
    const { turn, end } = await held.turn(0);
    const first = await test.room.disband();
    expect([turn.signal.reason, first.disbanded_at]).toEqual(["room_disbanded", clock.now()]);
    end({ status: "cancelled" });
    await test.quiet();
    clock.advance(1_000);
    expect(await test.told()).toEqual(["started m-a message", "settled m-a room_disbanded"]);
    for (const call of [() => test.room.post({ text: "more" }), () => test.room.stop(), () => test.room.pause()]) {
      await expect(call()).rejects.toMatchObject({ code: "room_disbanded" });
    }
    expect(first.idempotent).toBe(false);
    expect(await test.room.disband()).toEqual({ ...first, idempotent: true });
    expect((await test.room.state()).room.disbanded_at).toBe(first.disbanded_at);
    await test.host.close();
    const again = TestHost.open({ rooms: [roomOf(held)], clock, log });
    await expect(again).rejects.toMatchObject({ code: "room_retired" });
    expect((await log.head("r1")).seq).toBe(2);
  });
});
