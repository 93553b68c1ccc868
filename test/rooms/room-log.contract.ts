import { describe, expect, it } from "vitest";
import type { AppendResult, RoomLog } from "../../rooms/index.ts";
import { postOf, ownRoom, roomOf, settleOf, startOf } from "../support/open-log.ts";

/** What the suite needs of an engine. */
export interface LogUnderTest {
  readonly log: RoomLog;
  /** Sets the wall clock back. */
  readonly setBack: (ms: number) => void;
  /** Closes the store and opens it again. */
  readonly reopen: () => Promise<RoomLog>;
}

const statuses = (results: readonly AppendResult[], status: AppendResult["status"]): number =>
  results.filter((result) => result.status === status).length;

type Open = () => Promise<LogUnderTest>;

/** The questions that each engine of `RoomLog` must answer right. */
export function roomLogContract(engine: string, open: Open): void {
  appendContract(engine, open);
  inboxContract(engine, open);
  pageContract(engine, open);
}

function appendContract(engine: string, open: Open): void {
  describe(`${engine}: append`, () => {
    it("gives rows consecutive numbers, times and a chain of hashes", async () => {
      const { log } = await open();
      await ownRoom(log, "r1");
      const first = await log.append({
        room_id: "r1",
        rows: [startOf("1")],
        inbox: [],
        expected_seq: 0,
        lease_generation: 1,
      });
      const second = await log.append({
        room_id: "r1",
        rows: [settleOf("1"), startOf("2")],
        inbox: [],
        expected_seq: 1,
        lease_generation: 1,
      });
      const rows = [first, second].flatMap((result) => (result.status === "appended" ? result.rows : []));
      expect(rows.map((row) => row.seq)).toEqual([1, 2, 3]);
      expect(rows[0]?.prev_hash).toBe("0".repeat(64));
      expect(rows.slice(1).map((row) => row.prev_hash)).toEqual(rows.slice(0, 2).map((row) => row.hash));
      expect((await log.read("r1", { after_seq: 0 })).rows).toEqual(rows);
      expect(await log.head("r1")).toEqual({ seq: 3, hash: rows[2]?.hash });
    });

    it("R4 answers a repeated row with the first one and refuses other content", async () => {
      const { log } = await open();
      await ownRoom(log, "r1");
      const append = { room_id: "r1", rows: [startOf("1")], inbox: [], expected_seq: 0, lease_generation: 1 };
      const first = await log.append(append);
      const again = await log.append(append);
      const other = await log.append({ ...append, rows: [startOf("1", { text: "other" })] });
      expect(first.status).toBe("appended");
      expect(again).toEqual({ status: "exists", rows: first.status === "appended" ? first.rows : [] });
      expect(other.status).toBe("log_conflict");
      expect((await log.head("r1")).seq).toBe(1);
    });

    it("refuses an append of which only a part is new", async () => {
      const { log } = await open();
      await ownRoom(log, "r1");
      await log.append({ room_id: "r1", rows: [startOf("1")], inbox: [], expected_seq: 0, lease_generation: 1 });
      const mixed = await log.append({
        room_id: "r1",
        rows: [startOf("1"), startOf("2")],
        inbox: [],
        expected_seq: 1,
        lease_generation: 1,
      });
      expect(mixed.status).toBe("log_conflict");
      expect((await log.head("r1")).seq).toBe(1);
    });

    it("R5 C-086 lets one of 20 writers win each position and tells the others", { timeout: 60_000 }, async () => {
      const { log } = await open();
      await ownRoom(log, "r1");
      for (let round = 0; round < 50; round++) {
        const writers = Array.from({ length: 20 }, (_, writer) =>
          log.append({
            room_id: "r1",
            rows: [startOf(`${round}-${writer}`)],
            inbox: [],
            expected_seq: round,
            lease_generation: 1,
          }),
        );
        const results = await Promise.all(writers);
        expect(statuses(results, "appended")).toBe(1);
        const losers = results.filter((result) => result.status === "position_conflict");
        expect(losers.map((loser) => loser.seq)).toEqual(Array.from({ length: 19 }, () => round + 1));
      }
      const { rows } = await log.read("r1", { after_seq: 0 });
      expect(rows.map((row) => row.seq)).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
    });

    it("keeps a refused append from hurting others of its tick", async () => {
      const { log } = await open();
      await ownRoom(log, "r1");
      await ownRoom(log, "r2");
      const results = await Promise.all([
        log.append({ room_id: "r1", rows: [startOf("1")], inbox: [], expected_seq: 0, lease_generation: 1 }),
        log.append({ room_id: "r1", rows: [startOf("2")], inbox: [], expected_seq: 7, lease_generation: 1 }),
        log.append({
          room_id: "r9",
          rows: [startOf("3", { room: "r9" })],
          inbox: [],
          expected_seq: 0,
          lease_generation: 1,
        }),
        log.append({
          room_id: "r2",
          rows: [startOf("4", { room: "r2" })],
          inbox: [],
          expected_seq: 0,
          lease_generation: 1,
        }),
        log.append({ room_id: "r1", rows: [settleOf("1")], inbox: [], expected_seq: 1, lease_generation: 1 }),
      ]);
      expect(results.map((result) => result.status)).toEqual([
        "appended",
        "position_conflict",
        "unknown_room",
        "appended",
        "appended",
      ]);
    });

    it("refuses a row that is none, or of another room, before anything is written", async () => {
      const { log } = await open();
      await ownRoom(log, "r1");
      const start = startOf("1");
      const noThread = { ...start, coordinates: { ...start.coordinates, thread_id: "" } };
      const refusals = [noThread, startOf("1", { room: "r2" }), startOf("1", { text: "\ud800" })];
      for (const row of refusals) {
        const append = log.append({ room_id: "r1", rows: [row], inbox: [], expected_seq: 0, lease_generation: 1 });
        await expect(append).rejects.toMatchObject({ code: "invalid_params" });
      }
      expect(await log.head("r1")).toEqual({ seq: 0, hash: "0".repeat(64) });
    });

    it("C-058 orders rows by seq when the wall clock is set back", async () => {
      const { log, setBack } = await open();
      await ownRoom(log, "r1");
      await log.append({ room_id: "r1", rows: [startOf("1")], inbox: [], expected_seq: 0, lease_generation: 1 });
      setBack(600_000);
      await log.append({ room_id: "r1", rows: [settleOf("1")], inbox: [], expected_seq: 1, lease_generation: 1 });
      const { rows } = await log.read("r1", { after_seq: 0 });
      expect(rows.map((row) => row.kind)).toEqual(["turn.started", "turn.settled"]);
      expect((rows[1]?.created_at ?? 0) - (rows[0]?.created_at ?? 0)).toBe(-600_000);
    });
  });
}

function inboxContract(engine: string, open: Open): void {
  describe(`${engine}: inbox`, () => {
    it("R19 gives one message id to a post that is repeated, in a tick and after a restart", async () => {
      const { log, reopen } = await open();
      await ownRoom(log, "r1");
      const post = postOf("hello", { message_id: "msg-k1" });
      const [first, second] = await Promise.all([log.accept(post), log.accept(post)]);
      expect(first).toMatchObject({ status: "accepted", post: { message_id: "msg-k1", number: 1, after_seq: 0 } });
      expect(second).toEqual({ status: "duplicate", message_id: "msg-k1" });
      const again = await reopen();
      expect(await again.accept(post)).toEqual({ status: "duplicate", message_id: "msg-k1" });
      expect(await again.accept({ ...post, text: "other" })).toMatchObject({ status: "idempotency_conflict" });
      expect(await again.accept({ ...post, thread_id: "side" })).toMatchObject({ status: "idempotency_conflict" });
      expect(await again.inbox("r1")).toHaveLength(1);
    });

    it("R20 owes a post to three, two, one, and lets it go with the third start", async () => {
      const { log } = await open();
      await ownRoom(log, "r1");
      await log.accept(postOf("hello", { message_id: "msg-1" }));
      const owed = [(await log.inbox("r1")).map((post) => post.owed.length)];
      for (const [index, member_id] of ["m-a", "m-b", "m-c"].entries()) {
        const inbox = [{ message_id: "msg-1", member_id }];
        await log.append({
          room_id: "r1",
          rows: [startOf(`${index}`)],
          inbox,
          expected_seq: index,
          lease_generation: 1,
        });
        owed.push((await log.inbox("r1")).map((post) => post.owed.length));
      }
      expect(owed).toEqual([[3], [2], [1], []]);
    });

    it("names the row that first held a post's text", async () => {
      const { log } = await open();
      await ownRoom(log, "r1");
      await log.accept(postOf("hello", { message_id: "msg-1" }));
      const inbox = [{ message_id: "msg-1", member_id: "m-b" }];
      await log.append({ room_id: "r1", rows: [startOf("1")], inbox, expected_seq: 0, lease_generation: 1 });
      expect(await log.inbox("r1")).toMatchObject([{ owed: ["m-a", "m-c"], row_seq: 1 }]);
    });

    it("keeps the inbox as it is when the append is refused", async () => {
      const { log } = await open();
      await ownRoom(log, "r1");
      await log.accept(postOf("hello", { message_id: "msg-1" }));
      const before = await log.inbox("r1");
      const inbox = [{ message_id: "msg-1", member_id: "m-a" }];
      await log.append({ room_id: "r1", rows: [startOf("1")], inbox, expected_seq: 5, lease_generation: 1 });
      expect(await log.inbox("r1")).toEqual(before);
    });

    it("R21 refuses a post at 1,024 posts in the inbox and stores nothing", async () => {
      const { log } = await open();
      await ownRoom(log, "r1");
      const posts = Array.from({ length: 1_023 }, (_, index) => log.accept(postOf(`post ${index}`)));
      await Promise.all(posts);
      expect(await log.accept(postOf("the last one"))).toMatchObject({ status: "accepted", post: { number: 1_024 } });
      expect(await log.accept(postOf("one more"))).toMatchObject({ status: "inbox_full" });
      expect(await log.inbox("r1")).toHaveLength(1_024);
    });

    it("refuses a post that would bring the inbox above 4 MiB", async () => {
      const { log } = await open();
      await ownRoom(log, "r1");
      const text = "x".repeat(65_536);
      const results = await Promise.all(Array.from({ length: 64 }, () => log.accept(postOf(text))));
      expect(results.map((result) => result.status)).toEqual([
        ...Array.from({ length: 63 }, () => "accepted"),
        "inbox_full",
      ]);
    });

    it("never uses the number of a post twice", async () => {
      const { log, reopen } = await open();
      await ownRoom(log, "r1");
      await log.accept(postOf("one", { message_id: "msg-1", owed: ["m-a"] }));
      const inbox = [{ message_id: "msg-1", member_id: "m-a" }];
      await log.append({ room_id: "r1", rows: [startOf("1")], inbox, expected_seq: 0, lease_generation: 1 });
      const again = await reopen();
      expect(await again.inbox("r1")).toEqual([]);
      expect(await again.accept(postOf("two"))).toMatchObject({
        status: "accepted",
        post: { number: 2, after_seq: 1 },
      });
    });
  });
}

function pageContract(engine: string, open: Open): void {
  describe(`${engine}: rooms and pages`, () => {
    it("counts changes of name and roster, and nothing else", async () => {
      const { log } = await open();
      const room = roomOf("r1");
      const first = { revision: 1, name: "Room r1", members: room.members };
      expect(await log.putRoom(room)).toMatchObject({ status: "stored", room: first });
      expect(await log.putRoom(room)).toMatchObject({ status: "unchanged", room: first });
      const renamed = { ...room, name: "New" };
      expect(await log.putRoom(renamed)).toMatchObject({ status: "stored", room: { revision: 2, name: "New" } });
      const members = room.members.slice(1);
      expect(await log.putRoom({ ...renamed, members })).toMatchObject({ room: { revision: 3, members } });
      expect(await log.room("r1")).toMatchObject({ revision: 3, name: "New" });
      expect(await log.room("r2")).toBeUndefined();
    });

    it("lists rooms by UTF-16 units", async () => {
      const { log } = await open();
      for (const id of ["b", "B", "a1", "a-"]) await log.putRoom(roomOf(id));
      expect((await log.rooms()).map((room) => room.room_id)).toEqual(["B", "a-", "a1", "b"]);
    });

    it("ends a page at its rows or at 2 MiB, with one row at least", async () => {
      const { log } = await open();
      await ownRoom(log, "r1");
      const text = "x".repeat(250_000);
      const rows = Array.from({ length: 20 }, (_, index) => startOf(`${index}`, { text }));
      await log.append({ room_id: "r1", rows, inbox: [], expected_seq: 0, lease_generation: 1 });
      const first = await log.read("r1", { after_seq: 0 });
      expect([first.rows.length, first.cursor, first.has_more]).toEqual([8, 8, true]);
      const one = await log.read("r1", { after_seq: 8, limit: 1 });
      expect([one.rows.length, one.cursor, one.has_more]).toEqual([1, 9, true]);
      const last = await log.read("r1", { after_seq: 16 });
      expect([last.rows.length, last.cursor, last.has_more]).toEqual([4, 20, false]);
      expect(await log.read("r1", { after_seq: 20 })).toEqual({
        rows: [],
        cursor: 20,
        latest_seq: 20,
        has_more: false,
      });
    });

    it("C-057 refuses an id with NUL and keeps NUL in a text", async () => {
      const { log, reopen } = await open();
      await expect(log.putRoom(roomOf("r1\0x"))).rejects.toMatchObject({ code: "invalid_params" });
      await ownRoom(log, "r1");
      await log.accept(postOf("a\0b\u0001", { message_id: "msg-1" }));
      await log.append({
        room_id: "r1",
        rows: [startOf("1", { text: "a\0b\u0001" })],
        inbox: [],
        expected_seq: 0,
        lease_generation: 1,
      });
      const { hash } = await log.head("r1");
      const again = await reopen();
      expect((await again.inbox("r1"))[0]?.text).toBe("a\0b\u0001");
      const { rows } = await again.read("r1", { after_seq: 0 });
      expect(rows[0]).toMatchObject({ hash, payload: { input: [{ text: "a\0b\u0001" }] } });
    });

    it("answers every call after close with `closed`", async () => {
      const { log } = await open();
      await ownRoom(log, "r1");
      const last = log.accept(postOf("before the close"));
      await log.close();
      await log.close();
      expect((await last).status).toBe("accepted");
      const append = log.append({
        room_id: "r1",
        rows: [startOf("1")],
        inbox: [],
        expected_seq: 0,
        lease_generation: 1,
      });
      await expect(append).rejects.toMatchObject({ code: "closed" });
      await expect(log.head("r1")).rejects.toMatchObject({ code: "closed" });
    });
  });
}
