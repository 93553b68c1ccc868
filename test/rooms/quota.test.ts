import { describe, expect, it, onTestFinished } from "vitest";
import { limits } from "../../core/index.ts";
import { SqliteRoomLog, type Quota } from "../../rooms/index.ts";
import { openHostDatabase } from "../../rooms/sqlite/open.ts";
import { hasRoomFor, hasRoomForTurn } from "../../rooms/sqlite/quota.ts";
import { loopClock, postOf, ownRoom, settleOf, startOf } from "../support/open-log.ts";

async function openWith(quota: Quota): Promise<SqliteRoomLog> {
  const clock = loopClock();
  const log = new SqliteRoomLog(await openHostDatabase({ file: ":memory:", clock }), { clock, quota });
  onTestFinished(() => log.close());
  await ownRoom(log, "r1");
  await ownRoom(log, "r2");
  return log;
}

const text = "x".repeat(limits.maxSettledTextBytes);

describe("the quota of a room", () => {
  const quotas: readonly [of: string, quota: Quota][] = [
    ["rows", { maxRoomRows: 4, maxRoomBytes: limits.maxRoomBytes }],
    ["bytes", { maxRoomRows: limits.maxRoomRows, maxRoomBytes: 2 * limits.maxRowBytes + 100_000 }],
  ];

  it.each(quotas)("R10 one start below its %s lets a turn settle, then refuses posts there alone", async (_, quota) => {
    const log = await openWith(quota);
    const append = (seq: number, rows: Parameters<SqliteRoomLog["append"]>[0]["rows"]) =>
      log.append({ room_id: "r1", rows, inbox: [], expected_seq: seq, lease_generation: 1 });
    await append(0, [startOf("1"), settleOf("1")]);
    expect((await log.accept(postOf("before"))).status).toBe("accepted");
    expect((await append(2, [startOf("2", { text })])).status).toBe("appended");
    expect((await append(3, [startOf("3", { text: text.repeat(3) })])).status).toBe("room_full");
    expect((await append(3, [settleOf("2", { text })])).status).toBe("appended");
    expect((await log.accept(postOf("after"))).status).toBe("room_full");
    expect((await log.accept(postOf("elsewhere", { room_id: "r2" }))).status).toBe("accepted");
  });

  it("counts an open turn as one row and the largest settle", () => {
    const quota = { maxRoomRows: 10, maxRoomBytes: 10 * limits.maxRowBytes };
    const at = (rows: number, bytes: number, openTurns: number): boolean =>
      hasRoomFor({ rows, bytes, openTurns }, quota);
    expect([at(8, 0, 1), at(8, 0, 2), at(8, 0, 3)]).toEqual([true, true, false]);
    const full = 8 * limits.maxRowBytes;
    expect([at(1, full - 1, 2), at(1, full, 2), at(1, full + 1, 2)]).toEqual([true, true, false]);
  });

  it("has room for a turn while two rows of the largest size fit", () => {
    const quota = { maxRoomRows: 10, maxRoomBytes: 10 * limits.maxRowBytes };
    const turn = (rows: number, bytes: number): boolean => hasRoomForTurn({ rows, bytes, openTurns: 0 }, quota);
    expect([turn(7, 0), turn(8, 0), turn(9, 0)]).toEqual([true, true, false]);
    const full = 8 * limits.maxRowBytes;
    expect([turn(0, full - 1), turn(0, full), turn(0, full + 1)]).toEqual([true, true, false]);
  });
});

describe("the size of a row", () => {
  it("is at most 256 KiB", async () => {
    const log = await openWith({ maxRoomRows: 100, maxRoomBytes: limits.maxRoomBytes });
    const append = (size: number) =>
      log.append({
        room_id: "r1",
        rows: [startOf("1", { text: "x".repeat(size) })],
        inbox: [],
        expected_seq: 0,
        lease_generation: 1,
      });
    await expect(append(limits.maxRowBytes)).rejects.toMatchObject({ code: "invalid_params" });
    expect((await log.head("r1")).seq).toBe(0);
    expect((await append(limits.maxRowBytes - 1_000)).status).toBe("appended");
  });
});
