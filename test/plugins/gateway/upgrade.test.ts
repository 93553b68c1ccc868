import { connect as dial } from "node:net";
import { createServer } from "node:http";
import { once } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { manualClock } from "../../../core/index.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { RawSocket } from "../../support/raw-socket.ts";

/** The first line of the answer to a request that is written by hand. */
async function statusLine(port: number, lines: readonly string[]): Promise<string> {
  const socket = dial({ port, host: "127.0.0.1" });
  onTestFinished(() => void socket.destroy());
  socket.write([...lines, "", ""].join("\r\n"));
  const [data] = (await once(socket, "data")) as [Buffer];
  return data.toString().split("\r\n", 1)[0] ?? "";
}

function upgradeOf(path: string, headers: readonly string[] = []): readonly string[] {
  return [
    `GET ${path} HTTP/1.1`,
    "Host: 127.0.0.1",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ...headers,
  ];
}

describe("an upgrade that is let in", () => {
  it("W1 is told of itself in its first frame", async () => {
    const { url, host } = await openGateway();
    const ready = await new RawSocket(url).next();
    expect(ready).toEqual({
      jsonrpc: "2.0",
      method: "event",
      params: {
        type: "gateway.ready",
        payload: {
          skin: {},
          change_events: false,
          heartbeat: true,
          replay_epoch: host.epoch,
          session_mirroring: true,
          origin: expect.stringMatching(/^c-[0-9a-f]{32}$/),
          resume_token: expect.stringMatching(/^[\w-]{43}$/),
          resumed: false,
          protocol: { version: 1 },
          capabilities: {
            event_replay: true,
            change_events: false,
            turn_lease: true,
            turn_recovery: true,
            client_turn_id: true,
            rooms: true,
            room_activity: true,
            session_sharing: true,
            message_input: true,
          },
        },
      },
    });
  });

  it("W2 has an id that no other connection ever had", async () => {
    const { url } = await openGateway();
    const origins: unknown[] = [];
    for (let count = 0; count < 3; count++) {
      const socket = new RawSocket(url);
      const { params } = (await socket.next()) as { params: { payload: { origin: string } } };
      origins.push(params.payload.origin);
      socket.ws.close();
      await socket.closed;
    }
    expect(new Set(origins).size).toBe(3);
  });

  it("W6 shows a bearer, and not a ticket beside it", async () => {
    const { port, gateway } = await openGateway();
    const url = `ws://127.0.0.1:${port}/api/ws`;
    const headers = { authorization: `Bearer ${gateway.token}` };
    expect(await new RawSocket(url, { headers }).next()).toMatchObject({ params: { type: "gateway.ready" } });
    const both = new RawSocket(`${url}?ticket=t`, { headers });
    expect(await both.closed).toEqual({ code: 4401, reason: "credential_ambiguous" });
  });

  it("gets the one subprotocol that there is, when it offers it", async () => {
    const { url } = await openGateway();
    const named = new RawSocket(url, { protocols: ["other", "hermes-gateway-v1"] });
    await named.next();
    expect(named.ws.protocol).toBe("hermes-gateway-v1");
    const strange = new RawSocket(url, { protocols: ["other"] });
    strange.ws.on("upgrade", (response) => {
      expect(response.headers["sec-websocket-protocol"]).toBeUndefined();
      expect(response.headers["sec-websocket-extensions"]).toBeUndefined();
    });
    await strange.closed;
  });
});

describe("a gateway that is given no token", () => {
  it("has a token of its own, which no text shows", async () => {
    const { gateway, host, connect } = await openGateway({ token: undefined });
    expect(gateway.token).toMatch(/^[\w-]{43}$/);
    expect(host.redactor.text(`token ${gateway.token}`)).toBe("token [redacted]");
    await connect();
  });

  it("warns of a weak one on loopback, and refuses it elsewhere", async () => {
    const { host } = await openGateway({ token: "test" });
    expect(host.notices.map(({ code }) => code)).toEqual(["weak_token"]);
    await expect(openGateway({ token: "test", host: "0.0.0.0", allowedOrigins: [] })).rejects.toMatchObject({
      code: "invalid_config",
    });
  });
});

describe("an upgrade that is refused", () => {
  it("W4 is accepted, gets no frame, and is closed for its token", async () => {
    const { port, gateway } = await openGateway();
    const socket = new RawSocket(`ws://127.0.0.1:${port}/api/ws?token=wrong`);
    expect(await socket.closed).toEqual({ code: 4401, reason: "token_mismatch" });
    expect(socket.frames).toEqual([]);
    expect(gateway.count("token_mismatch")).toBe(1);
  });

  it.each([
    ["", undefined, 4401, "no_credential"],
    ["?ticket=t", undefined, 4401, "ticket_invalid"],
    ["?token=a&token=b", undefined, 4401, "credential_ambiguous"],
    ["?token=TOKEN", { origin: "http://elsewhere.example" }, 4403, "origin_not_allowed"],
    ["?token=TOKEN", { origin: "null" }, 4403, "origin_not_allowed"],
    ["?token=TOKEN", { host: "rebind.example" }, 4403, "host_not_allowed"],
    ["", { host: "rebind.example" }, 4403, "host_not_allowed"],
    ["?token=TOKEN", { "x-forwarded-for": "10.0.0.1" }, 4401, "no_credential"],
  ])("%s with %o is closed with %i %s", async (query, headers, code, reason) => {
    const { port, gateway } = await openGateway();
    const url = `ws://127.0.0.1:${port}/api/ws${query.replace("TOKEN", gateway.token)}`;
    const socket = new RawSocket(url, headers === undefined ? {} : { headers });
    expect(await socket.closed).toEqual({ code, reason });
    expect(socket.frames).toEqual([]);
  });

  it.each([
    ["Authorization: Bearer a", "credential_ambiguous"],
    ["Host: 127.0.0.1", "host_not_allowed"],
    ["Origin: http://127.0.0.1", "origin_not_allowed"],
  ])("is refused when %s stands there twice", async (header, reason) => {
    const { port } = await openGateway();
    const socket = dial({ port, host: "127.0.0.1" });
    onTestFinished(() => void socket.destroy());
    const once = header.startsWith("Host") ? [] : [header];
    socket.write([...upgradeOf("/api/ws", [...once, header]), "", ""].join("\r\n"));
    let told = "";
    for await (const data of socket) {
      told += (data as Buffer).toString();
      if (told.includes(reason)) break;
    }
    expect(told).toContain(reason);
  });

  it("is told 404 for another path and 400 for a malformed one", async () => {
    const { port } = await openGateway();
    expect(await statusLine(port, upgradeOf("/api/other"))).toBe("HTTP/1.1 404 Not Found");
    for (const path of ["/api/ws/", "/api\\ws", "/api/../api/ws", "/api/./ws", "/api/%77s"]) {
      expect(await statusLine(port, upgradeOf(path))).toBe("HTTP/1.1 404 Not Found");
    }
    const [request = "", ...headers] = upgradeOf("/api/ws");
    const noKey = headers.filter((header) => !header.startsWith("Sec-WebSocket-Key"));
    expect(await statusLine(port, [request, ...noKey])).toBe("HTTP/1.1 400 Bad Request");
    expect(await statusLine(port, [request.replace("GET", "POST"), ...headers])).toBe("HTTP/1.1 400 Bad Request");
  });

  it("is told 429 when too many of its address have not shown who they are", async () => {
    const { port, url, gateway } = await openGateway({
      authenticate: () => new Promise(() => undefined),
      maxPendingPerAddress: 2,
    });
    await Promise.all([new RawSocket(url).opened(), new RawSocket(url).opened()]);
    expect(await statusLine(port, upgradeOf("/api/ws"))).toBe("HTTP/1.1 429 Too Many Requests");
    expect(gateway.count("too_many_pending")).toBe(1);
  });

  it("is one too many of its principal", async () => {
    const { url, connect, gateway } = await openGateway({ maxConnectionsPerPrincipal: 2 });
    const [first] = await Promise.all([connect(), connect()]);
    expect(await new RawSocket(url).closed).toEqual({ code: 4429, reason: "connection_limit" });
    first?.ws.close();
    await first?.closed;
    await connect();
    expect(gateway.connections).toBe(2);
  });

  it("is one too many of an address, unless bind and peer are loopback", async () => {
    const local = await openGateway({ maxUpgradesPerAddress: 1 });
    await local.connect();
    await local.connect();
    const open = await openGateway({ host: "0.0.0.0", allowedOrigins: [], maxUpgradesPerAddress: 1 });
    const headers = { authorization: `Bearer ${open.gateway.token}` };
    const url = `ws://127.0.0.1:${open.port}/api/ws`;
    await new RawSocket(url, { headers }).next();
    expect(await new RawSocket(url, { headers }).closed).toEqual({ code: 4429, reason: "upgrade_rate" });
  });

  it("shows its token in a URL on a bind that others can reach", async () => {
    const { url } = await openGateway({ host: "0.0.0.0", allowedOrigins: [] });
    expect(await new RawSocket(url).closed).toEqual({ code: 4401, reason: "no_credential" });
  });
});

describe("a gateway on somebody else's server", () => {
  it("leaves what is not its own, and lets go when it is undone", async () => {
    const { gateway, host } = await openGateway();
    const server = createServer((_request, response) => response.end("theirs"));
    onTestFinished(() => void server.close());
    const undo = gateway.attach(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const socket = new RawSocket(`ws://127.0.0.1:${port}/api/ws?token=${gateway.token}`);
    await socket.next();
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("theirs");
    undo();
    undo();
    expect(server.listenerCount("upgrade")).toBe(0);
    expect(host.clients).toHaveLength(1);
    socket.ws.close();
    await socket.closed;
  });

  it("leaves a server that listens anew where others can reach it", async () => {
    const { gateway, host } = await openGateway();
    const server = createServer();
    onTestFinished(() => void server.close());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const own = server.listenerCount("listening");
    gateway.attach(server);
    server.close();
    await once(server, "close");
    server.listen(0, "0.0.0.0");
    await once(server, "listening");
    expect([server.listenerCount("upgrade"), server.listenerCount("listening")]).toEqual([0, own]);
    expect(host.notices.map(({ code }) => code)).toEqual(["invalid_config"]);
  });

  it("leaves a server that others can reach when it names no origins", async () => {
    const { gateway, host } = await openGateway();
    const server = createServer();
    onTestFinished(() => void server.close());
    gateway.attach(server);
    server.listen(0, "0.0.0.0");
    await once(server, "listening");
    expect(server.listenerCount("upgrade")).toBe(0);
    expect(host.notices.map(({ code }) => code)).toEqual(["invalid_config"]);
    expect(() => gateway.attach(server)).toThrow(expect.objectContaining({ code: "invalid_config" }));
  });
});

describe("a server of the gateway's own", () => {
  it("has no pages, and says 403 to whom it does not know", async () => {
    const { port } = await openGateway();
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
    const headers = { origin: "http://elsewhere.example" };
    expect((await fetch(`http://127.0.0.1:${port}/`, { headers })).status).toBe(403);
  });

  it("says why it cannot listen", async () => {
    const { gateway, port } = await openGateway();
    await expect(gateway.listen({ port })).rejects.toMatchObject({ code: "listen_failed" });
  });

  it("ends its connections with 1001 when it closes", async () => {
    const { gateway, connect, url } = await openGateway();
    const socket = await connect();
    const closing = [gateway.close(), gateway.close()];
    expect(await socket.closed).toEqual({ code: 1001, reason: "shutting_down" });
    await Promise.all(closing);
    const late = new RawSocket(url);
    expect((await late.closed).code).toBe(1006);
  });

  it("listens no more once it is closed, also when it was about to", async () => {
    const { gateway } = await openGateway();
    const listening = gateway.listen({ port: 0 });
    const closing = gateway.close();
    await expect(listening).rejects.toMatchObject({ code: "closed" });
    await closing;
    await expect(gateway.listen({ port: 0 })).rejects.toMatchObject({ code: "closed" });
    const server = createServer();
    expect(() => gateway.attach(server)).toThrow(expect.objectContaining({ code: "closed" }));
    expect(server.listenerCount("upgrade")).toBe(0);
  });

  it.each([
    [{ pingIntervalMs: -1 }, "pingIntervalMs"],
    [{ pingIntervalMs: Number.NaN }, "pingIntervalMs"],
    [{ maxSilentPings: 0 }, "maxSilentPings"],
    [{ maxConnections: 0 }, "maxConnections"],
  ])("does not start with %o", async (options, name) => {
    await expect(openGateway({ ...options, clock: manualClock() })).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringContaining(name),
    });
  });
});
