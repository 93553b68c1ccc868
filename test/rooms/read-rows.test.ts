import { describe, expect, it } from "vitest";
import type { RoomReader } from "../../rooms/index.ts";
import { rangesOf, readRows } from "../../rooms/read-rows.ts";
import { TestLog } from "../support/logs.ts";

/** A log of so many rows, whose pages hold at most `perPage`; notes what it is asked. */
function logOf(count: number, perPage = 500): Pick<RoomReader, "read"> & { readonly asked: string[] } {
  const builder = new TestLog();
  while (builder.rows.length < count) builder.settle(builder.start({ member_id: "m-a" }));
  const asked: string[] = [];
  return {
    asked,
    async read(_roomId, { after_seq, limit = 500 }) {
      asked.push(`${after_seq}+${limit}`);
      const rows = builder.rows.slice(after_seq, after_seq + Math.min(limit, perPage));
      return { rows, cursor: after_seq + rows.length, has_more: false, latest_seq: count };
    },
  };
}

describe("rows by their places", () => {
  it.each([
    [[], []],
    [[3], [[3, 3]]],
    [
      [1, 9, 18],
      [
        [1, 9],
        [18, 18],
      ],
    ],
    [
      [2, 4, 6, 40, 41],
      [
        [2, 6],
        [40, 41],
      ],
    ],
  ])("%j are read in ranges %j", (seqs, ranges) => {
    expect(rangesOf(seqs).map(({ first, last }) => [first, last])).toEqual(ranges);
  });

  it("gives the wanted ones only, and asks once for neighbours", async () => {
    const log = logOf(40);
    const rows = await readRows(log, "r1", [1, 3, 30]);
    expect([...rows.keys()]).toEqual([1, 3, 30]);
    expect(log.asked).toEqual(["0+3", "29+1"]);
  });

  it("reads on where a page ends, and leaves out what is not there", async () => {
    const log = logOf(4, 2);
    const rows = await readRows(log, "r1", [1, 4, 6]);
    expect([...rows.keys()]).toEqual([1, 4]);
    expect(log.asked).toEqual(["0+6", "2+4", "4+2"]);
  });
});
