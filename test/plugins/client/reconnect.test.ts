import { describe, expect, it } from "vitest";
import { LinkError } from "../../../plugins/client/index.ts";
import { Backoff } from "../../../plugins/client/retry.ts";
import { connectedClient, redial, settled, wireClient } from "../../support/wire-client.ts";

describe("the first attempt", () => {
  it("resolves with what gateway.ready says", async () => {
    const { client, gateway } = wireClient();
    const connected = client.connect();
    expect(client.state).toBe("connecting");
    gateway.socket.ready({ capabilities: { rooms: true } });
    expect(await connected).toEqual({
      epoch: "e1",
      origin: "c-1",
      resumed: false,
      resumeToken: "t1",
      heartbeat: true,
      capabilities: { rooms: true },
    });
    expect([client.state, client.origin]).toEqual(["open", "c-1"]);
  });

  it.each([
    ["another event", { jsonrpc: "2.0", method: "event", params: { type: "notice" } }],
    ["a reply", { jsonrpc: "2.0", id: "r1", result: {} }],
    ["a list", []],
    ["broken JSON", "{"],
    ["a ready without an epoch", { jsonrpc: "2.0", method: "event", params: { type: "gateway.ready", payload: {} } }],
  ])("fails when %s comes first", async (_, message) => {
    const { client, gateway } = wireClient();
    const connected = client.connect();
    gateway.socket.say(message);
    await expect(connected).rejects.toMatchObject({ name: "LinkError", reason: "bad_handshake" });
    expect([client.state, gateway.socket.closedWith]).toEqual(["idle", 1000]);
  });

  it.each([
    [14_999, "connecting"],
    [15_000, "idle"],
  ])("after %i ms without a frame is %s", async (ms, state) => {
    const { client, clock } = wireClient();
    const connected = client.connect().catch((fault: unknown) => fault);
    clock.advance(ms);
    expect(client.state).toBe(state);
    void client.close();
    expect(await connected).toBeInstanceOf(LinkError);
  });

  it("may be made again by its caller, and is not by itself", async () => {
    const { client, gateway, clock } = wireClient();
    const first = client.connect();
    gateway.socket.end();
    await expect(first).rejects.toMatchObject({ reason: "unreachable", closeCode: null });
    clock.advance(3_600_000);
    expect(gateway.sockets.length).toBe(1);
    const second = client.connect();
    gateway.socket.ready();
    await second;
    expect(client.state).toBe("open");
  });

  it("carries the token in a header where sockets take one", () => {
    const { client, gateway } = wireClient({}, { token: "secret" });
    client.connect().catch(() => undefined);
    expect(gateway.socket.url.href).toBe("ws://127.0.0.1:1/api/ws");
    expect(gateway.socket.headers).toEqual({ Authorization: "Bearer secret" });
  });

  it("W4 tells the close code of a refused credential, and does not come back", async () => {
    const { client, gateway, clock } = wireClient();
    const connected = client.connect();
    gateway.socket.end(4401, "token_mismatch");
    await expect(connected).rejects.toMatchObject({
      closeCode: 4401,
      closeReason: "token_mismatch",
      mayRetry: false,
    });
    clock.advance(3_600_000);
    expect([client.state, gateway.sockets.length]).toEqual(["ended", 1]);
  });
});

describe("after a close", () => {
  // How long the next attempt waits at least, with a chance of 0; null: there is none.
  it.each([
    [1000, null],
    [1001, 0],
    [1003, 0],
    [1005, 0],
    [1006, 0],
    [1007, 0],
    [1009, 0],
    [1011, 0],
    [1012, 0],
    [1013, 0],
    [4401, null],
    [4403, null],
    [4408, 0],
    [4409, null],
    [4410, null],
    [4429, 5_000],
    [4999, 0],
  ])("with %i the next attempt comes after %s ms", async (code, waitMs) => {
    const { client, gateway, clock } = wireClient({}, {}, 0);
    const connected = client.connect();
    gateway.socket.ready();
    await connected;
    gateway.socket.end(code, "");
    expect(client.state).toBe(waitMs === null ? "ended" : "waiting");
    if (waitMs !== null && waitMs > 0) {
      clock.advance(waitMs - 1);
      expect(gateway.sockets.length).toBe(1);
      clock.advance(1);
    } else {
      clock.advance(waitMs ?? 3_600_000);
    }
    expect(gateway.sockets.length).toBe(waitMs === null ? 1 : 2);
  });

  it("shows its resume token to the next server", async () => {
    const { gateway, clock } = await connectedClient();
    gateway.socket.end();
    redial({ gateway, clock });
    expect(gateway.socket.url.searchParams.get("resume")).toBe("t1");
  });

  it("rejects the calls that wait, and sends none of them again", async () => {
    const { client, gateway, clock } = await connectedClient();
    const call = client.call("session.list", {});
    gateway.socket.end(1011, "internal_error");
    await expect(call).rejects.toMatchObject({ reason: "dropped", closeCode: 1011 });
    await expect(client.call("session.list", {})).rejects.toMatchObject({ reason: "not_connected" });
    redial({ gateway, clock });
    gateway.socket.ready();
    await settled();
    expect(gateway.socket.calls("session.list")).toEqual([]);
  });

  it("tells each state once", async () => {
    const { client, gateway, clock } = wireClient();
    const states: string[] = [];
    client.onState((state) => states.push(state));
    const connected = client.connect();
    gateway.socket.ready();
    await connected;
    gateway.socket.end();
    redial({ gateway, clock });
    gateway.socket.ready();
    gateway.socket.end(4409, "replaced");
    expect(states).toEqual(["connecting", "open", "waiting", "connecting", "open", "ended"]);
  });

  it("hears nothing more of a connection that it gave up", async () => {
    const { client, gateway, clock } = await connectedClient();
    const seen: unknown[] = [];
    client.on("*", (event) => seen.push(event));
    const first = gateway.socket;
    clock.advance(45_000);
    expect([client.state, first.closedWith]).toEqual(["waiting", 1000]);
    first.frame("s1", 1);
    first.end(1006);
    expect([client.state, seen]).toEqual(["waiting", []]);
  });
});

describe("the heartbeat", () => {
  it("W3 is sent every 15 s with ids of its own", async () => {
    const { gateway, clock } = await connectedClient();
    clock.advance(15_000);
    gateway.socket.reply("heartbeat-1", { ok: true });
    clock.advance(15_000);
    expect(gateway.socket.sent).toEqual([
      { jsonrpc: "2.0", id: "heartbeat-1", method: "gateway.ping", params: {} },
      { jsonrpc: "2.0", id: "heartbeat-2", method: "gateway.ping", params: {} },
    ]);
  });

  it("is not sent to a server that knows none", async () => {
    const { client, gateway, clock } = wireClient();
    const connected = client.connect();
    gateway.socket.ready({ heartbeat: false });
    await connected;
    clock.advance(3_600_000);
    expect([client.state, gateway.socket.sent]).toEqual(["open", []]);
  });

  it("drops a socket that is silent for 45 s, and counts any frame as life", async () => {
    const { client, gateway, clock } = await connectedClient();
    clock.advance(30_000);
    gateway.socket.event("notice", { payload: { message: "hello" } });
    clock.advance(44_999);
    expect(client.state).toBe("open");
    clock.advance(1);
    expect(client.state).toBe("waiting");
    clock.advance(1_000);
    expect(gateway.sockets[0]?.terminated).toBe(true);
  });
});

describe("the waits", () => {
  const options = { firstRetryMs: 500, maxRetryMs: 30_000, stableMs: 10_000 };

  it("C-017 grow with each attempt and stay below the longest", () => {
    const backoff = new Backoff(options);
    const waits = Array.from({ length: 9 }, () => backoff.next(0.5));
    expect(waits).toEqual([250, 750, 1_500, 3_000, 6_000, 12_000, 22_500, 22_500, 22_500]);
  });

  it.each([
    [9_999, 750],
    [10_000, 250],
  ])("C-017 after a connection of %i ms are %i ms", (stoodMs, next) => {
    const backoff = new Backoff(options);
    backoff.next(0.5);
    backoff.ended(stoodMs);
    expect(backoff.next(0.5)).toBe(next);
  });

  it("C-017 grow for a client that is evicted again and again", async () => {
    const { client, gateway, clock } = wireClient({}, {}, 0.999);
    const connected = client.connect();
    gateway.socket.ready();
    await connected;
    const waits: number[] = [];
    for (let round = 0; round < 4; round++) {
      const before = clock.monotonic();
      gateway.socket.end(1013, "slow_consumer");
      const sockets = gateway.sockets.length;
      while (gateway.sockets.length === sockets) clock.advance(1);
      waits.push(clock.monotonic() - before);
      gateway.socket.ready();
    }
    expect(waits).toEqual([500, 1_000, 1_999, 3_998]);
  });
});

describe("closing", () => {
  it("closes the socket, rejects what waits, and is final", async () => {
    const { client, gateway, clock } = await connectedClient();
    const call = client.call("session.list", {});
    const closed = client.close();
    await expect(call).rejects.toMatchObject({ reason: "dropped" });
    expect(gateway.socket.closedWith).toBe(1000);
    gateway.socket.end(1000);
    await closed;
    await expect(client.connect()).rejects.toMatchObject({ reason: "closed" });
    clock.advance(3_600_000);
    expect([client.state, gateway.sockets.length, gateway.socket.terminated]).toEqual(["ended", 1, false]);
  });

  it("gives up a peer that does not answer after 1 s", async () => {
    const { client, gateway, clock } = await connectedClient();
    const closed = client.close();
    clock.advance(1_000);
    await closed;
    expect(gateway.socket.terminated).toBe(true);
  });

  it("while it waits makes no further attempt", async () => {
    const { client, gateway, clock } = await connectedClient();
    gateway.socket.end();
    await client.close();
    clock.advance(3_600_000);
    expect(gateway.sockets.length).toBe(1);
  });
});
