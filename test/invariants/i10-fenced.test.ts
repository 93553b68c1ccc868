import { describe, expect, it } from "vitest";
import { openSqliteLog, type SqliteRoomLog } from "../../rooms/index.ts";
import { eventsOf, openBus } from "../support/bus.ts";
import { claim, loopClock, members, ownRoom, postOf, roomOf, settleOf, startOf } from "../support/open-log.ts";

/** What a holder of a lease may do to a room, beside letting time pass. */
const writes: readonly (readonly [string, (log: SqliteRoomLog, generation: number) => Promise<unknown>])[] = [
  ["start a turn", (log, lease) => append(log, lease, startOf("two", { generation: 1 }))],
  ["settle one", (log, lease) => append(log, lease, settleOf("one"))],
  ["stop", (log, lease) => log.stop({ ...fence(lease), cancel_id: "x1", cancelled: 1 })],
  ["close a post", (log, lease) => log.closePost({ ...fence(lease), message_id: "msg-1" })],
  ["pause", (log, lease) => log.setPaused({ ...fence(lease), member_ids: ["m-a"], paused: true })],
  ["ask for a retry", (log, lease) => log.putRetry({ ...fence(lease), ...retry })],
  [
    "change the roster",
    (log, lease) => log.putRoom({ ...roomOf("r1"), members: members.slice(1), lease_generation: lease }),
  ],
  ["disband", (log, lease) => log.disband(fence(lease))],
  ["store a checkpoint", (log, lease) => log.putCheckpoint({ ...fence(lease), ...checkpoint })],
];

const retry = { task_id: "k-one", execution_generation: 1, origin: null, cause: "retry" } as const;
const checkpoint = { version: 1, through_seq: 1, log_hash: "h", digest: "d", state: "{}" };
const fence = (lease_generation: number) => ({ room_id: "r1", lease_generation });

async function append(log: SqliteRoomLog, lease_generation: number, row: ReturnType<typeof startOf>): Promise<unknown> {
  const { seq } = await log.head("r1");
  return log.append({ room_id: "r1", rows: [row], inbox: [], expected_seq: seq, lease_generation });
}

describe("I10 fenced", () => {
  it.each(writes)(
    "I10 a lease that went to another, or was given back, does not let its holder %s",
    async (_, write) => {
      const log = await openSqliteLog({ file: ":memory:", clock: loopClock() });
      const generation = await ownRoom(log);
      await log.accept(postOf("hello", { message_id: "msg-1" }));
      await append(log, generation, startOf("one"));
      const contents = async () => {
        const { lease: _lease, ...rest } = (await log.planInput("r1")) ?? {};
        return JSON.stringify([rest, await log.read("r1", { after_seq: 0 }), await log.checkpoint("r1")]);
      };
      const before = await contents();
      const next = await claim(log, "r1", "other");
      for (const stale of [generation, next + 1, 0]) {
        expect(await write(log, stale)).toMatchObject({ status: "lease_lost", generation: next });
      }
      expect(await log.renewLeases([{ room_id: "r1", generation }], "test")).toEqual(["r1"]);
      expect(await log.releaseLease("r1", generation, "test")).toBe(false);
      await log.releaseLease("r1", next, "other");
      expect(await write(log, next)).toMatchObject({ status: "lease_lost" });
      expect(await contents()).toBe(before);
      // What was refused is allowed under the present lease.
      const status = await write(log, await claim(log, "r1", "third"));
      expect(status).not.toMatchObject({ status: "lease_lost" });
      expect(await contents()).not.toBe(before);
      await log.close();
    },
  );

  it("I10 an attempt that was given up writes no frame, asks nothing, and takes no answer", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.begin();
    const outcome = bus.tap.requests.ask(attempt, { method: "approval", params: { command: "rm" } });
    const [request] = bus.tap.requests.open();
    bus.tap.seal(attempt, "shutdown");
    expect(bus.tap.emit(attempt, { type: "message.delta", payload: { text: "late" } })).toBe("late_frame");
    expect(bus.tap.requests.answer(request?.id ?? "", { choice: "once" }, "c-1").status).toBe("already_resolved");
    expect(await bus.tap.requests.ask(attempt, { method: "approval", params: {} })).toMatchObject({
      outcome: "cancelled",
    });
    expect(await outcome).toMatchObject({ outcome: "cancelled", reason: "shutdown" });
    await bus.idle();
    expect(eventsOf(events, "message.delta")).toEqual([]);
    expect([bus.tap.seam.refused("late_frame"), bus.tap.requests.refusedAnswers]).toEqual([1, 1]);
  });
});
