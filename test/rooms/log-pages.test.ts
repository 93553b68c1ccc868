import { describe, expect, it } from "vitest";
import { openLog, ownRoom, settleOf, startOf } from "../support/open-log.ts";

describe("pages of a log", () => {
  it("R9 hold one row each when they may hold no more, and nothing beyond the head", async () => {
    const log = await openLog(":memory:");
    const lease_generation = await ownRoom(log);
    const rows = Array.from({ length: 10 }, (_, turn) => [startOf(`${turn}`), settleOf(`${turn}`)]).flat();
    await log.append({ room_id: "r1", rows, inbox: [], expected_seq: 0, lease_generation });
    const pages: (readonly [number, number, boolean])[] = [];
    for (let cursor = 0; pages.length < 20;) {
      const page = await log.read("r1", { after_seq: cursor, limit: 1 });
      pages.push([page.rows[0]?.seq ?? 0, page.rows.length, page.has_more]);
      cursor = page.cursor;
    }
    expect(pages).toEqual(Array.from({ length: 20 }, (_, index) => [index + 1, 1, index < 19]));
    expect(await log.read("r1", { after_seq: 20 })).toMatchObject({ rows: [], has_more: false });
  });
});
