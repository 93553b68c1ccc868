/**
 * A host in a process of its own that is to be killed: `room-child.ts FILE POINT`. It drives room r1 with members a and b,
 * says `accepted ID` for each post it has accepted, and at the point says `at POINT` and goes no further:
 * `accept` (a post is durable), `start` and `started` (before and behind the commit of the first start), `turn` (in the
 * first turn), `settle` and `settled` (around the commit of its settle), `second` (before the start of b's turn).
 * At the point `never` it posts without end, four at a time.
 */
import { systemClock, Tap, type Runner } from "../../core/index.ts";
import { openSqliteLog, RoomHost, type AcceptResult, type AppendResult } from "../../rooms/index.ts";
import { interposed } from "./interposed.ts";

const [, , file = "", point = ""] = process.argv;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Goes no further when this is the point. */
async function reach(name: string): Promise<void> {
  if (name !== point) return;
  say(`at ${name}`);
  await new Promise(() => systemClock.after(600_000, () => undefined));
}

const runner: Runner = {
  kind: "test",
  async run(turn) {
    turn.emit({ type: "message.delta", payload: { text: "I am at it" } });
    turn.emit({ type: "tool.start", payload: { tool_id: "c1", name: "read" } });
    await reach("turn");
    return { status: "completed" };
  },
  close: async () => undefined,
};

const log = await openSqliteLog({ file, clock: systemClock });
let starts = 0;
const watched = interposed(log, {
  async accept(post): Promise<AcceptResult> {
    const result = await log.accept(post);
    if (result.status === "accepted") say(`accepted ${result.post.message_id}`);
    await reach("accept");
    return result;
  },
  async append(append): Promise<AppendResult> {
    const isStart = append.rows[0]?.kind === "turn.started";
    if (isStart && starts++ === 1) await reach("second");
    await reach(isStart ? "start" : "settle");
    const result = await log.append(append);
    await reach(isStart ? "started" : "settled");
    return result;
  },
});

const tap = new Tap({ activity: { listening: false, push: () => undefined } });
const rooms = [{ room_id: "r1", members: ["a", "b"].map((handle) => ({ handle, runner })) }];
const host = await RoomHost.open({ log: watched, tap, clock: systemClock, report: () => undefined, rooms });
const room = host.room("r1");
if (point !== "never") await room.post({ text: "hello", event_id: "k1" });
else {
  for (let round = 0; ; round++) {
    const posts = [0, 1, 2, 3].map((part) => room.post({ text: `${round} ${part}`, thread_id: `t${part}` }));
    await Promise.all(posts);
  }
}
