import { describe, expect, it } from "vitest";
import { limits } from "../../core/index.ts";
import type { Append, RoomLog } from "../../rooms/index.ts";
import { ownRoom, postOf, roomOf, settleOf, startOf } from "../support/open-log.ts";
import type { LogUnderTest } from "./room-log.contract.ts";

type Open = () => Promise<LogUnderTest>;

const mine = { room_id: "r1", lease_generation: 1 };
const appendOf = (rows: Append["rows"], expected_seq: number, more: Partial<Append> = {}): Append => ({
  ...mine,
  rows,
  inbox: [],
  expected_seq,
  ...more,
});
const retryOf = (name: string, execution_generation = 1) =>
  ({ ...mine, task_id: `k-${name}`, execution_generation, origin: "c-1", cause: "retry" }) as const;

const owedOf = async (log: RoomLog) => (await log.inbox("r1")).map(({ message_id, owed }) => [message_id, owed]);

/** What an engine must answer right about changes of a room beside its rows. */
export function roomChangesContract(engine: string, open: Open): void {
  stopContract(engine, open);
  waitingContract(engine, open);
  rosterContract(engine, open);
  renameContract(engine, open);
  disbandContract(engine, open);
  checkpointContract(engine, open);
  watchContract(engine, open);
}

function stopContract(engine: string, open: Open): void {
  describe(`${engine}: stop and pause`, () => {
    it("R33 draws the fence, closes what waits, and gives a repeated cancel_id the first answer", async () => {
      const { log, reopen } = await open();
      await ownRoom(log);
      await log.accept(postOf("one", { message_id: "msg-1" }));
      await log.accept(postOf("two", { message_id: "msg-2" }));
      const inbox = [{ message_id: "msg-1", member_id: "m-a" }];
      await log.append(appendOf([startOf("1")], 0, { inbox }));
      await log.putRetry(retryOf("old"));
      const first = await log.stop({ ...mine, cancel_id: "cancel-1", cancelled: 1 });
      expect(first).toEqual({ status: "stopped", fence: { post_number: 2, seq: 1 }, cancelled: 1 });
      // The row carries the first post; the second stays as context.
      expect(await owedOf(log)).toEqual([["msg-2", []]]);
      await log.append(appendOf([settleOf("1")], 1));
      await log.accept(postOf("three", { message_id: "msg-3" }));
      const again = await reopen();
      const repeated = await again.stop({ ...mine, cancel_id: "cancel-1", cancelled: 0 });
      expect(repeated).toEqual({ status: "repeated", fence: { post_number: 2, seq: 1 }, cancelled: 1 });
      expect(await again.planInput("r1")).toMatchObject({
        room: { stop: { post_number: 2, seq: 1 } },
        inbox: [{ message_id: "msg-2" }, { message_id: "msg-3", owed: ["m-a", "m-b", "m-c"] }],
        retries: [],
      });
    });

    it("of a room without a post or a row draws the fence at 0", async () => {
      const { log } = await open();
      await ownRoom(log);
      const stop = { ...mine, cancel_id: null, cancelled: 0 };
      const stopped = { status: "stopped", fence: { post_number: 0, seq: 0 }, cancelled: 0 };
      expect(await log.stop(stop)).toEqual(stopped);
      expect(await log.stop(stop)).toEqual(stopped);
    });

    it.each([
      [limits.maxKeptStops - 1, "repeated"],
      [limits.maxKeptStops, "stopped"],
    ])("a cancel_id that %i younger ones followed is %s", async (younger, status) => {
      const { log } = await open();
      await ownRoom(log);
      const ids = Array.from({ length: younger }, (_, index) => `younger-${index}`);
      const stops = ["first", ...ids].map((cancel_id) => log.stop({ ...mine, cancel_id, cancelled: 0 }));
      await Promise.all(stops);
      expect(await log.stop({ ...mine, cancel_id: "first", cancelled: 0 })).toMatchObject({ status });
    });

    it("closes one post, once", async () => {
      const { log } = await open();
      await ownRoom(log);
      await log.accept(postOf("one", { message_id: "msg-1" }));
      await log.accept(postOf("two", { message_id: "msg-2" }));
      const close = (message_id: string) => log.closePost({ ...mine, message_id });
      const results = [await close("msg-1"), await close("msg-1"), await close("msg-9")];
      expect(results.map(({ status }) => status)).toEqual(["closed", "unknown_message", "unknown_message"]);
      expect(await owedOf(log)).toEqual([
        ["msg-1", []],
        ["msg-2", ["m-a", "m-b", "m-c"]],
      ]);
    });

    it("lets a closed post go with the row that carries it as context", async () => {
      const { log } = await open();
      await ownRoom(log);
      await log.accept(postOf("one", { message_id: "msg-1" }));
      await log.closePost({ ...mine, message_id: "msg-1" });
      const inbox = [{ message_id: "msg-1", member_id: "m-b" }];
      await log.append(appendOf([startOf("1")], 0, { inbox }));
      expect(await log.inbox("r1")).toEqual([]);
    });

    it("R32 keeps who is paused, in order of ids, over a restart", async () => {
      const { log, reopen } = await open();
      await ownRoom(log);
      const pause = (member_ids: string[], paused: boolean) => log.setPaused({ ...mine, member_ids, paused });
      expect(await pause(["m-c", "m-zz"], true)).toEqual({ status: "set", paused: ["m-c"] });
      expect(await pause(["m-a", "m-c"], true)).toEqual({ status: "set", paused: ["m-a", "m-c"] });
      expect((await log.room("r1"))?.revision).toBe(1);
      const again = await reopen();
      expect((await again.room("r1"))?.paused).toEqual(["m-a", "m-c"]);
      expect(await again.setPaused({ ...mine, member_ids: ["m-a"], paused: false })).toMatchObject({ paused: ["m-c"] });
    });
  });
}

function waitingContract(engine: string, open: Open): void {
  describe(`${engine}: retries and due times`, () => {
    it("R42 keeps a retry until a row carries it out", async () => {
      const { log, reopen } = await open();
      await ownRoom(log);
      await log.append(appendOf([startOf("1"), settleOf("1")], 0));
      expect(await log.putRetry(retryOf("2"))).toEqual({ status: "stored" });
      expect(await log.putRetry(retryOf("1"))).toEqual({ status: "stored" });
      expect(await log.putRetry({ ...retryOf("1"), origin: "somebody else" })).toEqual({ status: "stored" });
      const again = await reopen();
      const kept = { room_id: "r1", execution_generation: 1, origin: "c-1", cause: "retry" };
      const stored = [
        { ...kept, task_id: "k-2" },
        { ...kept, task_id: "k-1" },
      ];
      expect((await again.planInput("r1"))?.retries).toEqual(stored);
      const retries = [{ task_id: "k-1", execution_generation: 1 }];
      const start = appendOf([startOf("1", { generation: 2 })], 2, { retries });
      expect((await again.append({ ...start, expected_seq: 7 })).status).toBe("position_conflict");
      expect((await again.planInput("r1"))?.retries).toHaveLength(2);
      expect((await again.append(start)).status).toBe("appended");
      expect((await again.planInput("r1"))?.retries).toEqual([stored[0]]);
    });

    it("keeps the retry of the later attempt", async () => {
      const { log } = await open();
      await ownRoom(log);
      await log.putRetry(retryOf("1", 2));
      await log.putRetry(retryOf("1", 1));
      expect((await log.planInput("r1"))?.retries).toMatchObject([{ execution_generation: 2 }]);
      await log.putRetry({ ...retryOf("1", 3), cause: "auto_continue" });
      expect((await log.planInput("r1"))?.retries).toMatchObject([{ execution_generation: 3, cause: "auto_continue" }]);
      const retries = [{ task_id: "k-1", execution_generation: 2 }];
      await log.append(appendOf([startOf("2")], 0, { retries }));
      expect((await log.planInput("r1"))?.retries).toHaveLength(1);
    });

    it("R21 counts retries with the posts of the inbox", async () => {
      const { log } = await open();
      await ownRoom(log);
      await Promise.all(Array.from({ length: 1_022 }, (_, index) => log.accept(postOf(`post ${index}`))));
      expect(await log.putRetry(retryOf("1"))).toEqual({ status: "stored" });
      expect((await log.accept(postOf("the last"))).status).toBe("accepted");
      expect(await log.putRetry(retryOf("2"))).toMatchObject({ status: "inbox_full" });
      expect(await log.putRetry(retryOf("1", 2))).toEqual({ status: "stored" });
      expect((await log.accept(postOf("one more"))).status).toBe("inbox_full");
      const retries = [{ task_id: "k-1", execution_generation: 2 }];
      await log.append(appendOf([startOf("1")], 0, { retries }));
      expect((await log.accept(postOf("one more"))).status).toBe("accepted");
    });

    it("R41 stores a due time with the settle and forgets it with the start", async () => {
      const { log, reopen } = await open();
      await ownRoom(log);
      const put = (name: string, due_at: number) => ({
        put: { task_id: `k-${name}`, execution_generation: 1, due_at },
      });
      await log.append(appendOf([startOf("1"), settleOf("1")], 0, { due: put("1", 5_000) }));
      await log.append(appendOf([startOf("2"), settleOf("2")], 2, { due: put("2", 3_000) }));
      expect((await log.append(appendOf([startOf("3")], 9, { due: put("3", 1) }))).status).toBe("position_conflict");
      const again = await reopen();
      const due = { room_id: "r1", execution_generation: 1 };
      expect((await again.planInput("r1"))?.due).toEqual([
        { ...due, task_id: "k-2", due_at: 3_000 },
        { ...due, task_id: "k-1", due_at: 5_000 },
      ]);
      await again.append(appendOf([startOf("1", { generation: 2 })], 4, { due: { take: ["k-1"] } }));
      expect((await again.planInput("r1"))?.due).toMatchObject([{ task_id: "k-2" }]);
    });

    it("keeps the due times that come first, 256 of a room", async () => {
      const { log } = await open();
      await ownRoom(log);
      const appends = Array.from({ length: limits.maxDueTimes + 1 }, (_, index) => {
        const put = { task_id: `k-${index}`, execution_generation: 1, due_at: 1_000 - index };
        return log.append(appendOf([startOf(`${index}`)], index, { due: { put } }));
      });
      await Promise.all(appends);
      const due = (await log.planInput("r1"))?.due ?? [];
      expect([due.length, due[0]?.task_id, due.at(-1)?.task_id]).toEqual([256, "k-256", "k-1"]);
    });
  });
}

function rosterContract(engine: string, open: Open): void {
  describe(`${engine}: roster`, () => {
    const room = roomOf("r1");
    const without = { ...room, members: room.members.slice(1) };

    it("R44 takes a removed member off every post, and off the paused ones", async () => {
      const { log } = await open();
      await ownRoom(log);
      await log.accept(postOf("to all", { message_id: "msg-1" }));
      await log.accept(postOf("to a", { message_id: "msg-2", owed: ["m-a"] }));
      await log.accept(postOf("to a again", { message_id: "msg-3", owed: ["m-a", "m-b"] }));
      await log.setPaused({ ...mine, member_ids: ["m-a", "m-b"], paused: true });
      const inbox = [{ message_id: "msg-3", member_id: "m-b" }];
      await log.append(appendOf([startOf("1")], 0, { inbox }));
      const stored = await log.putRoom({ ...without, expected_revision: 1, lease_generation: 1 });
      expect(stored).toMatchObject({ status: "stored", room: { revision: 2, paused: ["m-b"] } });
      // A row carries the third.
      expect(await owedOf(log)).toEqual([
        ["msg-1", ["m-b", "m-c"]],
        ["msg-2", []],
      ]);
    });

    it("R44 refuses a change that was decided upon an old revision", async () => {
      const { log } = await open();
      const create = { ...room, expected_revision: 0 };
      expect((await log.putRoom(create)).status).toBe("stored");
      expect((await log.putRoom(create)).status).toBe("revision_conflict");
      expect((await log.putRoom({ ...without, expected_revision: 1 })).status).toBe("stored");
      const old = await log.putRoom({ ...room, expected_revision: 1 });
      expect(old).toEqual({ status: "revision_conflict", message: "room r1 is at revision 2, expected 1" });
      expect((await log.room("r1"))?.members).toEqual(without.members);
    });

    it("gives the id of a removed member to nobody else", async () => {
      const { log } = await open();
      await log.putRoom(room);
      await log.putRoom(without);
      const [first, ...others] = room.members;
      const another = { ...room, members: [{ ...first, member_id: "m-a", handle: "zoe" }, ...others] } as typeof room;
      expect(await log.putRoom(another)).toMatchObject({ status: "invalid_roster" });
      expect(await log.room("r1")).toMatchObject({ revision: 2, members: without.members });
      expect(await log.putRoom(room)).toMatchObject({ status: "stored", room: { revision: 3 } });
      // While it is there, a member may change its handle.
      expect(await log.putRoom(another)).toMatchObject({ status: "stored", room: { revision: 4 } });
    });
  });
}

function renameContract(engine: string, open: Open): void {
  describe(`${engine}: renames`, () => {
    const named = (name: string, event_id: string) => ({ ...mine, event_id, name });

    it("I9 give one answer per event id, also after a restart and later renames", async () => {
      const { log, reopen } = await open();
      await ownRoom(log);
      const first = await log.rename(named("Kitchen", "e1"));
      expect(first).toMatchObject({ status: "renamed", room: { name: "Kitchen", revision: 2, members: [{}, {}, {}] } });
      await log.rename(named("Cellar", "e2"));
      const again = await reopen();
      expect(await again.rename(named("Kitchen", "e1"))).toEqual({ ...first, status: "repeated" });
      expect((await again.rename(named("Attic", "e1"))).status).toBe("idempotency_conflict");
      expect(await again.room("r1")).toMatchObject({ name: "Cellar", revision: 3 });
    });

    it("are the holder's of the lease, and of a room that is not disbanded", async () => {
      const { log } = await open();
      await ownRoom(log);
      const stale = { ...named("x", "e1"), lease_generation: 2 };
      expect((await log.rename(stale)).status).toBe("lease_lost");
      await log.disband(mine);
      expect((await log.rename(named("x", "e1"))).status).toBe("room_disbanded");
    });

    it("I8 are known for 30 days", async () => {
      const { log, setBack } = await open();
      await ownRoom(log);
      await log.rename(named("Kitchen", "old"));
      setBack(-limits.receiptMs);
      await log.rename(named("Cellar", "e1"));
      expect((await log.rename(named("Attic", "old"))).status).toBe("idempotency_conflict");
      setBack(-1);
      await log.rename(named("Cellar", "e2"));
      expect((await log.rename(named("Attic", "old"))).status).toBe("renamed");
    });
  });
}

function disbandContract(engine: string, open: Open): void {
  describe(`${engine}: disband`, () => {
    it("R60 closes a room for good, and gives a repeat the first time", async () => {
      const { log, setBack, reopen } = await open();
      await ownRoom(log);
      await log.accept(postOf("one", { message_id: "msg-1" }));
      await log.append(appendOf([startOf("1")], 0));
      const first = await log.disband(mine);
      expect(first.status).toBe("disbanded");
      setBack(-5_000);
      const again = await reopen();
      await again.releaseLease("r1", 1, "test");
      expect(await again.disband(mine)).toEqual({ ...first, status: "repeated" });
      const stop = again.stop({ ...mine, cancel_id: null, cancelled: 0 });
      expect((await stop).status).toBe("room_disbanded");
      expect((await again.accept(postOf("two"))).status).toBe("room_disbanded");
      expect((await again.putRoom(roomOf("r1"))).status).toBe("room_disbanded");
      expect((await again.putRetry(retryOf("1"))).status).toBe("room_disbanded");
      expect(await owedOf(again)).toEqual([["msg-1", []]]);
      expect((await again.read("r1", { after_seq: 0 })).rows).toHaveLength(1);
    });

    it("lets what is open be settled, and nothing start", async () => {
      const { log } = await open();
      await ownRoom(log);
      await log.append(appendOf([startOf("1")], 0));
      await log.disband(mine);
      expect((await log.append(appendOf([startOf("2")], 1))).status).toBe("room_disbanded");
      expect((await log.append(appendOf([settleOf("1")], 1))).status).toBe("appended");
    });

    it("makes room for another one, up to 256 that are not disbanded", async () => {
      const { log } = await open();
      await ownRoom(log);
      await Promise.all(Array.from({ length: limits.maxRooms - 1 }, (_, index) => log.putRoom(roomOf(`x${index}`))));
      expect((await log.putRoom(roomOf("more"))).status).toBe("too_many_rooms");
      await log.disband(mine);
      expect((await log.putRoom(roomOf("more"))).status).toBe("stored");
    });
  });
}

function checkpointContract(engine: string, open: Open): void {
  describe(`${engine}: stored checkpoints`, () => {
    const stored = { version: 1, through_seq: 2, log_hash: "1".repeat(64), digest: "d", state: '{"a":1}' };

    it("come back as they are, and the later one stays", async () => {
      const { log, reopen } = await open();
      await ownRoom(log);
      expect(await log.checkpoint("r1")).toBeUndefined();
      await log.append(appendOf([startOf("1"), settleOf("1"), startOf("2")], 0));
      expect(await log.putCheckpoint({ ...mine, ...stored })).toEqual({ status: "stored" });
      await log.putCheckpoint({ ...mine, ...stored, through_seq: 1 });
      const again = await reopen();
      expect(await again.checkpoint("r1")).toEqual(stored);
      await again.putCheckpoint({ ...mine, ...stored, through_seq: 3 });
      expect(await again.checkpoint("r1")).toEqual({ ...stored, through_seq: 3 });
    });

    it.each([
      ["of another version", { version: 2 }],
      ["ahead of the log", { through_seq: 25 }],
      ["of the same row", { log_hash: "2".repeat(64) }],
    ])("give way when they are %s", async (_, wrong) => {
      const { log } = await open();
      await ownRoom(log);
      await log.append(appendOf([startOf("1"), settleOf("1"), startOf("2")], 0));
      await log.putCheckpoint({ ...mine, ...stored, ...wrong });
      await log.putCheckpoint({ ...mine, ...stored });
      expect(await log.checkpoint("r1")).toEqual(stored);
    });
  });
}

function watchContract(engine: string, open: Open): void {
  describe(`${engine}: watch`, () => {
    it("tells of each room that a commit was about, until it is undone", async () => {
      const { log } = await open();
      await ownRoom(log);
      await ownRoom(log, "r2");
      const told: unknown[] = [];
      const undo = log.watch((roomIds) => told.push(roomIds && [...roomIds].toSorted()));
      await Promise.all([log.accept(postOf("one")), log.accept(postOf("two", { room_id: "r2" }))]);
      expect(told).toEqual([["r1", "r2"]]);
      await log.setPaused({ ...mine, member_ids: ["m-a"], paused: true });
      // Neither changes what waits.
      await log.renewLeases([{ room_id: "r1", generation: 1 }], "test");
      await log.putCheckpoint({ ...mine, version: 1, through_seq: 0, log_hash: "", digest: "", state: "{}" });
      expect(told).toEqual([["r1", "r2"], ["r1"]]);
      undo();
      undo();
      await log.accept(postOf("three"));
      expect(told).toHaveLength(2);
    });

    it("goes on with the others when a listener throws", async () => {
      const { log } = await open();
      await ownRoom(log);
      let told = 0;
      log.watch(() => {
        throw new Error("a bad listener");
      });
      log.watch(() => void (told += 1));
      expect((await log.accept(postOf("one"))).status).toBe("accepted");
      expect(told).toBe(1);
    });

    it("is refused by a closed log", async () => {
      const { log } = await open();
      await log.close();
      expect(() => log.watch(() => undefined)).toThrow(expect.objectContaining({ code: "closed" }));
    });
  });
}
