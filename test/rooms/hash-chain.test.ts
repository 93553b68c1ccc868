import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../rooms/canonical-json.ts";
import {
  chainStart,
  rowBytes,
  rowHash,
  storedRowHash,
  verifyRows,
  type HashedColumns,
} from "../../rooms/hash-chain.ts";
import { logs, TestLog } from "../support/logs.ts";

/** Rows as a store keeps them. */
const stored = (rows: TestLog["rows"]) =>
  rows.map((row) => ({ ...row, payload: Buffer.from(canonicalJson(row.payload)) as Uint8Array }));

const twenty = (): TestLog["rows"] => {
  const log = new TestLog();
  for (let turn = 0; turn < 10; turn++) {
    log.settle(log.start({ member_id: "m-a", post: { message_id: `msg-${turn}`, text: "caf\u00e9 \ufffd" } }));
  }
  return log.rows;
};

const text = fc.string({ unit: "grapheme" });

describe("row hash", () => {
  it("is SHA-256 over prev_hash and the canonical JSON of the other columns", () => {
    const columns: fc.Arbitrary<Record<keyof HashedColumns, unknown>> = fc.record({
      room_id: text,
      seq: fc.nat(),
      kind: text,
      event_id: text,
      thread_id: text,
      member_id: text,
      turn_id: text,
      task_id: text,
      execution_generation: fc.nat(),
      payload: fc.dictionary(text, fc.jsonValue({ maxDepth: 2 })),
      created_at: fc.integer(),
    });
    fc.assert(
      fc.property(columns, fc.stringMatching(/^[0-9a-f]{64}$/), (row, prevHash) => {
        const whole = canonicalJson(row);
        const columnsOf = { ...row, payload: canonicalJson(row.payload) } as HashedColumns;
        const expected = createHash("sha256").update(prevHash).update(whole).digest("hex");
        expect(storedRowHash(prevHash, columnsOf)).toBe(expected);
        expect(rowBytes(columnsOf)).toBe(Buffer.byteLength(whole));
      }),
    );
  });

  it("covers created_at", () => {
    const [row] = twenty();
    if (row === undefined) throw new TypeError("expected a row");
    expect(rowHash(row.prev_hash, row)).toBe(row.hash);
    expect(rowHash(row.prev_hash, { ...row, created_at: row.created_at + 1 })).not.toBe(row.hash);
  });
});

describe("verifyRows", () => {
  it("follows any valid log, whole and in pieces", () => {
    fc.assert(
      fc.property(logs(40), fc.nat(), (rows, cut) => {
        const all = stored([...rows]);
        const middle = cut % (all.length + 1);
        const last = all.at(-1);
        const end = { seq: all.length, hash: last?.hash ?? chainStart.hash };
        expect(verifyRows(all)).toEqual(end);
        const half = verifyRows(all.slice(0, middle));
        if ("kind" in half) throw new TypeError(half.message);
        expect(verifyRows(all.slice(middle), half)).toEqual(end);
      }),
      { numRuns: 30 },
    );
  });

  it("R7 names row 7 for any changed byte of its payload", () => {
    const rows = stored(twenty());
    const seventh = rows[6];
    if (seventh === undefined) throw new TypeError("expected row 7");
    fc.assert(
      fc.property(fc.nat(seventh.payload.length - 1), fc.integer({ min: 1, max: 255 }), (place, change) => {
        const payload = Uint8Array.from(seventh.payload, (byte, index) => (index === place ? byte ^ change : byte));
        const changed = rows.with(6, { ...seventh, payload });
        expect(verifyRows(changed)).toMatchObject({ seq: 7, kind: "hash" });
      }),
    );
  });

  it.each([
    ["R7 names row 7 when its created_at is changed", 7, "hash", { created_at: 1 }],
    ["names row 7 when its generation is changed", 7, "hash", { execution_generation: 2 }],
    ["names row 7 when its prev_hash is changed", 7, "prev_hash", { prev_hash: "0".repeat(64) }],
    ["names row 7 when its number is changed", 7, "order", { seq: 8 }],
  ] as const)("%s", (_, seq, kind, change) => {
    const rows = stored(twenty());
    expect(verifyRows(rows.map((row) => (row.seq === 7 ? { ...row, ...change } : row)))).toMatchObject({ seq, kind });
  });

  it("names the row after one that was rewritten with its hash", () => {
    const rows = stored(twenty());
    const rewritten = rows.map((row) => {
      if (row.seq !== 7) return row;
      const changed = { ...row, created_at: 1 };
      return { ...changed, hash: storedRowHash(row.prev_hash, changed) };
    });
    expect(verifyRows(rewritten)).toMatchObject({ seq: 8, kind: "prev_hash" });
  });

  it("names the first missing row", () => {
    expect(verifyRows(stored(twenty()).toSpliced(6, 2))).toMatchObject({ seq: 7, kind: "order" });
  });
});
