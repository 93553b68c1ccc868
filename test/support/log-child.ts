/**
 * A process of its own at a log: `log-child.ts ACTION FILE`.
 *
 * - `hold` claims room r1, appends a row and says `ready`; for each line on its stdin it appends one more and says
 *   `appended`.
 * - `post` posts to r1 without end, four at a time, and says the message id of each post as soon as it is accepted.
 * - `put` puts sessions `s0` to `s3` without end, each time with one message more; it says `SESSION COUNT` as soon as that
 *   many messages are stored.
 * - `open`, `look` open and close it, as a host or a reader, and say `opened` or the code of the error.
 * - `race` answers pairs of lines. `claim ROOM`: looks at the room's lease and says `ready`; at `go` it claims what it saw,
 *   and starts the turn that the room's post is owed, under its new lease. `append ROOM SEQ GENERATION`: says `ready`; at
 *   `go` it appends a row of its own. Each time it says what became of it.
 * - `lock` takes the write lock and says `locked`; at the next line it gives it back and says `released`.
 */
import { createInterface } from "node:readline";
import { RoomtapError, systemClock } from "../../core/index.ts";
import { openSqliteLog, openSqliteLogReader, type NewRow, type SqliteRoomLog } from "../../rooms/index.ts";
import { connect } from "../../rooms/sqlite/database.ts";
import { promptOf, sessionOf } from "./session-records.ts";

const [, , action, file = ""] = process.argv;
const holder = `process-${process.pid}`;
const say = (word: string): void => void process.stdout.write(`${word}\n`);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function nextLine(): Promise<string | undefined> {
  const { value, done } = await lines.next();
  return done === true ? undefined : String(value);
}

function startOf(roomId: string, name: string): NewRow {
  const ids = { room_id: roomId, thread_id: "main", member_id: "m-a", turn_id: `t-${name}`, task_id: `k-${name}` };
  const discussion = { message_id: "msg-1", round: 0, slot: 0 };
  const input = [{ message_id: "msg-1", author: { kind: "person", id: "local" }, text: "hello" }] as const;
  return {
    kind: "turn.started",
    coordinates: { ...ids, execution_generation: 1 },
    payload: { input, cause: "message", origin: null, seen_through_seq: 0, roster_digest: "d", discussion },
  };
}

async function claim(log: SqliteRoomLog, seen: Awaited<ReturnType<SqliteRoomLog["lease"]>>) {
  const mark = { boot_id: "", pid_namespace: "", pid: process.pid, started: "" };
  return log.claimLease({ seen, holder, process: mark });
}

async function openRoom(): Promise<SqliteRoomLog> {
  const log = await openSqliteLog({ file, clock: systemClock });
  if ((await log.room("r1")) === undefined) {
    await log.putRoom({ room_id: "r1", name: "Room", members: [], roster_digest: "d" });
  }
  return log;
}

async function hold(): Promise<void> {
  const log = await openRoom();
  const { lease } = await claim(log, await log.lease("r1"));
  const appendNext = async (): Promise<void> => {
    const { seq } = await log.head("r1");
    const rows = [startOf("r1", `${seq}`)];
    const base = { room_id: "r1", rows, inbox: [], expected_seq: seq };
    await log.append({ ...base, lease_generation: lease.generation });
  };
  await appendNext();
  say("ready");
  while ((await nextLine()) !== undefined) {
    await appendNext();
    say("appended");
  }
  await log.close();
}

async function post(): Promise<void> {
  const log = await openRoom();
  const author = { kind: "person", id: "local" } as const;
  const body = { room_id: "r1", thread_id: "main", author, origin: null, attachments: [], owed: ["m-a"], named: [] };
  for (let number = 0; ; number++) {
    const posts = [0, 1, 2, 3].map(async (part) => {
      const message_id = `msg-${number}-${part}`;
      const result = await log.accept({ ...body, message_id, text: message_id });
      if (result.status === "accepted") say(message_id);
    });
    await Promise.all(posts);
  }
}

async function put(): Promise<void> {
  const log = await openSqliteLog({ file, clock: systemClock });
  for (let count = 1; ; count++) {
    const puts = ["s0", "s1", "s2", "s3"].map(async (id) => {
      const record = sessionOf(id, { message_count: count, queue: [promptOf(`${count}`)] });
      await log.sessions.put(record, [{ role: "user", text: `${count}` }]);
      say(`${id} ${count}`);
    });
    await Promise.all(puts);
  }
}

async function tryTo(open: typeof openSqliteLog | typeof openSqliteLogReader): Promise<void> {
  try {
    const log = await open({ file, clock: systemClock, busyTimeoutMs: 100 });
    await log.close();
    say("opened");
  } catch (fault) {
    say(fault instanceof RoomtapError ? fault.code : String(fault));
  }
}

async function race(): Promise<void> {
  const log = await openSqliteLog({ file, clock: systemClock, busyTimeoutMs: 20_000 });
  say("open");
  for (let line = await nextLine(); line !== undefined; line = await nextLine()) {
    const [what, roomId = "", seq = "", generation = ""] = line.split(" ");
    say(
      what === "claim"
        ? await raceForRoom(log, roomId)
        : await raceForRow(log, roomId, Number(seq), Number(generation)),
    );
  }
  await log.close();
}

async function raceForRoom(log: SqliteRoomLog, roomId: string): Promise<string> {
  const seen = await log.lease(roomId);
  say("ready");
  await nextLine();
  const claimed = await claim(log, seen);
  if (claimed.status === "changed") return `taken ${claimed.lease.generation}`;
  const { head, inbox } = (await log.planInput(roomId)) ?? { head: { seq: -1 }, inbox: [] };
  const changes = inbox.map(({ message_id }) => ({ message_id, member_id: "m-a" }));
  const rows = [startOf(roomId, `${roomId}-first`)];
  const base = { room_id: roomId, rows, inbox: changes, expected_seq: head.seq };
  const result = await log.append({ ...base, lease_generation: claimed.lease.generation });
  return result.status === "appended" ? "runner called" : result.status;
}

async function raceForRow(log: SqliteRoomLog, roomId: string, seq: number, generation: number): Promise<string> {
  say("ready");
  await nextLine();
  const rows = [startOf(roomId, `${seq}-${process.pid}`)];
  const result = await log.append({
    room_id: roomId,
    rows,
    inbox: [],
    expected_seq: seq,
    lease_generation: generation,
  });
  return result.status === "position_conflict" ? `at ${result.seq}` : result.status;
}

async function lock(): Promise<void> {
  const connection = connect(file);
  connection.exec("BEGIN IMMEDIATE");
  say("locked");
  await nextLine();
  connection.exec("COMMIT");
  say("released");
  connection.close();
}

const actions: Readonly<Record<string, () => Promise<void>>> = {
  hold,
  post,
  put,
  race,
  lock,
  open: () => tryTo(openSqliteLog),
  look: () => tryTo(openSqliteLogReader),
};
await actions[action ?? ""]?.();
// What is still listened to on stdin keeps nobody.
process.stdin.destroy();
