import { describe, expect, it } from "vitest";
import { z } from "zod";
import { limits, manualClock, RoomtapError, Signal } from "../../../core/index.ts";
import { atReply, defineMethod, type Method } from "../../../plugins/gateway/index.ts";
import { openGateway, type SmallHost } from "../../support/open-gateway.ts";
import { turnsOfLoop, until } from "../../support/turns-of-loop.ts";

const anything = z.looseObject({});

/** Answers with what it was given. */
const echo = define("client.capabilities.echo", ({ value }) => ({ value: value ?? null }));

function define(name: string, handler: Parameters<typeof method>[1]): Method<SmallHost> {
  return method(name, handler);
}

function method(
  name: string,
  handler: (params: Record<string, unknown>, call: Parameters<Method<SmallHost>["invoke"]>[1]) => unknown,
  options: { readonly paced?: boolean; readonly maxResultBytes?: number } = {},
): Method<SmallHost> {
  return defineMethod<typeof anything, z.ZodUnknown, SmallHost>({
    name,
    summary: "A method of the tests.",
    params: anything,
    result: z.unknown(),
    ...options,
    handler,
  });
}

const refusal = (code: number, reason: string, id: unknown = null): unknown => ({
  jsonrpc: "2.0",
  id,
  error: { code, message: expect.any(String), data: expect.objectContaining({ reason }) },
});

describe("a message", () => {
  it("W8 that is no call is refused, and the socket stays", async () => {
    const { connect } = await openGateway({ methods: [echo] });
    const socket = await connect();
    for (const text of ["[]", "42", "{", '{"id":true,"method":"m"}', "  \n ", ""]) socket.send(text);
    socket.send({ jsonrpc: "2.0", method: echo.name, params: {} });
    socket.send({ jsonrpc: "2.0", id: null, method: echo.name, params: { value: 1 } });
    expect(await socket.take(5)).toEqual([
      refusal(-32600, "invalid_request"),
      refusal(-32600, "invalid_request"),
      refusal(-32700, "parse_error"),
      refusal(-32600, "invalid_request"),
      { jsonrpc: "2.0", id: null, result: { value: 1 } },
    ]);
    expect(await socket.call("gateway.ping", {}, "last")).toEqual({ jsonrpc: "2.0", id: "last", result: { ok: true } });
  });

  it("C-076 has its id echoed with value and type, if it is one", async () => {
    const { connect, host } = await openGateway({ methods: [echo] });
    const socket = await connect();
    const method = `"method":"${echo.name}"`;
    for (const id of ["0", "-1", '""', '"1"', "1", "null"]) {
      socket.send(`{"jsonrpc":"2.0","id":${id},${method}}`);
      expect(await socket.next()).toEqual({ jsonrpc: "2.0", id: JSON.parse(id), result: { value: null } });
    }
    socket.send(`{"jsonrpc":"2.0",${method},"params":[]}`);
    for (const id of ["1.5", "1e400", "9007199254740993", "true", "{}", "[]"]) {
      socket.send(`{"jsonrpc":"2.0","id":${id},${method}}`);
      expect(await socket.next()).toEqual(refusal(-32600, "invalid_request"));
    }
    socket.send(`[{"jsonrpc":"2.0","id":1,${method}},{"jsonrpc":"2.0","id":2,${method}}]`);
    expect(await socket.next()).toEqual(refusal(-32600, "invalid_request"));
    socket.send({ jsonrpc: "2.0", id: 7, result: { answer: "yes" } });
    socket.send({ jsonrpc: "2.0", id: "srq-0123456789ab", result: { answer: "yes" } });
    await socket.call("gateway.ping");
    expect(host.answers).toEqual([{ id: "srq-0123456789ab", result: { answer: "yes" } }]);
  });

  it('C-076 with id 1 and one with id "1" are open together, and no id twice', async () => {
    const gate = new Signal();
    const slow = method("test.slow", ({ value }) => gate.fired.then(() => value));
    const { connect } = await openGateway({ methods: [slow] });
    const socket = await connect();
    for (const id of [1, "1", 1]) socket.send({ jsonrpc: "2.0", id, method: slow.name, params: { value: typeof id } });
    expect(await socket.next()).toEqual(refusal(-32600, "duplicate_id", 1));
    gate.fire();
    expect(await socket.take(2)).toEqual([
      { jsonrpc: "2.0", id: 1, result: "number" },
      { jsonrpc: "2.0", id: "1", result: "string" },
    ]);
  });

  it.each([
    [{ id: 1, method: "m", result: 1 }, refusal(-32600, "invalid_request", 1)],
    [{ id: 1, method: "m", error: {} }, refusal(-32600, "invalid_request", 1)],
    [{ id: 1, method: 5 }, refusal(-32600, "invalid_request", 1)],
    [{ id: 1 }, refusal(-32600, "invalid_request", 1)],
    [{ jsonrpc: "1.0", id: 1, method: "m" }, refusal(-32600, "invalid_request", 1)],
    [{ id: 1, method: echo.name, params: [] }, refusal(-32602, "invalid_params", 1)],
    [{ id: 1, method: echo.name, params: "x" }, refusal(-32602, "invalid_params", 1)],
    [
      { id: 1, method: echo.name, params: null },
      { jsonrpc: "2.0", id: 1, result: { value: null } },
    ],
    [{ id: 1, method: "no.such" }, refusal(-32601, "unknown_method", 1)],
    [
      { id: 1, method: "client.capabilities", params: { server_requests: "yes" } },
      refusal(-32602, "invalid_params", 1),
    ],
  ])("%o is answered", async (message, expected) => {
    const { connect } = await openGateway({ methods: [echo] });
    const socket = await connect();
    socket.send(message);
    expect(await socket.next()).toEqual(expected);
  });

  it("C-080 with a name of the prototype is data or nothing", async () => {
    const { connect } = await openGateway({ methods: [echo] });
    const socket = await connect();
    for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
      expect(await socket.call(name)).toEqual(refusal(-32601, "unknown_method", "c1"));
    }
    socket.send(`{"jsonrpc":"2.0","id":1,"method":"${echo.name}","params":{"__proto__":{"admin":true},"value":1}}`);
    expect(await socket.next()).toEqual({ jsonrpc: "2.0", id: 1, result: { value: 1 } });
    socket.send(`{"__proto__":{"method":"${echo.name}"},"id":1}`);
    expect(await socket.next()).toEqual(refusal(-32600, "invalid_request", 1));
    expect(({} as { admin?: unknown }).admin).toBeUndefined();
  });

  it("C-078 may nest to 64", async () => {
    const { connect } = await openGateway({ methods: [echo] });
    const socket = await connect();
    const nested = (depth: number, [open, close]: readonly [string, string]): string =>
      `{"jsonrpc":"2.0","id":1,"method":"${echo.name}","params":{"value":${open.repeat(depth - 2)}1${close.repeat(depth - 2)}}}`;
    for (const pair of [
      ["[", "]"],
      ['{"a":', "}"],
    ] as const) {
      socket.send(nested(64, pair));
      expect(await socket.next()).toMatchObject({ id: 1, result: {} });
      for (const depth of [65, 5_000]) {
        socket.send(nested(depth, pair));
        expect(await socket.next()).toEqual(refusal(-32600, "too_deep"));
      }
    }
    expect(await socket.call(echo.name, { value: "[".repeat(100) })).toMatchObject({ id: "c1", result: {} });
  });

  it("C-074 above 1 MiB is refused, and above 2 MiB ends the socket", async () => {
    const { connect } = await openGateway({ methods: [echo] });
    const socket = await connect();
    const ofBytes = (bytes: number): string => {
      const empty = JSON.stringify({ jsonrpc: "2.0", id: 1, method: echo.name, params: { pad: "" } });
      // Bytes of UTF-8: an emoji is four of them.
      const room = bytes - empty.length;
      return empty.replace('"pad":""', `"pad":"${"😀".repeat(Math.floor(room / 4))}${"a".repeat(room % 4)}"`);
    };
    socket.send(ofBytes(limits.maxInboundBytes));
    expect(await socket.next()).toMatchObject({ id: 1, result: {} });
    socket.send(ofBytes(limits.maxInboundBytes + 1));
    expect(await socket.next()).toEqual(refusal(-32600, "payload_too_large"));
    socket.send(ofBytes(limits.maxSocketMessageBytes));
    expect(await socket.next()).toEqual(refusal(-32600, "payload_too_large"));
    socket.send(ofBytes(limits.maxSocketMessageBytes + 1));
    expect(await socket.closed).toEqual({ code: 1009, reason: "message_too_big" });
  });

  it("that is binary, no UTF-8, or 32 MiB, ends the socket and no other", async () => {
    const { connect, gateway } = await openGateway();
    const [binary, broken, huge, other] = [await connect(), await connect(), await connect(), await connect()];
    huge.send("x".repeat(33_554_432));
    expect(await huge.closed).toEqual({ code: 1009, reason: "message_too_big" });
    expect([gateway.count("message_too_big"), gateway.count("payload_too_large")]).toEqual([1, 0]);
    binary.ws.send(Buffer.from("{}"), { binary: true });
    expect(await binary.closed).toEqual({ code: 1003, reason: "text_only" });
    broken.ws.send(Buffer.from([0xff, 0xfe]), { binary: false });
    expect(await broken.closed).toEqual({ code: 1007, reason: "" });
    expect(await other.call("gateway.ping")).toMatchObject({ result: { ok: true } });
  });
});

describe("a call", () => {
  it("W7 of gateway.ping is answered at once while all handlers are busy", async () => {
    const stuck = method("test.stuck", () => new Promise(() => undefined));
    const { connect, host } = await openGateway({ methods: [stuck], callBurst: 66 });
    const socket = await connect();
    for (let id = 0; id < limits.maxCallsInFlight; id++) {
      socket.send({ jsonrpc: "2.0", id: `s${id}`, method: stuck.name });
    }
    socket.send({ jsonrpc: "2.0", id: "one more", method: stuck.name });
    for (let count = 0; count < 100; count++) socket.send({ jsonrpc: "2.0", method: "gateway.ping" });
    socket.send({ jsonrpc: "2.0", id: 7, method: "gateway.ping" });
    socket.send({ jsonrpc: "2.0", id: "x", method: "gateway.ping", params: {} });
    expect(await socket.take(3)).toEqual([
      refusal(4290, "too_many_calls", "one more"),
      { jsonrpc: "2.0", id: 7, result: { ok: true } },
      { jsonrpc: "2.0", id: "x", result: { ok: true } },
    ]);
    expect(host.notices).toEqual([]);
  });

  it("has what it causes queued behind its reply", async () => {
    const order: string[] = [];
    const ordered = method("test.ordered", (_params, { client, host, afterReply }) => {
      afterReply(() => {
        order.push("caused");
        host.fanOut.toClient(client, "test.caused", {});
      });
      return Promise.resolve(
        atReply(() => {
          order.push("made");
          return "done";
        }),
      );
    });
    const { connect } = await openGateway({ methods: [ordered] });
    const socket = await connect();
    expect(await socket.call(ordered.name)).toMatchObject({ result: "done" });
    expect(await socket.next()).toEqual({
      jsonrpc: "2.0",
      method: "event",
      params: { type: "test.caused", payload: {} },
    });
    expect(order).toEqual(["made", "caused"]);
  });

  it("that fails tells the word, and the operator the rest", async () => {
    const fault = new TypeError("the password is swordfish");
    const methods = [
      method("test.throws", () => Promise.reject(fault)),
      method("test.refuses", () => {
        throw new RoomtapError("unknown_room", "no room r1", { data: { room_id: "r1" } });
      }),
      method("rooms.refuses", () => {
        throw new RoomtapError("unknown_room", "no room r1", { data: { reason: "forged", room_id: "r1" } });
      }),
      method("test.no_json", () => 1n),
      method("test.after", (_params, { afterReply }) => {
        afterReply(() => {
          throw fault;
        });
        return "went well";
      }),
    ];
    const { connect, host } = await openGateway({ methods });
    const socket = await connect();
    const internal = {
      code: -32603,
      message: "A fault in roomtap itself.",
      data: { reason: "internal" },
    };
    expect(await socket.call("test.throws")).toEqual({ jsonrpc: "2.0", id: "c1", error: internal });
    expect(await socket.call("test.no_json")).toEqual({ jsonrpc: "2.0", id: "c1", error: internal });
    expect(await socket.call("test.refuses")).toEqual({ jsonrpc: "2.0", id: "c1", error: internal });
    expect(await socket.call("rooms.refuses")).toEqual({
      jsonrpc: "2.0",
      id: "c1",
      error: { code: 4130, message: "no room r1", data: { room_id: "r1", reason: "unknown_room" } },
    });
    expect(await socket.call("test.after")).toMatchObject({ result: "went well" });
    expect(host.notices.map(({ code, cause }) => [code, cause instanceof Error ? cause.name : cause])).toEqual([
      ["internal", "TypeError"],
      ["internal", "TypeError"],
      ["internal", "RoomtapError"],
      ["internal", "TypeError"],
    ]);
  });

  it("whose result is above its bound says to ask for less", async () => {
    const sized = method("test.sized", ({ units }) => "é".repeat(Number(units)), { maxResultBytes: 102 });
    const { connect } = await openGateway({ methods: [sized] });
    const socket = await connect();
    expect(await socket.call(sized.name, { units: 49 })).toMatchObject({ result: "é".repeat(49) });
    expect(await socket.call(sized.name, { units: 50 })).toMatchObject({ result: "é".repeat(50) });
    expect(await socket.call(sized.name, { units: 51 })).toEqual(refusal(4013, "result_too_large", "c1"));
  });

  it("that is paced begins when the reply before it was written", async () => {
    const order: unknown[] = [];
    const gate = new Signal();
    const paced = method(
      "test.paced",
      async ({ value }) => {
        order.push(`begins ${String(value)}`);
        if (value === 1) await gate.fired;
        return value;
      },
      { paced: true },
    );
    const { connect } = await openGateway({ methods: [paced, echo] });
    const socket = await connect();
    for (const value of [1, 2, 3]) socket.send({ jsonrpc: "2.0", id: value, method: paced.name, params: { value } });
    expect(await socket.call(echo.name)).toMatchObject({ id: "c1" });
    expect(order).toEqual(["begins 1"]);
    gate.fire();
    expect((await socket.take(3)).map(({ id }) => id)).toEqual([1, 2, 3]);
  });

  it("lacks a scope, and after ten of them the connection is closed", async () => {
    const open = await openGateway({
      authenticate: () => ({ principal: "p", generation: "g", scopes: ["read"], grants: [] }),
      methods: [echo],
    });
    const socket = await open.connect();
    for (let count = 1; count <= 10; count++) {
      expect(await socket.call("session.events.stats")).toEqual({
        jsonrpc: "2.0",
        id: "c1",
        error: {
          code: 4300,
          message: expect.any(String),
          data: { required_scope: "admin", reason: "insufficient_scope" },
        },
      });
    }
    expect(await socket.closed).toEqual({ code: 4429, reason: "denied_flood" });
  });

  it("with a method that has no entry in the table of scopes needs admin", async () => {
    const open = await openGateway({
      authenticate: () => ({ principal: "p", generation: "g", scopes: ["read", "write", "approvals"], grants: [] }),
      methods: [method("room.debug", () => "done")],
    });
    const socket = await open.connect();
    expect(await socket.call("room.debug")).toEqual(refusal(4300, "insufficient_scope", "c1"));
    const client = open.host.clients[0];
    if (client !== undefined) client.scopes = new Set(["admin"]);
    expect(await socket.call("room.debug")).toMatchObject({ result: "done" });
  });
});

describe("the rate of calls", () => {
  it("lets a burst pass, and tells the rest when to come back", async () => {
    const clock = manualClock();
    const { connect } = await openGateway({ clock, methods: [echo], callsPerSecond: 100, callBurst: 3 });
    const socket = await connect();
    for (let count = 0; count < 3; count++) expect(await socket.call(echo.name)).toMatchObject({ result: {} });
    expect(await socket.call(echo.name)).toMatchObject({
      error: { code: 4290, data: { reason: "rate_limited", retry_after_ms: 10 } },
    });
    clock.advance(9);
    expect(await socket.call(echo.name)).toMatchObject({ error: { data: { retry_after_ms: 1 } } });
    clock.advance(1);
    expect(await socket.call(echo.name)).toMatchObject({ result: {} });
  });

  it("closes a connection that does not stop, and no other", async () => {
    const { connect, gateway } = await openGateway({
      methods: [echo],
      maxRefusedCalls: 5,
      callBurst: 1,
      callsPerSecond: 1,
    });
    const [flood, other] = [await connect(), await connect()];
    for (let id = 0; id < 10_000; id++) flood.send({ jsonrpc: "2.0", id, method: echo.name });
    expect(await flood.closed).toEqual({ code: 4429, reason: "frame_rate" });
    expect(gateway.count("rate_limited")).toBe(5);
    expect(gateway.count("frame_rate")).toBe(1);
    expect(await other.call("gateway.ping")).toMatchObject({ result: { ok: true } });
  });
});

describe("a client that asks and does not read", () => {
  it("is not read while its replies wait, and gets all of them", async () => {
    let handled = 0;
    const large = method("test.large", () => {
      handled++;
      return "x".repeat(1_000_000);
    });
    const { connect } = await openGateway({ methods: [large], callBurst: 1_000 });
    const socket = await connect();
    socket.ws.pause();
    for (let id = 0; id < 60; id++) socket.send({ jsonrpc: "2.0", id, method: large.name });
    await until(() => handled > 0);
    await turnsOfLoop(100);
    expect(handled).toBeGreaterThan(8);
    expect(handled).toBeLessThan(30);
    socket.ws.resume();
    expect((await socket.take(60)).map(({ id }) => id)).toEqual(Array.from({ length: 60 }, (_, id) => id));
  });
});

describe("client.capabilities", () => {
  it("says what can be asked, and is kept", async () => {
    const { connect, host } = await openGateway();
    const socket = await connect();
    expect(host.clients[0]?.advertises).toBe(false);
    const reply = await socket.call("client.capabilities", { server_requests: true, more: 1 }, "r1");
    expect(reply).toMatchObject({
      id: "r1",
      result: { server_requests: expect.arrayContaining(["approval", "clarify", "secret", "sudo"]) },
    });
    expect(host.clients[0]?.advertises).toBe(true);
    await socket.call("client.capabilities", {});
    expect(host.clients[0]?.advertises).toBe(true);
    await socket.call("client.capabilities", { server_requests: false });
    expect(host.clients[0]?.advertises).toBe(false);
  });
});

describe("an event", () => {
  it("C-024 of no session has no number, whatever its payload says", async () => {
    const { connect, host } = await openGateway();
    const socket = await connect();
    host.tap.seam.writeJson({
      jsonrpc: "2.0",
      method: "event",
      params: { type: "status.update", payload: { text: "7", seq: 99 } },
    });
    expect(await socket.next()).toEqual({
      jsonrpc: "2.0",
      method: "event",
      params: { type: "status.update", payload: { text: "7", seq: 99 } },
    });
  });
});
