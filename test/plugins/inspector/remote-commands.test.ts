import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  announceServer,
  answerCommand,
  rawCommand,
  requestsCommand,
  sendCommand,
  type RemoteOptions,
} from "../../../plugins/index.ts";
import { attemptCoordinates, autoGateway } from "../../support/auto-gateway.ts";
import { collectedOutput } from "../../support/collected-output.ts";
import { fakeGateway, refuse, type Answers, type FakeGateway } from "../../support/fake-gateway.ts";

const url = "ws://127.0.0.1:1/api/ws";

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "roomtap-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

function remote(gateway: FakeGateway, more: Partial<RemoteOptions> = {}): RemoteOptions {
  return { url, token: "token", json: false, WebSocket: gateway.WebSocket, runtimeFolder: "/nowhere", ...more };
}

const waiting: Answers = {
  "groups.list": ({ offset }) =>
    offset === 0
      ? { rooms: [{ room_id: "r1" }], next_offset: 500 }
      : { rooms: [{ room_id: "elsewhere" }], next_offset: null },
  "rooms.state": ({ room_id }) => {
    if (room_id === "elsewhere") throw refuse(4130, "driver_unavailable");
    const request = { method: "approval", command: "rm -rf build\nls", choices: ["once", "deny"], expires_at: null };
    return { open_requests: [{ id: "srq-00000000000a", ...request, coordinates: attemptCoordinates }] };
  },
  "session.active_list": () => ({
    sessions: [{ id: "stored", resolved_id: "s1" }, { id: "asleep" }],
    next_offset: null,
  }),
  "session.events.since": ({ session_id }) => ({
    events: [],
    open_requests: [{ id: "srq-00000000000b", method: "clarify", params: { session_id, question: "Deploy?" } }],
  }),
};

describe("send", () => {
  const reply = { event: { event_id: "msg-1" }, addressed: ["m-a"], unresolved: ["zz"], accepted: true };

  it("posts once and says who will answer, and who is not there", async () => {
    const gateway = autoGateway({ "groups.send": () => reply });
    const output = collectedOutput();
    expect(await sendCommand({ ...remote(gateway), room: "r1", text: "hello", thread: "t" }, output)).toBe(0);
    expect(output.lines).toEqual(["msg-1  accepted  m-a"]);
    expect(output.notes).toEqual(["nobody here is called @zz"]);
    expect(gateway.socket.calls("groups.send")[0]?.params).toEqual({
      room_id: "r1",
      event_id: expect.stringMatching(/^e-[0-9a-f]{32}$/),
      payload: { text: "hello", thread_id: "t" },
    });
    expect([gateway.socket.headers, gateway.socket.closedWith]).toEqual([{ Authorization: "Bearer token" }, 1000]);
  });

  it("prints the reply with --json", async () => {
    const output = collectedOutput();
    const gateway = autoGateway({ "groups.send": () => reply });
    await sendCommand({ ...remote(gateway, { json: true }), room: "r1", text: "hello" }, output);
    expect([output.lines.length, output.json()]).toEqual([1, reply]);
  });

  it.each([
    [4111, "unknown_room", "unknown_room"],
    [4300, "insufficient_scope", "insufficient_scope"],
    [4999, "from_the_future", "call_failed"],
    [4999, "toString", "call_failed"],
  ])("refused with %i %s ends with %s", async (code, reason, expected) => {
    const gateway = autoGateway({
      "groups.send": () => {
        throw refuse(code, reason);
      },
      "groups.list": () => ({ rooms: [], next_offset: null }),
    });
    const sent = sendCommand({ ...remote(gateway), room: "r1", text: "hello" }, collectedOutput());
    await expect(sent).rejects.toMatchObject({ name: "RoomtapError", code: expected });
    expect(gateway.socket.closedWith).toBe(1000);
  });
});

describe("a room that is not there", () => {
  const unknown = (): never => {
    throw refuse(4111, "unknown_room");
  };
  const page = (rooms: readonly string[], next_offset: number | null) => ({
    rooms: rooms.map((room_id) => ({ room_id })),
    next_offset,
  });

  it.each([
    [page(["r1", "r2"], null), "r1, r2", "Name one of them."],
    [page(["r1"], 20), "r1, ...", "Name one of them."],
    [page([], null), "none", "Give the server a config with rooms."],
  ])("is answered with those that are: %j", async (listed, names, remedy) => {
    const gateway = autoGateway({ "groups.send": unknown, "groups.list": () => listed });
    const sent = sendCommand({ ...remote(gateway), room: "r9", text: "hello" }, collectedOutput());
    await expect(sent).rejects.toMatchObject({
      code: "unknown_room",
      message: expect.stringMatching(new RegExp(`; the server's rooms: ${names}$`)),
      remedy,
    });
  });

  it("is told without them to whom may not list them", async () => {
    const refused = (): never => {
      throw refuse(4300, "insufficient_scope");
    };
    const gateway = autoGateway({ "groups.send": unknown, "groups.list": refused });
    const sent = sendCommand({ ...remote(gateway), room: "r9", text: "hello" }, collectedOutput());
    await expect(sent).rejects.toMatchObject({ code: "unknown_room", remedy: "Name another one." });
  });
});

describe("requests", () => {
  it("lists those of rooms with all of their command, then those of sessions", async () => {
    const output = collectedOutput();
    expect(await requestsCommand(remote(autoGateway(waiting)), output)).toBe(0);
    expect(output.lines).toEqual([
      "srq-00000000000a  approval  #r1 m-a  once deny",
      "  rm -rf build",
      "  ls",
      "srq-00000000000b  clarify  session stored",
      "  question: Deploy?",
    ]);
  });

  it("prints one JSON list with --json, also of none", async () => {
    const none = {
      "groups.list": () => ({ rooms: [], next_offset: null }),
      "session.active_list": () => ({ sessions: [], next_offset: null }),
    };
    const output = collectedOutput();
    await requestsCommand(remote(autoGateway(none), { json: true }), output);
    expect([output.lines, output.notes]).toEqual([["[]"], ["nothing waits for an answer"]]);
    const full = collectedOutput();
    await requestsCommand(remote(autoGateway(waiting), { json: true }), full);
    expect(full.json()).toEqual([
      {
        id: "srq-00000000000a",
        method: "approval",
        command: "rm -rf build\nls",
        choices: ["once", "deny"],
        room_id: "r1",
        member_id: "m-a",
      },
      { id: "srq-00000000000b", method: "clarify", question: "Deploy?", session_id: "stored" },
    ]);
  });
});

describe("answer", () => {
  it.each([
    ["srq-00000000000a", "once", { choice: "once" }],
    ["srq-00000000000b", "yes", { answer: "yes" }],
    ["srq-00000000000b", '{"answers":{"q1":"a"}}', { answers: { q1: "a" } }],
    ["srq-00000000000c", "yes", { value: "yes" }],
  ])("gives %s the value %s in the shape of its method", async (id, value, result) => {
    const outcome = { outcome: "answered", choice: value, by: null };
    const gateway = autoGateway({ ...waiting, "request.answer": () => ({ status: "ok", outcome }) });
    const output = collectedOutput();
    expect(await answerCommand({ ...remote(gateway), id, value }, output)).toBe(0);
    expect(gateway.socket.calls("request.answer")[0]?.params).toEqual({ id, result });
  });

  it.each([
    ["yes", "yes"],
    ['{"choice":"always"}', "always"],
    ["{}", null],
  ])("does not answer an approval with %s, which it does not offer", async (value, choice) => {
    const gateway = autoGateway(waiting);
    const answered = answerCommand({ ...remote(gateway), id: "srq-00000000000a", value }, collectedOutput());
    await expect(answered).rejects.toMatchObject({
      code: "invalid_choice",
      message: `srq-00000000000a offers once, deny, got ${choice === null ? "none" : `"${choice}"`}: it was not answered`,
    });
    expect(gateway.socket.calls("request.answer")).toEqual([]);
  });

  it("says how it ended when somebody was first, with status 1", async () => {
    const outcome = { outcome: "denied", choice: "deny", by: { origin: "c-2" } };
    const gateway = autoGateway({ ...waiting, "request.answer": () => ({ status: "already_resolved", outcome }) });
    const output = collectedOutput();
    expect(await answerCommand({ ...remote(gateway), id: "srq-00000000000a", value: "once" }, output)).toBe(1);
    expect(output.lines).toEqual(["srq-00000000000a was denied deny before"]);
  });
});

describe("raw", () => {
  it("prints the result of any method", async () => {
    const gateway = autoGateway({ "x.y": (params) => ({ got: params }) });
    const output = collectedOutput();
    expect(await rawCommand({ ...remote(gateway, { json: true }), method: "x.y", params: '{"a":1}' }, output)).toBe(0);
    expect(output.lines).toEqual(['{"got":{"a":1}}']);
  });

  it("prints the refusal with --json, and fails with it", async () => {
    const gateway = autoGateway({
      "x.y": () => {
        throw refuse(-32602, "invalid_params", { path: "a" });
      },
    });
    const output = collectedOutput();
    const called = rawCommand({ ...remote(gateway, { json: true }), method: "x.y" }, output);
    await expect(called).rejects.toMatchObject({ code: "invalid_params" });
    expect(output.json()).toMatchObject({ error: { code: -32602, data: { reason: "invalid_params", path: "a" } } });
  });

  it.each(["[]", "x", "1"])("refuses the params %s", async (params) => {
    const called = rawCommand({ ...remote(autoGateway()), method: "x.y", params }, collectedOutput());
    await expect(called).rejects.toMatchObject({ code: "invalid_params" });
  });
});

describe("the server of a command", () => {
  it("is the one that runs here, with its token", async () => {
    const folder = temporaryFolder();
    announceServer({ url, token: "its own", db: "a.db" }, folder);
    const gateway = autoGateway({ "x.y": () => 1 });
    const given = { ...remote(gateway, { url: undefined, token: undefined, runtimeFolder: folder }), method: "x.y" };
    expect(await rawCommand(given, collectedOutput())).toBe(0);
    expect(gateway.socket.headers).toEqual({ Authorization: "Bearer its own" });
  });

  it("lends its token to a URL that names it", async () => {
    const folder = temporaryFolder();
    announceServer({ url, token: "its own", db: "a.db" }, folder);
    const gateway = autoGateway({ "x.y": () => 1 });
    const given = remote(gateway, { token: undefined, runtimeFolder: folder });
    await rawCommand({ ...given, method: "x.y" }, collectedOutput());
    await rawCommand({ ...given, url: "ws://127.0.0.1:2/api/ws", method: "x.y" }, collectedOutput());
    expect(gateway.sockets.map(({ headers }) => headers)).toEqual([{ Authorization: "Bearer its own" }, {}]);
  });

  it("is dialed where it listens when a URL names it as localhost", async () => {
    const folder = temporaryFolder();
    announceServer({ url, token: "its own", db: "a.db" }, folder);
    const gateway = autoGateway({ "x.y": () => 1 });
    const given = remote(gateway, { url: "ws://localhost:1/api/ws", token: undefined, runtimeFolder: folder });
    await rawCommand({ ...given, method: "x.y" }, collectedOutput());
    expect([gateway.socket.url.href, gateway.socket.headers]).toEqual([url, { Authorization: "Bearer its own" }]);
  });

  it("is not there", async () => {
    const given = remote(autoGateway(), { url: undefined, token: undefined, runtimeFolder: temporaryFolder() });
    await expect(requestsCommand(given, collectedOutput())).rejects.toMatchObject({
      code: "not_connected",
      message: "no server of yours runs on this machine",
      remedy: expect.stringContaining("roomtap up --config FILE --port 0"),
    });
  });

  it("W4 that refuses the credential is told with its reason, without the token", async () => {
    const gateway = fakeGateway();
    class Refusing extends gateway.WebSocket {
      constructor(...given: ConstructorParameters<FakeGateway["WebSocket"]>) {
        super(...given);
        const { socket } = gateway;
        queueMicrotask(() => socket.end(4401, "token_mismatch"));
      }
    }
    const called = requestsCommand(remote(gateway, { WebSocket: Refusing }), collectedOutput());
    await expect(called).rejects.toMatchObject({
      code: "not_connected",
      message: `${url}: the server closed: 4401 token_mismatch`,
      remedy: expect.stringContaining("ROOMTAP_TOKEN"),
    });
  });

  it("has to have a URL of its kind", async () => {
    const called = requestsCommand(remote(autoGateway(), { url: "http://127.0.0.1" }), collectedOutput());
    await expect(called).rejects.toMatchObject({ code: "invalid_params" });
  });
});
