// A program that has an HTTP server already lets clients in through it: its own routes stay as they are.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createRoomtap, WebSocket } from "roomtap";
import { createClient } from "roomtap/client";

const server = createServer((request, response) => {
  response.writeHead(request.url === "/health" ? 200 : 404);
  response.end(request.url === "/health" ? "well\n" : "not here\n");
});

const tap = await createRoomtap({
  db: ":memory:",
  rooms: [
    {
      room_id: "lobby",
      members: [{ handle: "greeter", runner: { kind: "scripted", script: { steps: [{ delta: "Welcome!" }] } } }],
    },
  ],
});
const gateway = tap.openGateway();
gateway.attach(server);
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;
const health = async (): Promise<string> => (await fetch(`http://127.0.0.1:${port}/health`)).text();

const client = createClient({
  url: `ws://127.0.0.1:${port}/api/ws`,
  token: gateway.token,
  WebSocket,
  reconnect: false,
});
const ended = new Promise<string>((resolve) => {
  client.onEnd(({ closeCode, closeReason }) => resolve(`${closeCode} ${closeReason}`));
});
await client.connect();
let tell: (text: string) => void = () => undefined;
const answer = new Promise<string>((resolve) => (tell = resolve));
await client.subscribeRoom(
  { room_id: "lobby" },
  { onRow: (row) => row.kind === "turn.settled" && tell(row.payload.text) },
);
await client.post({ room_id: "lobby", text: "@greeter hello" });
assert.equal(await answer, "Welcome!");
assert.equal(await health(), "well\n");

// The host goes and takes its clients along; the server is still the program's own.
await tap.close();
assert.equal(await ended, "1001 shutting_down");
assert.equal(await health(), "well\n");
console.log("The agent answered, and the server outlived the host.");
server.close();
