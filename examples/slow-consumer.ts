// A consumer that falls behind holds up nobody: its deltas are merged, then dropped, and it is told where. The first
// delta behind a gap is a snapshot, so the text is whole again without a question asked.
import assert from "node:assert/strict";
import { createRoomtap, type ActivityEvent } from "roomtap";

const deltas = 20_000;
const seen: ActivityEvent[] = [];
let text = "";
let wakeUp = (): void => undefined;
const nap = new Promise<void>((resolve) => (wakeUp = resolve));

const steps = [{ repeat: { times: deltas, steps: [{ delta: "." }] } }];
const tap = await createRoomtap({
  db: ":memory:",
  rooms: [{ room_id: "hall", members: [{ handle: "talker", runner: { kind: "scripted", script: { steps } } }] }],
});
const slow = tap.observe({
  id: "slow",
  maxEvents: 4,
  maxEventBytes: 1_024,
  handler: (event) => {
    seen.push(event);
    if (event.kind === "message.delta") {
      text = event.payload.snapshot === true ? event.payload.text : text + event.payload.text;
    }
    // It sleeps over its first event for as long as the turn takes.
    return seen.length === 1 ? nap : undefined;
  },
});

await tap.room("hall").post({ text: "@talker go on" });
await tap.finish();
wakeUp();
await tap.close();

const { published, delivered, merged, dropped } = slow.stats();
const gaps = seen.filter((event) => event.kind === "gap");
const snapshots = seen.filter((event) => event.kind === "message.delta" && event.payload.snapshot === true);
console.log({ published, delivered, merged, dropped, gaps: gaps.length, snapshots: snapshots.length });

assert.equal(published, deltas + 2);
assert.equal(delivered + merged + dropped, published);
assert.ok(dropped > 0 && gaps.length > 0);
assert.equal(snapshots.length, 1);
assert.equal(text.length, deltas);
assert.equal(seen.at(-1)?.kind, "turn.settled");
