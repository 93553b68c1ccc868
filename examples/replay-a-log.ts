// The log has two rows for each turn, and the state of a room is a fold of them: the same rows give the same digest, in
// one go, one by one, or on another machine.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  checkpointOf,
  createRoomtap,
  emptyState,
  fold,
  openSqliteLogReader,
  RoomFold,
  systemClock,
  verifyLog,
} from "roomtap";

const folder = mkdtempSync(join(tmpdir(), "roomtap-example-"));
const db = join(folder, "room.db");
const members = ["one", "two"].map((handle) => ({
  handle,
  runner: { kind: "scripted", script: { steps: [{ finish: `I am ${handle}.` }] } } as const,
}));

const tap = await createRoomtap({ db, rooms: [{ room_id: "team", members, policy: { maxRounds: 1 } }] });
await tap.room("team").post({ text: "@all who are you?" });
await tap.finish();
await tap.close();

// A reader changes no byte of the file, and may look while a host runs.
const log = await openSqliteLogReader({ file: db, clock: systemClock });
const { rows } = await log.read("team", { after_seq: 0 });
const last = rows.at(-1);
assert.ok(last !== undefined);
assert.deepEqual(
  rows.map(({ kind, member_id }) => `${kind} ${member_id}`),
  ["turn.started m-one", "turn.settled m-one", "turn.started m-two", "turn.settled m-two"],
);

const whole = checkpointOf(fold(emptyState("team"), rows), last.hash);
const stepwise = new RoomFold(emptyState("team"));
for (const row of rows) {
  stepwise.apply(row);
  console.log(row.seq, row.kind, checkpointOf(stepwise.state(), row.hash).digest);
}
assert.equal(checkpointOf(stepwise.state(), last.hash).digest, whole.digest);

for await (const room of verifyLog(log, systemClock)) {
  assert.equal(room.problem, null);
  assert.equal(room.digest, whole.digest);
}
await log.close();
rmSync(folder, { recursive: true });
