import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkpointOf, emptyState, fold, openSqliteLogReader, toStored } from "../../../rooms/index.ts";
import { connect } from "../../../rooms/sqlite/database.ts";
import { claim, loopClock, openLog, temporaryFolder } from "../../support/open-log.ts";
import { roomOf, says, TestHost } from "../../support/open-room.ts";

/** A closed file: 20 rows, and a checkpoint through row 12. */
async function written(): Promise<{ readonly file: string; readonly digest: string }> {
  const file = join(temporaryFolder(), "test.db");
  const test = await TestHost.open({ rooms: [roomOf(says("hi"))], file });
  for (let post = 0; post < 10; post++) {
    await test.room.post({ text: `post ${post}` });
    await test.quiet();
  }
  const { digest } = checkpointOf(test.room.folded, "");
  const rows = await test.rows();
  await test.close();
  const connection = connect(file);
  connection.exec("DELETE FROM checkpoints");
  connection.close();
  const log = await openLog(file);
  const lease_generation = await claim(log, "r1");
  const stored = toStored(fold(emptyState("r1"), rows.slice(0, 12)), rows[11]?.hash ?? "");
  await log.putCheckpoint({ ...stored, room_id: "r1", lease_generation });
  await log.releaseLease("r1", lease_generation, "test");
  await log.close();
  return { file, digest };
}

const changes: readonly (readonly [string, string, string | null])[] = [
  ["as it is", "version = version", null],
  ["ahead of the log", "through_seq = 25, state = replace(state, '\"through_seq\":12', '\"through_seq\":25')", "ahead"],
  [
    "with one digit of its hash changed",
    "log_hash = (CASE substr(log_hash, 1, 1) WHEN '0' THEN '1' ELSE '0' END) || substr(log_hash, 2)",
    "log_hash",
  ],
  ["of another room", 'state = replace(state, \'"room_id":"r1"\', \'"room_id":"r2"\')', "other_room"],
  ["of an unknown version", "version = 999", "unknown_version"],
  ["cut off in the middle", "state = substr(state, 1, length(state) / 2)", "unreadable"],
];

describe("a host that opens a room with a checkpoint", () => {
  it.each(changes)("C-052 %s has the state of the log, and says why it did not use it", async (_, set, reason) => {
    const { file, digest } = await written();
    const connection = connect(file);
    connection.exec(`UPDATE checkpoints SET ${set}`);
    connection.close();
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))], file });
    expect(checkpointOf(test.room.folded, "").digest).toBe(digest);
    expect(test.notices.map(({ code, message }) => [code, /\((\w+)\)/.exec(message)?.[1]])).toEqual(
      reason === null ? [] : [["checkpoint_ignored", reason]],
    );
  });

  it("C-052 that was deleted has the state of the log, and leaves a new one when it closes", async () => {
    const { file, digest } = await written();
    const connection = connect(file);
    connection.exec("DELETE FROM checkpoints");
    connection.close();
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))], file });
    expect([checkpointOf(test.room.folded, "").digest, test.notices]).toEqual([digest, []]);
    await test.room.post({ text: "one more" });
    await test.quiet();
    await test.close();
    const copy = `${file}-copy`;
    copyFileSync(file, copy);
    const reader = await openSqliteLogReader({ file: copy, clock: loopClock() });
    expect(await reader.checkpoint("r1")).toMatchObject({ through_seq: 22 });
    await reader.close();
  });

  it("stores one every 256 rows, while it runs", async () => {
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))] });
    for (let post = 0; post < 130; post++) {
      await test.room.post({ text: `post ${post}` });
      await test.quiet();
    }
    expect(await test.log.checkpoint("r1")).toMatchObject({ through_seq: 256 });
  });
});
