// An agent asks before it removes something. Two people are shown the question; one answers, and the other one learns it.
import assert from "node:assert/strict";
import { createRoomtap, WebSocket } from "roomtap";
import { createClient, declined, type Client } from "roomtap/client";

const ask = { method: "approval", params: { command: "rm -rf build", choices: ["once", "deny"] } } as const;
const tap = await createRoomtap({
  db: ":memory:",
  rooms: [],
  agents: { builder: { kind: "scripted", script: { steps: [{ ask }, { finish: "Done." }] } } },
});
const gateway = tap.openGateway();
const { ws: url } = await gateway.listen({ port: 0 });

const open = (): Client => createClient({ url, token: gateway.token, WebSocket });
const seen: string[] = [];

const ada = open();
// Ada is shown the question and thinks about it, until it needs no answer any more.
ada.onRequest("approval", async ({ params, signal }) => {
  seen.push(`Ada is asked: ${String(params["command"])}`);
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
  seen.push("Ada need not answer any more");
  return declined;
});
await ada.connect();

const bob = open();
bob.onRequest("approval", ({ params }) => {
  seen.push(`Bob is asked: ${String(params["command"])}`);
  return { choice: "once" };
});
await bob.connect();

const { session_id, stored_session_id } = await ada.call("session.create", {});
await bob.call("session.resume", { session_id: stored_session_id });

const answeredBy = new Promise((resolve) => {
  ada.on("request.resolved", ({ payload: { outcome, choice, by } }) => resolve({ outcome, choice, by }));
});
const completed = new Promise((resolve) => {
  ada.on("message.complete", ({ payload: { status, text } }) => resolve({ status, text }));
});
await ada.submit({ session_id, text: "clean up" });

assert.deepEqual(await answeredBy, { outcome: "answered", choice: "once", by: { origin: bob.origin } });
assert.deepEqual(await completed, { status: "complete", text: "Done." });
for (const line of seen) console.log(line);
assert.deepEqual(seen.toSorted(), [
  "Ada is asked: rm -rf build",
  "Ada need not answer any more",
  "Bob is asked: rm -rf build",
]);

await Promise.all([ada.close(), bob.close()]);
await tap.close();
