import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { limits, type ManualClock } from "../../core/index.ts";
import { SqliteRoomLog } from "../../rooms/index.ts";
import type { SqliteDatabase } from "../../rooms/sqlite/database.ts";
import { openHostDatabase } from "../../rooms/sqlite/open.ts";
import { loopClock, members, postOf, roomOf, settleOf, startOf } from "../support/open-log.ts";

interface Opened {
  readonly clock: ManualClock;
  readonly database: SqliteDatabase;
  readonly log: SqliteRoomLog;
}

async function open(): Promise<Opened> {
  const clock = loopClock();
  const database = await openHostDatabase({ file: ":memory:", clock });
  const log = new SqliteRoomLog(database, { clock });
  await log.putRoom(roomOf("r1"));
  return { clock, database, log };
}

const oneDayMs = 86_400_000;

describe("receipts", () => {
  it.each([
    ["known for 30 days", 30 * oneDayMs, "duplicate"],
    ["forgotten after them", 30 * oneDayMs + 1, "accepted"],
  ])("are %s", async (_, ms, status) => {
    const { clock, log } = await open();
    onTestFinished(() => log.close());
    const post = postOf("hello", { message_id: "msg-1", owed: ["m-a"] });
    await log.accept(post);
    const inbox = [{ message_id: "msg-1", member_id: "m-a" }];
    await log.append({ room_id: "r1", rows: [startOf("1")], inbox, expected_seq: 0 });
    clock.setNow(clock.now() + ms);
    await log.accept(postOf("another"));
    expect((await log.accept(post)).status).toBe(status);
  });

  it("are kept while the post waits, however old they are", async () => {
    const { clock, log } = await open();
    onTestFinished(() => log.close());
    const post = postOf("hello", { message_id: "msg-1" });
    await log.accept(post);
    clock.setNow(clock.now() + 90 * oneDayMs);
    await log.accept(postOf("another"));
    expect((await log.accept(post)).status).toBe("duplicate");
  });

  it.each([
    [limits.maxReceiptsPerRoom - 1, "duplicate"],
    [limits.maxReceiptsPerRoom, "accepted"],
  ])("of a post are there after %i younger ones: %s", async (younger, status) => {
    const { database, log } = await open();
    onTestFinished(() => log.close());
    const post = postOf("hello", { message_id: "msg-1", owed: ["m-a"] });
    await log.accept(post);
    const inbox = [{ message_id: "msg-1", member_id: "m-a" }];
    await log.append({ room_id: "r1", rows: [startOf("1")], inbox, expected_seq: 0 });
    // As if as many had come and gone, but for the last.
    database.exec(`UPDATE rooms SET next_number = ${younger + 1}`);
    await log.accept(postOf("the last"));
    expect((await log.accept(post)).status).toBe(status);
  });
});

describe("a post", () => {
  it("of 64 KiB is taken, and refused when JSON writes it so long that no row holds it", async () => {
    const { log } = await open();
    onTestFinished(() => log.close());
    expect((await log.accept(postOf("\u00e9".repeat(32_768)))).status).toBe("accepted");
    await expect(log.accept(postOf("\u0001".repeat(65_536)))).rejects.toMatchObject({ code: "text_too_large" });
    expect(await log.inbox("r1")).toHaveLength(1);
  });
});

type Step = { readonly do: "post" | "start" | "settle"; readonly size: number; readonly wrong: boolean };

/** What `rooms` keeps of a room, and the same counted from the tables. */
function counters(database: SqliteDatabase): unknown[] {
  const kept = "SELECT open_turns, inbox_posts, inbox_bytes, next_number FROM rooms";
  const counted = `SELECT
    (SELECT sum(kind = 'turn.started') - sum(kind = 'turn.settled') FROM log),
    (SELECT count(*) FROM inbox), (SELECT coalesce(sum(bytes), 0) FROM inbox),
    (SELECT coalesce(max(number), 0) + 1 FROM receipts)`;
  return [kept, counted].map((sql) => database.prepare(sql).raw().get());
}

describe("what a room keeps count of", () => {
  it("equals what its tables hold, after any schedule of posts, starts and settles", async () => {
    const step: fc.Arbitrary<Step> = fc.record({
      do: fc.constantFrom("post", "start", "settle"),
      size: fc.nat(2_000),
      wrong: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { maxLength: 6 }), { minLength: 1, maxLength: 8 }), async (ticks) => {
        const { database, log } = await open();
        let [seq, started, settled] = [0, 0, 0];
        // Something to count from the first.
        await log.append({ room_id: "r1", rows: [startOf(`${started++}`)], inbox: [], expected_seq: seq++ });
        for (const steps of ticks) {
          const waiting = await log.inbox("r1");
          const calls = steps.flatMap(({ do: what, size, wrong }): Promise<unknown>[] => {
            const text = "x".repeat(size);
            if (what === "post") return [log.accept(postOf(text, { message_id: wrong ? "msg-again" : null }))];
            if (what === "settle" && settled === started) return [];
            const row = what === "start" ? startOf(`${started}`, { text }) : settleOf(`${settled}`, { text });
            const inbox = waiting
              .slice(0, 2)
              .flatMap(({ message_id }) => members.map(({ member_id }) => ({ message_id, member_id })));
            if (wrong) return [log.append({ room_id: "r1", rows: [row], inbox, expected_seq: seq + 1 })];
            if (what === "start") started += 1;
            else settled += 1;
            return [log.append({ room_id: "r1", rows: [row], inbox, expected_seq: seq++ })];
          });
          await Promise.all(calls);
          const [kept, counted] = counters(database);
          expect(kept).toEqual(counted);
          expect((await log.head("r1")).seq).toBe(seq);
        }
        await log.close();
      }),
      { numRuns: 40 },
    );
  });
});
