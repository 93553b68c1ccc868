import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { RoomtapError } from "../../../core/index.ts";
import { openSqliteLog, type Member, type RoomLog } from "../../../rooms/index.ts";
import { connect } from "../../../rooms/sqlite/database.ts";
import { interposed } from "../../support/interposed.ts";
import { claim, goneProcess, loopClock, temporaryFolder, turnsOfLoop } from "../../support/open-log.ts";
import { HeldRunner, member, roomOf, says, TestHost, until, type HeldTurn } from "../../support/open-room.ts";
import { coordinatesOf } from "../../support/turn-coordinates.ts";

const newFile = (): string => join(temporaryFolder(), "test.db");

interface TakenOver {
  /** The host whose clock stood still. */
  readonly stale: TestHost;
  readonly held: HeldTurn;
  readonly requestId: string;
  readonly staleHolder: string;
  /** The one that has the room now, with attempt 2 running. */
  readonly present: TestHost;
  readonly next: HeldTurn;
  readonly taskId: string;
}

/** A host stalls in a turn that asked something; another one takes the room over, and the turn is tried again. */
async function takenOver(): Promise<TakenOver> {
  const file = newFile();
  const [first, second] = [new HeldRunner(), new HeldRunner()];
  const stale = await TestHost.open({ rooms: [roomOf(first)], file });
  await stale.room.post({ text: "go" });
  const held = await first.turn(0);
  void held.turn.ask({ method: "approval", params: { command: "rm" } });
  const requestId = stale.tap.requests.open()[0]?.id ?? "";
  const staleHolder = (await stale.log.lease("r1")).holder;
  const present = await TestHost.open({ rooms: [roomOf(second)], file });
  await present.pass(14_750, 250);
  expect([present.room.isDriven, (await present.log.lease("r1")).generation]).toEqual([false, 1]);
  await present.pass(1_500, 250);
  expect([present.room.isDriven, (await present.log.lease("r1")).generation]).toEqual([true, 2]);
  const taskId = coordinatesOf(held.turn).task_id;
  await present.room.retry(taskId);
  return { stale, held, requestId, staleHolder, present, next: await second.turn(0), taskId };
}

describe("a host that lost a room", () => {
  it("C-050 R46 is refused six times, changes no row, and stops its runner", async () => {
    const { stale, held, requestId, staleHolder, present, next, taskId } = await takenOver();
    const before = [await present.rows(), await present.log.planInput("r1")];
    stale.clock.advance(5_000);
    await until(() => !stale.room.isDriven);
    expect([held.turn.signal.aborted, held.turn.signal.reason]).toEqual([true, "shutdown"]);
    expect(held.turn.emit({ type: "message.delta", payload: { text: "still here" } })).toBe("late_frame");
    expect(stale.tap.requests.answer(requestId, { choice: "once" }, "c-1")).toMatchObject({
      status: "already_resolved",
      outcome: { outcome: "cancelled" },
    });
    held.say("done");
    await until(() => stale.host.counters.refused_settles === 1);
    await expect(stale.room.stop()).rejects.toMatchObject({ code: "lease_lost" });
    expect(await stale.log.releaseLease("r1", 1, staleHolder)).toBe(false);
    // Its runner emits once more, behind the end that it wanted to tell.
    expect(stale.host.counters).toEqual({
      refused_renewals: 1,
      failed_renewals: 0,
      expired: 0,
      refused_settles: 1,
      refused_changes: 1,
      late_frames: 2,
      refused_answers: 1,
    });
    expect([await present.rows(), await present.log.planInput("r1")]).toEqual(before);
    expect(stale.notices.map(({ code, subject }) => [code, subject])).toEqual([["lease_lost", "r1"]]);
    next.say("attempt 2");
    await present.quiet();
    const rows = await present.rows();
    expect(rows.map((row) => [row.task_id === taskId, row.kind, row.execution_generation])).toEqual([
      [true, "turn.started", 1],
      [true, "turn.settled", 1],
      [true, "turn.started", 2],
      [true, "turn.settled", 2],
    ]);
    expect(await present.told()).toEqual([
      "started m-a message",
      "settled m-a host_lost",
      "started m-a retry",
      "settled m-a completed",
    ]);
  });

  it.each([
    ["a renewal", async ({ stale }: TakenOver) => stale.clock.advance(5_000)],
    ["a settle", async ({ held }: TakenOver) => held.say("done")],
    ["a stop", async ({ stale }: TakenOver) => stale.room.stop().catch(() => undefined)],
    ["a pause", async ({ stale }: TakenOver) => stale.room.pause().catch(() => undefined)],
    ["a roster", async ({ stale }: TakenOver) => stale.room.setRoster([member("z", null)]).catch(() => undefined)],
    ["an end of the room", async ({ stale }: TakenOver) => stale.room.disband().catch(() => undefined)],
  ])("C-050 I10 learns it by %s that is refused", async (what, act) => {
    const taken = await takenOver();
    const { stale, held, present } = taken;
    const before = [await present.rows(), await present.log.planInput("r1")];
    await act(taken);
    await until(() => !stale.room.isDriven);
    await turnsOfLoop(5);
    // One that had ended by itself is not asked to.
    expect(held.turn.signal.aborted).toBe(what !== "a settle");
    expect([await present.rows(), await present.log.planInput("r1")]).toEqual(before);
    expect(stale.notices.map(({ code }) => code)).toEqual(["lease_lost"]);
    const { refused_renewals, refused_settles, refused_changes } = stale.host.counters;
    expect(refused_renewals + refused_settles + refused_changes).toBe(1);
  });

  it("C-050 stops what it runs when it could not renew for a TTL, and drives on when it can again", async () => {
    const file = newFile();
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held, ["a", "b"])], file });
    await test.room.post({ text: "go" });
    const first = await held.turn(0);
    const other = connect(file);
    onTestFinished(() => void other.close());
    other.exec("BEGIN IMMEDIATE");
    await test.pass(14_500, 250);
    expect(first.turn.signal.aborted).toBe(false);
    await test.pass(1_000, 250);
    expect([first.turn.signal.aborted, test.room.isDriven, test.room.damage]).toEqual([true, false, null]);
    await test.pass(20_000, 250);
    other.exec("ROLLBACK");
    await test.pass(6_000, 250);
    expect(test.room.isDriven).toBe(true);
    (await held.turn(1)).say("b here");
    await test.quiet();
    expect(await test.told()).toEqual([
      "started m-a message",
      "settled m-a host_lost",
      "started m-b message",
      "settled m-b completed",
    ]);
    expect(test.host.counters).toMatchObject({ expired: 1, refused_settles: 1 });
  });
});

describe("a room that another host drives", () => {
  it("takes posts, is driven there, and here when it was given back", async () => {
    const file = newFile();
    const [here, there] = [new HeldRunner(), new HeldRunner()];
    const first = await TestHost.open({ rooms: [roomOf(there)], file });
    const second = await TestHost.open({ rooms: [roomOf(here)], file });
    await expect(second.room.pause()).rejects.toMatchObject({ code: "lease_lost" });
    expect(await second.room.post({ text: "hello" })).toMatchObject({ addressed: ["m-a"], duplicate: false });
    await first.pass(300);
    (await there.turn(0)).say("from there");
    await first.quiet();
    await first.close();
    await second.room.post({ text: "again" });
    await second.pass(1_250, 250);
    (await here.turn(0)).say("from here");
    await second.quiet();
    expect(await second.told()).toEqual([
      "started m-a message",
      "settled m-a completed",
      "started m-a message",
      "settled m-a completed",
    ]);
    expect((await second.log.lease("r1")).generation).toBe(2);
  });

  it("is taken over at once when its host has died on this machine", async () => {
    const file = newFile();
    const clock = loopClock();
    const log = await openSqliteLog({ file, clock });
    await log.putRoom({ room_id: "r1", name: "r1", members: [], roster_digest: "d" });
    await claim(log, "r1", "dead", goneProcess);
    await log.close();
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))], file });
    expect([test.room.isDriven, (await test.log.lease("r1")).generation, test.clock.monotonic()]).toEqual([true, 2, 0]);
  });

  it("names whom a post addresses by the roster that it has there", async () => {
    const file = newFile();
    const first = await TestHost.open({ rooms: [roomOf(says("hi"))], file });
    const second = await TestHost.open({ rooms: [roomOf(says("hi"))], file });
    await first.room.setRoster([member("a", says("hi")), member("z", says("hi"))]);
    expect(await second.room.post({ text: "@z hello" })).toMatchObject({ addressed: ["m-z"], unresolved: [] });
  });

  it("can be closed while it is waited for, and leaves no timer", async () => {
    const file = newFile();
    const first = await TestHost.open({ rooms: [roomOf(says("hi"))], file });
    const second = await TestHost.open({ rooms: [roomOf(says("hi"))], file });
    await second.host.close();
    await first.host.close();
    const third = await TestHost.open({ rooms: [roomOf(says("hi"))], file });
    expect([third.room.isDriven, (await third.log.lease("r1")).generation]).toEqual([true, 2]);
  });

  it("C-059 has the next turn within one poll, whatever the old host still holds", async () => {
    const file = newFile();
    const [first, second] = [new HeldRunner(), new HeldRunner()];
    const members = (runner: HeldRunner) => [member("a", runner), member("b", runner)];
    const stale = await TestHost.open({ rooms: [{ room_id: "r1", members: members(first) }], file });
    await stale.room.post({ text: "go" });
    await first.turn(0);
    const bad = { member_id: "m-x", handle: "not a handle", display_name: "X", runner_kind: "test" } satisfies Member;
    const clock = loopClock();
    const log = await openSqliteLog({ file, clock });
    const planInput: RoomLog["planInput"] = async (roomId) => {
      const input = await log.planInput(roomId);
      return input && { ...input, room: { ...input.room, members: [bad, ...input.room.members] } };
    };
    const rooms = [{ room_id: "r1", members: members(second) }];
    const present = await TestHost.open({ rooms, clock, log: interposed(log, { planInput }) });
    await present.pass(15_000, 250);
    await present.pass(1_000, 250);
    const { turn, say } = await second.turn(0);
    expect([coordinatesOf(turn).member_id, present.clock.monotonic()]).toEqual(["m-b", 16_000]);
    expect(await present.told()).toEqual(["started m-a message", "settled m-a host_lost", "started m-b message"]);
    say("b here");
    await present.quiet();
    expect(present.notices.map(({ code, subject }) => [code, subject])).toEqual([["invalid_roster", "r1"]]);
  });
});

describe("recovery", () => {
  it("that the database refuses for now is told and tried again, and the room is no less writable", async () => {
    const clock = loopClock();
    const log = await openSqliteLog({ file: ":memory:", clock });
    let refusals = 0;
    const claimLease: RoomLog["claimLease"] = async (given) => {
      if (given.seen.generation >= 1 && refusals++ < 2) throw new RoomtapError("log_busy", "locked");
      return log.claimLease(given);
    };
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))], clock, log: interposed(log, { claimLease }) });
    // Somebody takes the room and dies.
    await claim(log, "r1", "dead", goneProcess);
    test.room.pump();
    await test.pass(16_000, 250);
    expect([refusals, test.room.isDriven, test.room.damage]).toEqual([3, true, null]);
    await test.room.post({ text: "go" });
    await test.quiet();
    expect(await test.told()).toEqual(["started m-a message", "settled m-a completed"]);
    expect(test.notices.map(({ code }) => code)).toEqual(["lease_lost", "log_busy"]);
  });

  it("that the database refuses when a host opens is a fault of opening, and gives the room back", async () => {
    const clock = loopClock();
    const log = await openSqliteLog({ file: ":memory:", clock });
    const checkpoint: RoomLog["checkpoint"] = () => Promise.reject(new RoomtapError("log_unavailable", "gone"));
    const opening = TestHost.open({ rooms: [roomOf(says("hi"))], clock, log: interposed(log, { checkpoint }) });
    await expect(opening).rejects.toMatchObject({ code: "log_unavailable" });
    expect(await log.lease("r1")).toMatchObject({ generation: 1, released: true });
  });
});
