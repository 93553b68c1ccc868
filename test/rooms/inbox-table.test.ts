import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { limits, type ManualClock } from "../../core/index.ts";
import { SqliteRoomLog, type Append, type NewRow } from "../../rooms/index.ts";
import type { SqliteDatabase } from "../../rooms/sqlite/database.ts";
import { openHostDatabase } from "../../rooms/sqlite/open.ts";
import { loopClock, members, postOf, ownRoom, roomOf, settleOf, startOf } from "../support/open-log.ts";

interface Opened {
  readonly clock: ManualClock;
  readonly database: SqliteDatabase;
  readonly log: SqliteRoomLog;
}

async function open(): Promise<Opened> {
  const clock = loopClock();
  const database = await openHostDatabase({ file: ":memory:", clock });
  const log = new SqliteRoomLog(database, { clock });
  await ownRoom(log, "r1");
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
    await log.append({ room_id: "r1", rows: [startOf("1")], inbox, expected_seq: 0, lease_generation: 1 });
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
    await log.append({ room_id: "r1", rows: [startOf("1")], inbox, expected_seq: 0, lease_generation: 1 });
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

describe("posts that address nobody", () => {
  const aside = (text: string) => postOf(text, { owed: [] });

  it("R21 are bounded apart: 1,024 of them keep nobody from posting to a member, whose turn carries them", async () => {
    const { log } = await open();
    onTestFinished(() => log.close());
    const posts = Array.from({ length: limits.maxInboxRows - 1 }, (_, index) => log.accept(aside(`${index}`)));
    await Promise.all(posts);
    expect((await log.accept(aside("the last"))).status).toBe("accepted");
    expect(await log.accept(aside("one more"))).toEqual({
      status: "inbox_full",
      message: expect.stringMatching(/^room r1 keeps 1024 posts that address nobody .*: address a member/) as string,
    });
    expect((await log.accept(postOf("to all"))).status).toBe("accepted");
    const inbox = (await log.inbox("r1")).map(({ message_id }) => ({ message_id, member_id: "m-a" }));
    await log.append({ room_id: "r1", rows: [startOf("1")], inbox, expected_seq: 0, lease_generation: 1 });
    expect(await log.inbox("r1")).toMatchObject([{ text: "to all", owed: ["m-b", "m-c"] }]);
    expect((await log.accept(aside("one more"))).status).toBe("accepted");
  });

  it("R21 take 4 MiB, and so do those that wait", async () => {
    const { log } = await open();
    onTestFinished(() => log.close());
    const text = "x".repeat(65_500);
    for (const post of [aside(text), postOf(text)]) {
      const results = await Promise.all(Array.from({ length: 65 }, () => log.accept(post)));
      expect(results.filter(({ status }) => status === "accepted")).toHaveLength(64);
    }
    expect(await log.accept(postOf(text))).toMatchObject({
      message: expect.stringMatching(
        /^64 posts and retries of room r1 wait for their turns .* or stop the room$/,
      ) as string,
    });
  });

  it("I8 are 2,048 at most, however often what waits is stopped: the oldest are forgotten", async () => {
    const { log } = await open();
    onTestFinished(() => log.close());
    for (const _ of [1, 2, 3]) {
      await Promise.all(Array.from({ length: limits.maxInboxRows }, () => log.accept(postOf("hi"))));
      await log.stop({ room_id: "r1", lease_generation: 1, cancel_id: null, cancelled: 0 });
    }
    const numbers = (await log.inbox("r1")).map(({ number }) => number);
    expect([numbers.length, numbers[0], numbers.at(-1)]).toEqual([2_048, 1_025, 3_072]);
    expect((await log.accept(postOf("hi"))).status).toBe("accepted");
  });
});

const steps = ["post", "aside", "start", "settle", "retry", "close", "stop", "roster"] as const;
type Step = { readonly do: (typeof steps)[number]; readonly size: number; readonly wrong: boolean };

/** What `rooms` keeps of a room, and the same counted from the tables. */
function counters(database: SqliteDatabase): unknown[] {
  const kept =
    "SELECT open_turns, inbox_posts, inbox_bytes, closed_posts, closed_bytes, next_number, head_seq FROM rooms";
  const counted = `SELECT
    (SELECT sum(kind = 'turn.started') - sum(kind = 'turn.settled') FROM log),
    (SELECT count(*) FROM inbox) + (SELECT count(*) FROM retries), (SELECT coalesce(sum(bytes), 0) FROM inbox),
    (SELECT count(*) FROM inbox WHERE owed = '[]'), (SELECT coalesce(sum(bytes), 0) FROM inbox WHERE owed = '[]'),
    (SELECT coalesce(max(number), 0) + 1 FROM receipts), (SELECT coalesce(max(seq), 0) FROM log)`;
  return [kept, counted].map((sql) => database.prepare(sql).raw().get());
}

describe("what a room keeps count of", () => {
  it("equals what its tables hold, after any schedule of changes", async () => {
    const step: fc.Arbitrary<Step> = fc.record({
      do: fc.constantFrom(...steps),
      size: fc.nat(2_000),
      wrong: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { maxLength: 6 }), { minLength: 1, maxLength: 8 }), async (ticks) => {
        const { database, log } = await open();
        let [seq, started, settled] = [0, 0, 0];
        const append = (rows: readonly NewRow[], more: Partial<Append>) =>
          log.append({ room_id: "r1", rows, inbox: [], expected_seq: seq, lease_generation: 1, ...more });
        // Something to count from the first.
        await append([startOf(`${started++}`)], {});
        seq += 1;
        for (const tick of ticks) {
          const waiting = (await log.inbox("r1")).slice(0, 2);
          const calls = tick.flatMap(({ do: what, size, wrong }): Promise<unknown>[] => {
            const text = "x".repeat(size);
            const fenced = { room_id: "r1", lease_generation: wrong ? 2 : 1 };
            switch (what) {
              case "post":
                return [log.accept(postOf(text, { message_id: wrong ? "msg-again" : null }))];
              case "aside":
                return [log.accept(postOf(text, { owed: [] }))];
              case "retry": {
                const task_id = `k-${size % 3}`;
                return [log.putRetry({ ...fenced, task_id, execution_generation: 1, origin: null, cause: "retry" })];
              }
              case "close":
                return waiting.map(({ message_id }) => log.closePost({ ...fenced, message_id }));
              case "stop":
                return [log.stop({ ...fenced, cancel_id: `${size % 3}`, cancelled: 0 })];
              case "roster":
                return [log.putRoom({ ...roomOf("r1"), members: members.slice(size % 3), ...fenced })];
              case "start":
              case "settle": {
                if (what === "settle" && settled === started) return [];
                const row = what === "start" ? startOf(`${started}`, { text }) : settleOf(`${settled}`, { text });
                const inbox = waiting.flatMap(({ message_id }) =>
                  members.map(({ member_id }) => ({ message_id, member_id })),
                );
                const retries = [{ task_id: `k-${size % 3}`, execution_generation: 1 }];
                if (wrong) return [append([row], { inbox, retries, expected_seq: seq + 1 })];
                if (what === "start") started += 1;
                else settled += 1;
                return [append([row], { inbox, retries, expected_seq: seq++ })];
              }
            }
          });
          await Promise.all(calls);
          const [kept, counted] = counters(database);
          expect(kept).toEqual(counted);
          expect((await log.head("r1")).seq).toBe(seq);
        }
        await log.close();
      }),
      { numRuns: 60 },
    );
  });
});
