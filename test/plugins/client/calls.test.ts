import { describe, expect, it } from "vitest";
import { CallError, clientLimits, createClient, declined, type Json } from "../../../plugins/client/index.ts";
import { readMessage } from "../../../plugins/client/wire.ts";
import { refuse } from "../../support/fake-gateway.ts";
import { comeBack, connectedClient, redial, settled, wireClient } from "../../support/wire-client.ts";

/** A text that makes the message of `session.history` exactly so many bytes. */
function filling(bytes: number): string {
  const empty = JSON.stringify({ jsonrpc: "2.0", id: "r1", method: "session.history", params: { session_id: "" } });
  return "a".repeat(bytes - empty.length);
}

describe("a call", () => {
  it("resolves with its own result, whatever the order of the replies", async () => {
    const { client, gateway } = await connectedClient();
    const [first, second] = [client.call("a.one"), client.call("a.two")];
    gateway.socket.reply("r2", { two: true });
    gateway.socket.reply("r1", { one: true });
    expect([await first, await second]).toEqual([{ one: true }, { two: true }]);
  });

  it("rejects with number, reason and data of a refusal", async () => {
    const { client } = await connectedClient({
      "groups.send": () => {
        throw refuse(4300, "insufficient_scope", { required_scope: "write" });
      },
    });
    const fault = await client
      .call("groups.send", { room_id: "r", payload: { text: "" } })
      .catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(CallError);
    expect(fault).toMatchObject({
      name: "CallError",
      method: "groups.send",
      code: 4300,
      reason: "insufficient_scope",
      data: { required_scope: "write" },
    });
  });

  it("without a reply rejects after its time, and a late reply has no effect", async () => {
    const { client, gateway, clock } = await connectedClient();
    const call = client.call("slow.one", {}, { timeoutMs: 1_000 });
    clock.advance(1_000);
    await expect(call).rejects.toMatchObject({ reason: "call_timeout" });
    gateway.socket.reply("r1", {});
    expect(client.state).toBe("open");
  });

  it.each([
    [clientLimits.maxMessageBytes - 1, "r1"],
    [clientLimits.maxMessageBytes, "r1"],
    [clientLimits.maxMessageBytes + 1, "none"],
  ])("C-074 of %i bytes is sent as %s", async (bytes, id) => {
    const { client, gateway } = await connectedClient();
    const call = client.call("session.history", { session_id: filling(bytes) });
    call.catch(() => undefined);
    expect(gateway.socket.lastId("session.history")).toBe(id);
    if (id === "none") await expect(call).rejects.toMatchObject({ reason: "payload_too_large" });
  });
});

describe("a message from the server", () => {
  it.each([
    ['{"id":1,"result":2}', "result"],
    ['{"id":"1","error":{"code":4001,"message":"m"}}', "error"],
    ['{"id":null,"error":{"code":-32700}}', "error"],
    ['{"method":"event","params":{"type":"t"}}', "event"],
    ['{"method":"event","params":{"type":"t","session_id":"s","seq":1}}', "event"],
    ['{"id":"srq-1","method":"clarify","params":{}}', "request"],
    ['{"id":7,"method":"clarify","params":{}}', "unreadable"],
    ['{"method":"event","params":{"type":7}}', "unreadable"],
    ['{"method":"event","params":{"type":"t","session_id":"s"}}', "unreadable"],
    ['{"method":"event","params":{"type":"t","session_id":"s","seq":0}}', "unreadable"],
    ['{"method":"event","params":{"type":"t","seq":1}}', "unreadable"],
    ['{"id":1}', "unreadable"],
    ["[]", "unreadable"],
    ["42", "unreadable"],
    ["{", "unreadable"],
  ])("%s is %s", (text, kind) => {
    expect(readMessage(text).kind).toBe(kind);
  });

  it("that is no frame is told, and passed over", async () => {
    const { client, gateway, problems } = await connectedClient();
    gateway.socket.say("[]");
    expect([client.state, problems.map(({ code }) => code)]).toEqual(["open", ["unreadable_message"]]);
  });
});

describe("handlers", () => {
  it("get their type, their family, or everything, in order of registration", async () => {
    const { client, gateway } = await connectedClient();
    const seen: string[] = [];
    client.on("*", ({ type }) => seen.push(`* ${type}`));
    const undo = client.on("tool.*", ({ type }) => seen.push(`tool.* ${type}`));
    client.on("tool.start", ({ payload }) => seen.push(`tool.start ${payload.name}`));
    gateway.socket.event("tool.start", { payload: { tool_id: "1", name: "read" } });
    gateway.socket.event("toolbox", {});
    undo();
    undo();
    gateway.socket.event("tool.complete", {});
    expect(seen).toEqual(["* tool.start", "tool.* tool.start", "tool.start read", "* toolbox", "* tool.complete"]);
  });

  it("that throw stop no other, and are told", async () => {
    const { client, gateway, problems } = await connectedClient();
    const seen: string[] = [];
    client.on("notice", () => {
      throw new Error("no");
    });
    client.on("notice", () => seen.push("second"));
    gateway.socket.event("notice", { payload: { message: "m" } });
    expect([seen, problems.map(({ code, cause }) => [code, cause])]).toEqual([
      ["second"],
      [["handler_threw", new Error("no")]],
    ]);
  });
});

describe("a question", () => {
  const ask = { session_id: "s1", question: "Deploy?" };

  it.each<[string, ((params: Json) => unknown) | null, Json]>([
    ["is answered", () => ({ answer: "yes" }), { result: { answer: "yes" } }],
    ["without a handler is declined", null, { error: { code: -32601, message: "no handler" } }],
    ["that is not shown is declined", () => declined, { error: { code: -32004, message: "not shown here" } }],
    [
      "whose handler throws is declined",
      () => {
        throw new Error("no");
      },
      { error: { code: -32603, message: "the handler failed" } },
    ],
    [
      "whose handler rejects is declined",
      () => Promise.reject(new Error("no")),
      { error: { code: -32603, message: "the handler failed" } },
    ],
    [
      "whose answer is too large is declined",
      () => ({ value: "a".repeat(clientLimits.maxMessageBytes) }),
      { error: { code: -32603, message: "the handler failed" } },
    ],
  ])("%s", async (_, handler, answer) => {
    const { client, gateway } = await connectedClient();
    client.onRequest("other", () => ({}));
    if (handler !== null) client.onRequest("clarify", ({ params }) => handler(params));
    gateway.socket.ask("srq-1", "clarify", ask);
    await settled();
    expect(gateway.socket.sent.at(-1)).toEqual({ jsonrpc: "2.0", id: "srq-1", ...answer });
  });

  it("of any method comes to the handler for all", async () => {
    const { client, gateway } = await connectedClient();
    client.onRequest("*", ({ method }) => ({ value: method }));
    gateway.socket.ask("srq-1", "terminal.read", ask);
    await settled();
    expect(gateway.socket.sent.at(-1)).toMatchObject({ result: { value: "terminal.read" } });
  });

  it.each(["request.cancel", "request.resolved"])("that %s ends is answered no more", async (type) => {
    const { client, gateway } = await connectedClient();
    let answer: (reply: Json) => void = () => undefined;
    let signal: AbortSignal | undefined;
    client.onRequest("clarify", (call) => {
      signal = call.signal;
      return new Promise<Json>((resolve) => (answer = resolve));
    });
    gateway.socket.ask("srq-1", "clarify", ask);
    gateway.socket.event(type, { session_id: "s1", seq: 1, payload: { id: "srq-1", method: "clarify" } });
    expect(signal?.aborted).toBe(true);
    answer({ answer: "late" });
    await settled();
    expect(gateway.socket.sent.some(({ id }) => id === "srq-1")).toBe(false);
  });

  it("is asked of a client that has a handler, and of no other", async () => {
    const { client, gateway } = await connectedClient();
    expect(gateway.socket.calls("client.capabilities")).toEqual([]);
    client.onRequest("clarify", () => ({}));
    client.onRequest("approval", () => ({}));
    expect(gateway.socket.calls("client.capabilities").map(({ params }) => params)).toEqual([
      { server_requests: true },
    ]);
  });

  it("W3 is announced as the first call of each connection", async () => {
    const wire = wireClient();
    wire.client.onRequest("clarify", () => ({}));
    const connected = wire.client.connect();
    wire.gateway.socket.ready();
    await connected;
    await comeBack(wire);
    expect(wire.gateway.sockets.map(({ sent }) => sent[0])).toEqual(
      [1, 2].map(() => ({
        jsonrpc: "2.0",
        id: "r1",
        method: "client.capabilities",
        params: { server_requests: true },
      })),
    );
  });

  it("has one handler", async () => {
    const { client } = await connectedClient();
    const undo = client.onRequest("clarify", () => ({}));
    expect(() => client.onRequest("clarify", () => ({}))).toThrow("clarify has a handler already");
    undo();
    undo();
    client.onRequest("clarify", () => ({}));
  });
});

describe("posts", () => {
  /** The texts of the posts that a socket was sent, with their keys. */
  function posts(socket: {
    readonly sent: readonly { readonly method?: string; readonly params?: Json }[];
  }): unknown[] {
    return socket.sent.flatMap(({ method, params = {} }) =>
      method === "groups.send" ? [[params["event_id"], (params["payload"] as Json)["text"]]] : [],
    );
  }

  it("C-027 that were made during a drop follow the one whose reply was lost, with its key", async () => {
    const wire = await connectedClient();
    const { client, gateway, clock } = wire;
    const results = [client.post({ room_id: "r", text: "p1" })];
    const first = gateway.socket;
    expect(posts(first)).toEqual([["e-1", "p1"]]);
    first.end();
    await settled();
    results.push(client.post({ room_id: "r", text: "p2" }));
    gateway.answers["groups.send"] = ({ event_id }) => ({ client_event_id: event_id });
    redial({ gateway, clock });
    gateway.socket.ready();
    results.push(client.post({ room_id: "r", text: "p3" }));
    expect(await Promise.all(results)).toEqual(["e-1", "e-2", "e-3"].map((client_event_id) => ({ client_event_id })));
    expect(posts(gateway.socket)).toEqual([
      ["e-1", "p1"],
      ["e-2", "p2"],
      ["e-3", "p3"],
    ]);
    expect(client.waitingPosts).toBe(0);
  });

  it("leave one by one", async () => {
    const { client, gateway } = await connectedClient();
    const first = client.post({ room_id: "r", text: "p1", event_id: "mine" });
    void client.post({ room_id: "r", text: "p2" }).catch(() => undefined);
    expect(posts(gateway.socket)).toEqual([["mine", "p1"]]);
    gateway.socket.reply("r1", { client_event_id: "mine" });
    await first;
    expect(posts(gateway.socket)).toEqual([
      ["mine", "p1"],
      ["e-1", "p2"],
    ]);
  });

  it("that are refused do not hold up those behind them", async () => {
    const { client } = await connectedClient({
      "groups.send": ({ room_id }) => {
        if (room_id === "gone") throw refuse(4111, "unknown_room");
        return { accepted: true };
      },
    });
    const first = client.post({ room_id: "gone", text: "p1" });
    const second = client.post({ room_id: "r", text: "p2" });
    await expect(first).rejects.toMatchObject({ reason: "unknown_room" });
    expect(await second).toEqual({ accepted: true });
  });

  it("wait as long as a busy server asks for, in their order", async () => {
    let isBusy = true;
    const { client, gateway, clock } = await connectedClient({
      "groups.send": () => {
        if (isBusy) throw refuse(4290, "rate_limited", { retry_after_ms: 2_000 });
        return { accepted: true };
      },
    });
    const results = Promise.all(["p1", "p2"].map((text) => client.post({ room_id: "r", text })));
    await settled();
    isBusy = false;
    clock.advance(1_999);
    expect(posts(gateway.socket).length).toBe(1);
    clock.advance(1);
    await results;
    expect(posts(gateway.socket).map((post) => (post as string[])[1])).toEqual(["p1", "p1", "p2"]);
  });

  it("C-074 that a server closes with 1009 for are told, and never sent again", async () => {
    const wire = await connectedClient();
    const first = wire.client.post({ room_id: "r", text: "large" });
    const second = wire.client.post({ room_id: "r", text: "small" });
    first.catch(() => undefined);
    wire.gateway.answers["groups.send"] = () => ({ accepted: true });
    wire.gateway.socket.end(1009, "message_too_big");
    await expect(first).rejects.toMatchObject({ closeCode: 1009 });
    redial(wire);
    wire.gateway.socket.ready();
    expect(await second).toEqual({ accepted: true });
    expect(posts(wire.gateway.socket)).toEqual([["e-2", "small"]]);
    expect(wire.problems.map(({ code }) => code)).toEqual(["message_dropped"]);
  });

  it("C-074 survive a 1009 that a larger call caused", async () => {
    const wire = await connectedClient();
    const post = wire.client.post({ room_id: "r", text: "small" });
    wire.client.call("big.one", { text: "a".repeat(1_000) }).catch(() => undefined);
    wire.gateway.answers["groups.send"] = () => ({ accepted: true });
    wire.gateway.socket.end(1009, "message_too_big");
    await settled();
    redial(wire);
    wire.gateway.socket.ready();
    expect(await post).toEqual({ accepted: true });
  });

  it.each([
    [255, "not sent"],
    [256, "outbox_full"],
  ])("one more beside %i that wait is %s", async (waiting, outcome) => {
    const { client } = wireClient();
    for (let count = 0; count < waiting; count++) client.post({ room_id: "r", text: "p" }).catch(() => undefined);
    const result = await Promise.race([
      client.post({ room_id: "r", text: "p" }).catch((fault: { reason: string }) => fault.reason),
      settled().then(() => "not sent"),
    ]);
    expect(result).toBe(outcome);
  });

  it.each([
    [0, "waits"],
    [1, "outbox_full"],
  ])("that fill all bytes and %i more: the last %s", async (more, outcome) => {
    const { client } = wireClient();
    const empty = JSON.stringify({ room_id: "r", event_id: "k", payload: { text: "" } }).length;
    const size = clientLimits.maxWaitingPostBytes / 8;
    const post = (bytes: number): Promise<string> => {
      const text = "a".repeat(bytes - empty);
      const reason = client.post({ room_id: "r", event_id: "k", text }).then(
        () => "sent",
        (fault: { reason: string }) => fault.reason,
      );
      return Promise.race([reason, settled().then(() => "waits")]);
    };
    for (let count = 0; count < 7; count++) expect(await post(size)).toBe("waits");
    expect(await post(size + more)).toBe(outcome);
  });

  it("end with the client", async () => {
    const { client } = wireClient();
    const post = client.post({ room_id: "r", text: "p" });
    void client.close();
    await expect(post).rejects.toMatchObject({ reason: "closed" });
  });

  it("of prompts find their session under its new id", async () => {
    const wire = await connectedClient({
      "session.resume": () => ({ session_id: "s1", stored_session_id: "stored", latest_seq: 0, truncated: false }),
    });
    await wire.client.call("session.resume", { session_id: "stored" });
    wire.gateway.socket.end();
    await settled();
    const submitted = wire.client.submit({ session_id: "s1", text: "hello" });
    wire.gateway.answers["session.resume"] = () => ({ session_id: "n1", stored_session_id: "stored", latest_seq: 0 });
    wire.gateway.answers["prompt.submit"] = (params) => params;
    redial(wire);
    wire.gateway.socket.ready({ replay_epoch: "e2" });
    expect(await submitted).toEqual({ text: "hello", message_id: "p-1", session_id: "n1" });
  });
});

describe("the address of a server", () => {
  it.each(["http://127.0.0.1/api/ws", "nowhere"])("%s is refused", (url) => {
    expect(() => createClient({ url, WebSocket: wireClient().gateway.WebSocket })).toThrow(TypeError);
  });
});
