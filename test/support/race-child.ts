/**
 * A host in a process of its own that races others: `race-child.ts FILE`. It says `open`; for each line with the id of a
 * room it says `ready`, at the next line it opens a host with that room and says whether it drives it (`driven`, `waits`),
 * and at the next line it closes that host and says how often its runner was called.
 */
import { createInterface } from "node:readline";
import { systemClock, systemIds, Tap, type Runner } from "../../core/index.ts";
import { openSqliteLog, RoomHost } from "../../rooms/index.ts";

const [, , file = ""] = process.argv;
const say = (word: string): void => void process.stdout.write(`${word}\n`);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const log = await openSqliteLog({ file, clock: systemClock, busyTimeoutMs: 20_000 });
const activity = { listening: false, push: () => undefined };

let calls = 0;
const runner: Runner = {
  kind: "test",
  run: async () => {
    calls++;
    return { status: "completed", text: "here" };
  },
  close: async () => undefined,
};

say("open");
for (let { value, done } = await lines.next(); done !== true; { value, done } = await lines.next()) {
  const room_id = String(value);
  calls = 0;
  say("ready");
  await lines.next();
  const host = await RoomHost.open({
    log,
    tap: new Tap({ activity }),
    clock: systemClock,
    ids: systemIds,
    report: () => undefined,
    rooms: [{ room_id, members: [{ handle: "a", runner }], policy: { maxRounds: 1, maxOwedPasses: 0 } }],
  });
  say(host.room(room_id).isDriven ? "driven" : "waits");
  await lines.next();
  await host.quiet();
  await host.close();
  say(`${calls} calls`);
}
await log.close();
// What is still listened to on stdin keeps nobody.
process.stdin.destroy();
