/**
 * A host in a process of its own that is to be killed: `room-child.ts FILE POINT`. It drives room r1 with members a and b,
 * says `accepted ID` for each post it has accepted, and at the point says `at POINT` and goes no further:
 * `accept` (a post is durable), `start` and `started` (before and behind the commit of the first start), `turn` (in the
 * first turn), `settle` and `settled` (around the commit of its settle), `second` (before the start of b's turn), `stop`
 * (a stop is durable, and the turn that runs has not heard of it).
 * At the point `never` it posts without end, four at a time.
 */
import { systemClock, systemIds, Tap, type Runner } from "../../core/index.ts";
import { openSqliteLog, RoomHost, type AcceptResult, type AppendResult, type RoomLog } from "../../rooms/index.ts";
import { interposed } from "./interposed.ts";

const [, , file = "", point = ""] = process.argv;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Goes no further when this is the point. */
async function reach(name: string): Promise<void> {
  if (name !== point) return;
  say(`at ${name}`);
  await new Promise(() => systemClock.after(600_000, () => undefined));
}

/** The turn runs on: nobody has told it to stop when the host dies. */
async function stopFromHere(): Promise<void> {
  await host.room("r1").stop();
}

const runner: Runner = {
  kind: "test",
  async run(turn) {
    turn.emit({ type: "message.delta", payload: { text: "I am at it" } });
    turn.emit({ type: "tool.start", payload: { tool_id: "c1", name: "read" } });
    await reach("turn");
    if (point === "stop") await stopFromHere();
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
  async stop(given): ReturnType<RoomLog["stop"]> {
    const result = await log.stop(given);
    await reach("stop");
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
const members = ["a", "b"].map((handle) => ({ handle, runner }));
// Nobody answers an answer: the tests count one turn per post and member.
const rooms = [{ room_id: "r1", members, policy: { maxRounds: 1, maxOwedPasses: 0 } }];
const host = await RoomHost.open({
  log: watched,
  tap,
  clock: systemClock,
  ids: systemIds,
  report: () => undefined,
  rooms,
});
const room = host.room("r1");
if (point !== "never") await room.post({ text: "hello", event_id: "k1" });
else {
  for (let round = 0; ; round++) {
    const posts = [0, 1, 2, 3].map((part) => room.post({ text: `${round} ${part}`, thread_id: `t${part}` }));
    await Promise.all(posts);
  }
}
