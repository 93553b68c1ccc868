/**
 * A process of its own that holds a log: `log-child.ts hold FILE` opens it as a host, appends a row and says `ready`;
 * for each line on its stdin it appends one more and says `appended`. `log-child.ts open FILE` opens and closes it and
 * says the code of the error, or `opened`; `log-child.ts look FILE` does so for a reader. `log-child.ts post FILE` posts
 * without end, four at a time, and says the message id of each post as soon as it is accepted.
 */
import { createInterface } from "node:readline";
import { RoomtapError, systemClock } from "../../core/index.ts";
import { openSqliteLog, openSqliteLogReader, type SqliteRoomLog } from "../../rooms/index.ts";

const [, , action, file = ""] = process.argv;
const say = (word: string): void => void process.stdout.write(`${word}\n`);

async function appendNext(log: SqliteRoomLog): Promise<void> {
  const { seq } = await log.head("r1");
  const coordinates = {
    room_id: "r1",
    thread_id: "main",
    member_id: "m-a",
    turn_id: `t-${seq}`,
    task_id: `k-${seq}`,
    execution_generation: 1,
  };
  const discussion = { message_id: "msg-1", round: 0, slot: 0 };
  const input = [{ message_id: "msg-1", author: { kind: "person", id: "local" }, text: "hello" }] as const;
  const start = { input, cause: "message", origin: null, seen_through_seq: 0, roster_digest: "d", discussion } as const;
  const rows = [{ kind: "turn.started", coordinates, payload: start }] as const;
  await log.append({ room_id: "r1", rows, inbox: [], expected_seq: seq });
}

async function hold(): Promise<void> {
  const log = await openSqliteLog({ file, clock: systemClock });
  await log.putRoom({ room_id: "r1", name: "Room", members: [], roster_digest: "d" });
  await appendNext(log);
  say("ready");
  for await (const _ of createInterface({ input: process.stdin })) {
    await appendNext(log);
    say("appended");
  }
  await log.close();
}

async function post(): Promise<void> {
  const log = await openSqliteLog({ file, clock: systemClock });
  await log.putRoom({ room_id: "r1", name: "Room", members: [], roster_digest: "d" });
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

async function tryTo(open: typeof openSqliteLog | typeof openSqliteLogReader): Promise<void> {
  try {
    const log = await open({ file, clock: systemClock, busyTimeoutMs: 100 });
    await log.close();
    say("opened");
  } catch (fault) {
    say(fault instanceof RoomtapError ? fault.code : String(fault));
  }
}

if (action === "hold") await hold();
else if (action === "post") await post();
else await tryTo(action === "look" ? openSqliteLogReader : openSqliteLog);
