import { once } from "node:events";
import { createServer } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { limits, manualClock, Signal, type ManualClock } from "../../../core/index.ts";
import type { Identity } from "../../../plugins/gateway/index.ts";
import { SocketServer, textFrame, type Link } from "../../../plugins/gateway/sockets.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { RawSocket } from "../../support/raw-socket.ts";
import { turnsOfLoop } from "../../support/turns-of-loop.ts";

const local: Identity = { principal: "local", generation: "g1", scopes: ["admin"], grants: [] };

/** A link whose client has not read anything yet. */
async function pausedLink(clock: ManualClock): Promise<{ link: Link; client: RawSocket; ended: Promise<void> }> {
  const sockets = new SocketServer(clock);
  const server = createServer();
  onTestFinished(() => void server.close());
  const accepted = new Promise<Link>((resolve) => {
    server.on("upgrade", (request, socket, head) => sockets.accept(request, socket, head, resolve));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const client = new RawSocket(`ws://127.0.0.1:${port}`);
  await client.opened();
  client.ws.pause();
  const link = await accepted;
  const end = new Signal();
  const ignore = (): void => undefined;
  link.listen({ onMessage: ignore, onBinary: ignore, onLife: ignore, onClosing: ignore, onEnd: end.fire });
  return { link, client, ended: end.fired };
}

/** Resolves when the server has read all that was sent before. */
async function isRead(socket: RawSocket): Promise<void> {
  socket.ws.ping();
  await once(socket.ws, "pong");
}

describe("a link that closes with a backlog", () => {
  const frame = textFrame(JSON.stringify({ pad: "x".repeat(65_536) }));

  it("C-012 brings all of it, then the first cause, to a client that reads again", async () => {
    const { link, client, ended } = await pausedLink(manualClock());
    for (let count = 0; count < 400; count++) link.write([frame], () => undefined);
    link.closeFor("slow_consumer");
    link.closeFor("liveness_timeout");
    link.write([frame], () => undefined);
    client.ws.resume();
    expect(await client.closed).toEqual({ code: 1013, reason: "slow_consumer" });
    expect(client.frames).toHaveLength(400);
    await ended;
  });

  it("C-012 cuts off a client that does not drain within a second", async () => {
    const clock = manualClock();
    const { link, client, ended } = await pausedLink(clock);
    let done = 0;
    for (let count = 0; count < 400; count++) link.write([frame], () => done++);
    link.closeFor("slow_consumer");
    clock.advance(limits.closeGraceMs);
    await ended;
    expect(done).toBe(400);
    client.ws.resume();
    expect((await client.closed).code).toBe(1006);
  });

  it("C-012 of a whole gateway tells the client that it was too slow", async () => {
    const { host, connect, gateway } = await openGateway();
    const socket = await connect();
    const session = host.tap.sessions.open("s1", { roomPlumbing: false });
    const [client] = host.clients;
    if (client === undefined) throw new Error("nobody has come");
    host.fanOut.attach(client, session, { after: 0 });
    socket.ws.pause();
    const params = { type: "notice", session_id: session.runtimeId, payload: { message: "x".repeat(900_000) } };
    for (let count = 0; !client.isClosed && count < 200; count++) {
      host.tap.seam.writeJson({ jsonrpc: "2.0", method: "event", params });
      await turnsOfLoop(1);
    }
    expect(host.clients).toEqual([]);
    expect(gateway.connections).toBe(0);
    socket.ws.resume();
    expect(await socket.closed).toEqual({ code: 1013, reason: "slow_consumer" });
    expect(gateway.count("slow_consumer")).toBe(1);
  });
});

describe("a connection that is silent", () => {
  it("C-020 is kept for two intervals and closed behind them", async () => {
    const clock = manualClock();
    const { url, host } = await openGateway({ clock });
    const socket = new RawSocket(url, { autoPong: false });
    await socket.next();
    clock.advance(60_000);
    await isStillOpen(socket);
    clock.advance(60_000);
    expect(host.clients).toHaveLength(1);
    clock.advance(1);
    expect(await socket.closed).toEqual({ code: 4408, reason: "liveness_timeout" });
    expect(host.clients).toEqual([]);
  });

  it("C-020 is kept for ever while it answers pings", async () => {
    const clock = manualClock();
    const { connect, host } = await openGateway({ clock });
    const socket = await connect();
    for (let beat = 0; beat < 8; beat++) {
      const pinged = once(socket.ws, "ping");
      clock.advance(30_000);
      await pinged;
      // The answer is on its way: the server reads it before time goes on.
      await turnsOfLoop(2);
    }
    expect(host.clients).toHaveLength(1);
    expect(await socket.call("gateway.ping")).toMatchObject({ result: { ok: true } });
  });

  it("is never asked when the interval is 0", async () => {
    const clock = manualClock();
    const { url, host } = await openGateway({ clock, pingIntervalMs: 0 });
    const socket = new RawSocket(url, { autoPong: false });
    await socket.next();
    clock.advance(86_400_000);
    await isStillOpen(socket);
    expect(host.clients).toHaveLength(1);
  });

  async function isStillOpen(socket: RawSocket): Promise<void> {
    expect(await socket.call("gateway.ping")).toMatchObject({ result: { ok: true } });
  }
});

describe("a connection that is not let in yet", () => {
  it("C-075 has what it sent handled after gateway.ready, in order", async () => {
    const gate = new Signal();
    const { url } = await openGateway({ authenticate: () => gate.fired.then(() => local) });
    const socket = new RawSocket(url);
    await socket.opened();
    socket.send({ jsonrpc: "2.0", id: 1, method: "gateway.ping" });
    socket.send({ jsonrpc: "2.0", id: 2, method: "client.capabilities", params: {} });
    await isRead(socket);
    expect(socket.frames).toEqual([]);
    gate.fire();
    const [ready, ...replies] = await socket.take(3);
    expect(ready).toMatchObject({ params: { type: "gateway.ready" } });
    expect(replies.map(({ id }) => id)).toEqual([1, 2]);
  });

  it("C-075 has nothing handled when it is refused", async () => {
    const gate = new Signal();
    const { url, host } = await openGateway({ authenticate: () => gate.fired.then(() => "token_mismatch" as const) });
    const socket = new RawSocket(url);
    await socket.opened();
    socket.send({ jsonrpc: "2.0", id: "srq-1", result: {} });
    await isRead(socket);
    gate.fire();
    expect(await socket.closed).toEqual({ code: 4401, reason: "token_mismatch" });
    expect([socket.frames, host.answers, host.clients]).toEqual([[], [], []]);
  });

  it.each([
    [limits.maxEarlyMessages - 1, 10, true],
    [limits.maxEarlyMessages, 10, true],
    [limits.maxEarlyMessages + 1, 10, false],
    [100, 10, false],
    [1, limits.maxEarlyBytes - 1, true],
    [1, limits.maxEarlyBytes, true],
    [1, limits.maxEarlyBytes + 1, false],
  ])("C-075 may send %i messages of %i bytes: %s", async (count, bytes, isHeld) => {
    const gate = new Signal();
    const { url } = await openGateway({ authenticate: () => gate.fired.then(() => local) });
    const socket = new RawSocket(url);
    await socket.opened();
    for (let sent = 0; sent < count; sent++) socket.send(" ".repeat(bytes));
    if (!isHeld) {
      expect(await socket.closed).toEqual({ code: 4429, reason: "early_frames" });
      return;
    }
    await isRead(socket);
    gate.fire();
    expect(await socket.next()).toMatchObject({ params: { type: "gateway.ready" } });
  });

  it("is closed with 1011 when its credential cannot be checked", async () => {
    const { url, host } = await openGateway({ authenticate: () => Promise.reject(new Error("no answer")) });
    expect(await new RawSocket(url).closed).toEqual({ code: 1011, reason: "internal_error" });
    expect(host.notices.map(({ code }) => code)).toEqual(["internal"]);
  });
});
