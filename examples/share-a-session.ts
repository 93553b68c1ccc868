// A session on a laptop, watched from a phone and driven by a teammate. Its owner says who may come, and sends them away.
import assert from "node:assert/strict";
import { createRoomtap, WebSocket } from "roomtap";
import { CallError, createClient, type Client } from "roomtap/client";

const tap = await createRoomtap({
  db: ":memory:",
  rooms: [],
  agents: { helper: { kind: "scripted", script: { steps: [{ delta: "Done: " }, { delta: "as you said." }] } } },
});
// Each principal has a token of its own. What they may do in a session is another question than what their tokens allow.
const tokens = [
  { token: "gw-laptop-0123456789abcdef", principal: "laptop", scopes: ["read", "write", "approvals"] },
  { token: "gw-phone-0123456789abcdef", principal: "phone", scopes: ["read"] },
  { token: "gw-teammate-0123456789abcdef", principal: "teammate", scopes: ["read", "write"] },
] as const;
const gateway = tap.openGateway({ auth: { tokens } });
const { ws: url } = await gateway.listen({ port: 0 });

/** A client of one principal, and the texts that it reads. */
async function connect(principal: string): Promise<{ readonly client: Client; readonly texts: string[] }> {
  const { token = "" } = tokens.find((each) => each.principal === principal) ?? {};
  const client = createClient({ url, token, WebSocket });
  const texts: string[] = [];
  client.on("message.complete", ({ payload }) => texts.push(String(payload?.["text"])));
  await client.connect();
  return { client, texts };
}

/** The word by which a call is refused. */
async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "not refused";
  } catch (fault) {
    return fault instanceof CallError ? String(fault.reason) : String(fault);
  }
}

/** Resolves at the next event of this type. */
function next(client: Client, type: string): Promise<unknown> {
  return new Promise((resolve) => {
    const undo = client.on(type, ({ payload }) => {
      undo();
      resolve(payload);
    });
  });
}

const laptop = await connect("laptop");
const phone = await connect("phone");
const teammate = await connect("teammate");
const { session_id } = await laptop.client.call("session.create", { title: "Release" });

// It is private until its owner opens it.
assert.equal(await refusal(phone.client.call("session.attach", { session_id })), "session_private");
await laptop.client.call("session.visibility", { session_id, visibility: "shared" });
await phone.client.call("session.attach", { session_id });
await teammate.client.call("session.attach", { session_id, role: "member" });
const { observers } = await laptop.client.call("session.observers", { session_id });
console.log(observers.map(({ role }) => role).join(", "));
assert.deepEqual(
  observers.map(({ client_id, role }) => [client_id, role]),
  [
    [laptop.client.origin, "owner"],
    [phone.client.origin, "viewer"],
    [teammate.client.origin, "member"],
  ],
);

// The teammate drives, the phone watches, and neither owns the session by that.
const ends = [laptop, phone, teammate].map(({ client }) => next(client, "message.complete"));
await teammate.client.submit({ session_id, text: "release it" });
await Promise.all(ends);
for (const { texts } of [laptop, phone, teammate]) assert.deepEqual(texts, ["Done: as you said."]);
assert.equal(await refusal(phone.client.call("prompt.submit", { session_id, text: "no" })), "insufficient_scope");
assert.equal(await refusal(teammate.client.call("session.close", { session_id })), "not_owner");

// For viewers only: the teammate goes on watching.
await laptop.client.call("session.visibility", { session_id, visibility: "read_only" });
assert.equal(await refusal(teammate.client.call("prompt.submit", { session_id, text: "more" })), "viewer_cannot_send");

// Private again: whatever the call has not let out by now, nobody else sees any more.
const told = Promise.all([next(phone.client, "session.detached"), next(teammate.client, "session.detached")]);
const { revoked } = await laptop.client.call("session.visibility", { session_id, visibility: "private" });
assert.equal(revoked.length, 2);
assert.deepEqual(await told, [
  { session_id, reason: "visibility" },
  { session_id, reason: "visibility" },
]);
assert.equal(await refusal(phone.client.call("session.history", { session_id })), "unknown_session");
const alone = next(laptop.client, "message.complete");
await laptop.client.submit({ session_id, text: "and now quietly" });
await alone;
assert.deepEqual([laptop.texts.length, phone.texts.length, teammate.texts.length], [2, 1, 1]);
console.log("The laptop shared its session, and took it back.");

await Promise.all([laptop, phone, teammate].map(({ client }) => client.close()));
await tap.close();
