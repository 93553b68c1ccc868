// An agent asks before it removes something. The first answer counts; who comes later learns what it was.
import assert from "node:assert/strict";
import { createRoomtap, type EventOf } from "roomtap";

const ask = { method: "approval", params: { command: "rm -rf build", choices: ["once", "deny"] } } as const;
const resolved: EventOf<"request.resolved">[] = [];

const tap = await createRoomtap({
  db: ":memory:",
  rooms: [
    {
      room_id: "release",
      members: [{ handle: "builder", runner: { kind: "scripted", script: { steps: [{ ask }, { finish: "Done." }] } } }],
    },
  ],
  onRequest: ({ id, params }) => {
    console.log(`${id} asks: ${String(params["command"])}`);
    const first = tap.requests.answer(id, "once", "ada");
    const second = tap.requests.answer(id, "deny", "bob");
    assert.equal(first.status, "ok");
    assert.equal(second.status, "already_resolved");
  },
});
tap.observe({
  id: "approvals",
  kinds: ["request.resolved"],
  // Without this grant the choice would not be told.
  grants: ["approvals"],
  handler: (event) => {
    if (event.kind === "request.resolved") resolved.push(event);
  },
});

await tap.room("release").post({ text: "@builder clean up" });
const unanswered = await tap.finish();
await tap.close();

assert.deepEqual(unanswered, []);
assert.equal(resolved.length, 1);
assert.equal(resolved[0]?.payload.outcome, "answered");
assert.equal(resolved[0]?.payload.choice, "once");
assert.deepEqual(resolved[0]?.payload.by, { origin: "ada" });
