import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { digest } from "../../rooms/canonical-json.ts";
import { checkpointOf, readStored, toStored, type StoredReading } from "../../rooms/checkpoint.ts";
import { foldStateSchema, foldStateVersion } from "../../rooms/fold-state-schema.ts";
import { emptyState, fold, type FoldState } from "../../rooms/index.ts";
import { zeroHash, type LogRow } from "../../rooms/log-row.ts";
import { logs, TestLog } from "../support/logs.ts";

/** A room of so many rows: posts, answers, later rounds, a retry, one attempt that is open. */
function roomOf(rows: number, roomId = "r1"): readonly LogRow[] {
  const log = new TestLog(roomId);
  while (log.rows.length < rows) {
    const turn = log.rows.length;
    const start = log.start({ member_id: `m${turn % 3}`, post: { message_id: `p${turn}`, text: "@m1 go" } });
    log.settle(start, turn % 4 === 0 ? { status: "failed", reason_code: "runner_error" } : { text: "see @m2" });
  }
  return log.rows.slice(0, rows);
}

const rows = roomOf(20);
const at12 = toStored(fold(emptyState("r1"), rows.slice(0, 12)), rows[11]?.hash ?? "");
const ofOther = roomOf(12, "r2");

function read(raw: unknown): Promise<StoredReading> {
  return readStored(raw, { room_id: "r1", hashAt: (seq) => Promise.resolve(rows[seq - 1]?.hash) });
}

/** Folds the log, on from the stored checkpoint if it can be used. */
async function replay(raw: unknown): Promise<{ readonly digest: string; readonly outcome: string }> {
  const reading = await read(raw);
  const from = reading.status === "used" ? reading.state : emptyState("r1");
  const state = fold(from, rows.slice(from.through_seq));
  const { digest: whole } = checkpointOf(state, rows[19]?.hash ?? zeroHash);
  return { digest: whole, outcome: reading.status === "used" ? "used" : reading.reason };
}

const flipped = (hash: string): string => (hash.startsWith("0") ? "1" : "0") + hash.slice(1);

describe("a stored checkpoint", () => {
  it.each([
    ["as it is", at12, "used"],
    [
      "with through_seq 25 in it and beside it",
      toStored({ ...JSON.parse(at12.state), through_seq: 25 }, at12.log_hash),
      "ahead",
    ],
    ["with one bit of log_hash flipped", { ...at12, log_hash: flipped(at12.log_hash) }, "log_hash"],
    ["of another room", toStored(fold(emptyState("r2"), ofOther), ofOther[11]?.hash ?? ""), "other_room"],
    ["of an unknown version", { ...at12, version: foldStateVersion + 1 }, "unknown_version"],
    ["cut off in the middle", { ...at12, state: at12.state.slice(0, at12.state.length / 2) }, "unreadable"],
    ["that is not there", undefined, "none"],
  ])("C-052 and R13: %s gives the same digest", async (_what, raw, outcome) => {
    const whole = digest(fold(emptyState("r1"), rows));
    expect(await replay(raw)).toEqual({ digest: whole, outcome });
  });

  it.each([
    ["null", null, "none"],
    ["no object", "checkpoint", "unreadable"],
    ["without a state", { ...at12, state: undefined }, "unreadable"],
    ["with a head that is not its state's", { ...at12, through_seq: 11 }, "unreadable"],
    ["with a key that nobody knows", { ...at12, state: at12.state.replace("{", '{"more":1,') }, "unreadable"],
    ["with a key less", { ...at12, state: at12.state.replace('"completed"', '"complete"') }, "unreadable"],
    [
      "with half a surrogate pair",
      { ...at12, state: at12.state.replace('"word":"m1"', '"word":"\\ud800"') },
      "unreadable",
    ],
    ["with a changed state", { ...at12, state: at12.state.replace('"word":"m1"', '"word":"m2"') }, "digest"],
    ["with another digest", { ...at12, digest: flipped(at12.digest) }, "digest"],
  ])("C-052 is left aside when it is one %s", async (_what, raw, outcome) => {
    expect(raw).not.toEqual(at12);
    expect((await replay(raw)).outcome).toBe(outcome);
  });

  it("C-052 of an empty log is bound to zeros, and asks for no row", async () => {
    const log = { room_id: "r1", hashAt: () => expect.unreachable() };
    expect(await readStored(toStored(emptyState("r1"), zeroHash), log)).toEqual({
      status: "used",
      state: emptyState("r1"),
    });
    expect(await readStored(toStored(emptyState("r1"), flipped(zeroHash)), log)).toMatchObject({ reason: "log_hash" });
  });

  it("C-052 gives back every state as it was, and folds on to the same digest (property)", async () => {
    await fc.assert(
      fc.asyncProperty(logs(80), fc.nat(79), async (made, place) => {
        const at = place % (made.length + 1);
        const state = fold(emptyState("r1"), made.slice(0, at));
        const stored = JSON.parse(JSON.stringify(toStored(state, made[at - 1]?.hash ?? zeroHash))) as unknown;
        const reading = await readStored(stored, { room_id: "r1", hashAt: (seq) => made[seq - 1]?.hash });
        expect(reading).toEqual({ status: "used", state });
        if (reading.status !== "used") return;
        expect(digest(fold(reading.state, made.slice(at)))).toBe(digest(fold(emptyState("r1"), made)));
      }),
    );
  });

  it("carries the digest of its state", () => {
    const state: FoldState = fold(emptyState("r1"), rows);
    const { digest: stored, ...rest } = toStored(state, "h");
    expect(stored).toBe(checkpointOf(state, "h").digest);
    expect(rest).toMatchObject({ version: foldStateVersion, through_seq: 20, log_hash: "h" });
  });

  it("has a version that belongs to the state's shape", () => {
    const shape = digest(z.toJSONSchema(foldStateSchema));
    // Another shape: raise `foldStateVersion`, so that what an older one stored is left aside, and note its digest here.
    expect([foldStateVersion, shape.slice(0, 16)]).toEqual([1, "ddd0b4609c7123e3"]);
  });
});
