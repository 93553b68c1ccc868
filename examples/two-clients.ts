// Two clients on one session. Both see the same frames, whose turn it is, and what the other one typed.
import assert from "node:assert/strict";
import { createRoomtap, WebSocket } from "roomtap";
import { createClient, type Client, type WireEvent } from "roomtap/client";

const steps = [{ delta: "Hello " }, { delta: "to both of you." }];
const tap = await createRoomtap({
  db: ":memory:",
  rooms: [],
  agents: { helper: { kind: "scripted", script: { steps } } },
});
const gateway = tap.openGateway();
const { ws: url } = await gateway.listen({ port: 0 });

/** A client, and the frames of turns that it sees. */
async function connect(): Promise<{ readonly client: Client; readonly frames: WireEvent[] }> {
  // Browsers and Node 22 have a WebSocket of their own; Node 20 is given this one.
  const client = createClient({ url, token: gateway.token, WebSocket });
  const frames: WireEvent[] = [];
  client.on("*", (event) => {
    if (event.turn !== undefined) frames.push(event);
  });
  await client.connect();
  return { client, frames };
}

const turnEnd = (client: Client): Promise<void> =>
  new Promise((resolve) => void client.on("message.complete", () => resolve()));

const ada = await connect();
const bob = await connect();
const { session_id, stored_session_id } = await ada.client.call("session.create", { title: "Plans" });
const { watching } = await bob.client.call("session.resume", { session_id: stored_session_id });
assert.equal(watching, true);

for (const { client } of [ada, bob]) {
  const ends = Promise.all([turnEnd(ada.client), turnEnd(bob.client)]);
  const { status } = await client.submit({ session_id, text: client === ada.client ? "I am Ada" : "I am Bob" });
  assert.equal(status, "streaming");
  await ends;
}

for (const { seq, origin, type, payload } of ada.frames) {
  console.log(seq, origin === ada.client.origin ? "Ada's turn" : "Bob's turn", type, JSON.stringify(payload));
}
assert.deepEqual(ada.frames, bob.frames);
assert.deepEqual(
  bob.frames.flatMap(({ type, origin, payload }) => (type === "message.start" ? [[origin, payload?.["input"]]] : [])),
  [
    [ada.client.origin, { role: "user", text: "I am Ada" }],
    [bob.client.origin, { role: "user", text: "I am Bob" }],
  ],
);

await Promise.all([ada.client.close(), bob.client.close()]);
await tap.close();
