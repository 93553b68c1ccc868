// An agent of your own: anything that gets a turn, emits frames, asks, and says how the turn ended.
import assert from "node:assert/strict";
import { createRoomtap, type ActivityEvent, type Runner, type Turn, type TurnEnd } from "roomtap";

class WordCounter implements Runner {
  readonly kind = "word-counter";

  async run(turn: Turn): Promise<TurnEnd> {
    const newest = turn.unseen.at(-1)?.text ?? "";
    turn.emit({ type: "tool.start", payload: { tool_id: "c1", name: "count", args: { text: newest } } });
    const words = newest.split(/\s+/).filter((word) => word !== "" && !word.startsWith("@")).length;
    turn.emit({ type: "tool.complete", payload: { tool_id: "c1", outcome: "ok", result: words } });
    if (turn.signal.aborted) return { status: "cancelled" };
    if (words === 0) return { status: "passed" };
    turn.emit({ type: "message.delta", payload: { text: `${words} words` } });
    // Without a text of its own, what was streamed is the answer.
    return { status: "completed", usage: { words } };
  }

  async close(): Promise<void> {
    // It holds nothing that must be freed.
  }
}

const events: ActivityEvent[] = [];
const tap = await createRoomtap({
  db: ":memory:",
  rooms: [{ room_id: "desk", members: [{ handle: "counter", runner: new WordCounter() }] }],
});
tap.observe({ id: "all", handler: (event) => void events.push(event) });
await tap.room("desk").post({ text: "@counter one two three" });
await tap.finish();
await tap.close();

for (const { n, kind, payload } of events) console.log(n, kind, JSON.stringify(payload));
assert.deepEqual(
  events.map(({ n, kind }) => `${n} ${kind}`),
  ["1 turn.started", "2 tool.started", "3 tool.completed", "4 message.delta", "5 turn.settled"],
);
const end = events.at(-1);
assert.ok(end?.kind === "turn.settled");
assert.equal(end.payload.text, "3 words");
assert.deepEqual(end.payload.usage, { words: 3 });
// All events of the turn share one object that says where they belong.
assert.equal(new Set(events.map(({ coordinates }) => coordinates)).size, 1);
