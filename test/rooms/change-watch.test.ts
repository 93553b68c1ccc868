import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ManualClock } from "../../core/index.ts";
import type { SqliteRoomLog } from "../../rooms/index.ts";
import { loopClock, openLog, ownRoom, postOf, temporaryFolder } from "../support/open-log.ts";

interface Opened {
  readonly clock: ManualClock;
  readonly log: SqliteRoomLog;
  /** Another connection to the same file: to SQLite it is another process. */
  readonly other: SqliteRoomLog;
  /** What a listener at `log` was told. */
  readonly told: unknown[];
}

async function open(): Promise<Opened> {
  const file = join(temporaryFolder(), "test.db");
  const clock = loopClock();
  const log = await openLog(file, clock);
  const other = await openLog(file);
  await ownRoom(log);
  const told: unknown[] = [];
  onTestFinished(log.watch((roomIds) => told.push(roomIds === null ? "any" : [...roomIds])));
  return { clock, log, other, told };
}

describe("a watch of commits of others", () => {
  it("tells within 250 ms, several as one, and nothing when there was none", async () => {
    const { clock, other, told } = await open();
    clock.advance(250);
    told.length = 0;
    await other.accept(postOf("one"));
    await other.accept(postOf("two"));
    clock.advance(249);
    expect(told).toEqual([]);
    clock.advance(1);
    expect(told).toEqual(["any"]);
    clock.advance(2_500);
    expect(told).toEqual(["any"]);
  });

  it("tells of what was committed between its beginning and the first look", async () => {
    const { clock, other, told } = await open();
    await other.accept(postOf("one"));
    clock.advance(250);
    expect(told).toEqual(["any"]);
  });

  it("keeps commits of its own apart", async () => {
    const { clock, log, other, told } = await open();
    await other.accept(postOf("one"));
    await log.accept(postOf("two"));
    expect(told).toEqual([["r1"]]);
    clock.advance(250);
    expect(told).toEqual([["r1"], "any"]);
    await log.accept(postOf("three"));
    clock.advance(250);
    expect(told).toEqual([["r1"], "any", ["r1"]]);
  });

  it("looks only while somebody watches", async () => {
    const { clock, log, other, told } = await open();
    const late: unknown[] = [];
    const undo = log.watch((roomIds) => late.push(roomIds));
    undo();
    await other.accept(postOf("one"));
    clock.advance(250);
    expect([told, late]).toEqual([["any"], []]);
    await log.close();
    await other.accept(postOf("two"));
    clock.advance(1_000);
    expect(told).toEqual(["any"]);
  });
});
