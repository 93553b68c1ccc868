import { describe, expect, it } from "vitest";
import { limits, type JsonObject } from "../../../../core/index.ts";
import { gatewayTable } from "../../../../plugins/gateway/index.ts";
import { askedHost, requestWords, type AskedHost } from "../../../support/asked-host.ts";
import { numbers } from "../../../support/fan-out.ts";
import { newSession, openHost, type Came, type HostClient } from "../../../support/open-host.ts";
import { RawSocket } from "../../../support/raw-socket.ts";

const refusal = (code: number, reason: string, id: unknown = null): unknown => ({
  jsonrpc: "2.0",
  id,
  error: { code, message: expect.any(String), data: expect.objectContaining({ reason }) },
});

/** Both clients still get all that the turn says, in order, and are answered. */
async function isUnharmed(
  { a, b, turn, session_id }: AskedHost,
  clients: readonly HostClient[] = [a, b],
): Promise<void> {
  const before = clients.map((client) => client.events("message.delta").length);
  turn.delta("still here");
  for (const [index, client] of clients.entries()) {
    await client.event("message.delta", before[index]);
    expect(await client.call("session.status", { session_id })).toMatchObject({ running: true });
  }
  const seqs = clients[0]?.events().map(({ seq }) => seq) ?? [];
  expect(seqs).toEqual(numbers(Number(seqs[0]), Number(seqs[0]) + seqs.length - 1));
}

/** What a client is answered to a text, before the next ping is. */
async function answersTo(client: HostClient, text: string): Promise<readonly Came[]> {
  const from = client.came.length;
  client.send(text);
  await client.settled();
  return client.came.slice(from, -1);
}

describe("a message that is no call", () => {
  it("W8 is answered as its kind is, and harms nobody", async () => {
    const host = await askedHost();
    const call = '{"jsonrpc":"2.0","id":1,"method":"session.list"}';
    for (const [text, answer] of [
      ["hello", refusal(-32700, "parse_error")],
      ["{", refusal(-32700, "parse_error")],
      ["{'id':1}", refusal(-32700, "parse_error")],
      [`${call}${call}`, refusal(-32700, "parse_error")],
      [`${call}\n${call}`, refusal(-32700, "parse_error")],
      ["[]", refusal(-32600, "invalid_request")],
      [`[${call},${call}]`, refusal(-32600, "invalid_request")],
      ["42", refusal(-32600, "invalid_request")],
      ["null", refusal(-32600, "invalid_request")],
      ['"session.list"', refusal(-32600, "invalid_request")],
      ['{"id":1}', refusal(-32600, "invalid_request", 1)],
      ['{"id":1,"method":["session.list"]}', refusal(-32600, "invalid_request", 1)],
      ['{"id":true,"method":"session.list"}', refusal(-32600, "invalid_request")],
      ['{"id":1,"method":"session.list","result":{}}', refusal(-32600, "invalid_request", 1)],
      ['{"id":1,"method":"session.list","params":[1]}', refusal(-32602, "invalid_params", 1)],
      ['{"id":1,"method":"session.list","params":"x"}', refusal(-32602, "invalid_params", 1)],
      ['{"id":1,"method":"session.lists"}', refusal(-32601, "unknown_method", 1)],
      ['{"id":1,"method":"__proto__"}', refusal(-32601, "unknown_method", 1)],
      ["[".repeat(100_000), refusal(-32600, "too_deep")],
    ] as const) {
      expect([text.slice(0, 40), await answersTo(host.a, text)]).toEqual([text.slice(0, 40), [answer]]);
    }
    for (const text of ["", " \n\t ", '{"method":"session.list"}', '{"method":"no.such"}', '{"id":5,"result":{}}']) {
      expect([text, await answersTo(host.a, text)]).toEqual([text, []]);
    }
    await isUnharmed(host);
  });

  it("binary, no UTF-8, or of 32 MiB ends its own socket alone", async () => {
    const host = await askedHost();
    for (const [send, closed] of [
      [
        (client: HostClient) => client.ws.send(Buffer.from("{}"), { binary: true }),
        { code: 1003, reason: "text_only" },
      ],
      [(client: HostClient) => client.ws.send(Buffer.from([0xff]), { binary: false }), { code: 1007, reason: "" }],
      [(client: HostClient) => client.send("x".repeat(33_554_432)), { code: 1009, reason: "message_too_big" }],
    ] as const) {
      const client = await host.connect({ asks: true });
      await client.call("session.activate", { session_id: host.session_id });
      send(client);
      expect(await client.closed).toEqual(closed);
      await isUnharmed(host);
    }
    expect(host.notices).toEqual([]);
  });

  it("C-074 is refused above 1 MiB on a socket that stays", async () => {
    const host = await askedHost();
    const sized = (bytes: number): string => {
      const params = { session_id: host.session_id, pad: "" };
      const call = JSON.stringify({ jsonrpc: "2.0", id: "big", method: "session.status", params });
      return call.replace('"pad":""', `"pad":"${"x".repeat(bytes - call.length)}"`);
    };
    expect(await answersTo(host.a, sized(limits.maxInboundBytes))).toMatchObject([
      { id: "big", result: { running: true } },
    ]);
    expect(await answersTo(host.a, sized(limits.maxInboundBytes + 1))).toEqual([refusal(-32600, "payload_too_large")]);
    await isUnharmed(host);
  });
});

describe("a call with params that are wrong", () => {
  it("is refused by every method before anything happens", async () => {
    const host = await openHost({ gateway: { callBurst: 2_000 } });
    const a = await host.connect();
    const { session_id } = await newSession(a);
    const candidates = [{ wrong: [] }, [{ wrong: 1 }], 7.5, true, -1];
    let refused = 0;
    for (const { name, params } of gatewayTable.list()) {
      for (const [key, schema] of Object.entries(params.shape)) {
        const wrong = candidates.find((value) => !schema.safeParse(value).success);
        if (wrong === undefined) continue;
        expect([name, key, await a.refused(name, { session_id, [key]: wrong })]).toEqual([
          name,
          key,
          [-32602, "invalid_params"],
        ]);
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(80);
    expect(await a.call("session.list")).toMatchObject({ sessions: [{ message_count: 0 }], next_offset: null });
    expect([host.tap.rooms, host.agent.turns, host.notices]).toEqual([[], [], []]);
  });

  it("names the path of what is wrong, and never its value", async () => {
    const host = await askedHost();
    const { error } = await host.a.ask("prompt.submit", {
      session_id: host.session_id,
      text: "x",
      message_id: ["s3cr3t"],
    });
    expect(error).toMatchObject({ code: -32602, data: { reason: "invalid_params", path: "message_id" } });
    expect(JSON.stringify(error)).not.toContain("s3cr3t");
  });

  it("C-080 W9 is carried out when only unknown keys stand beside what it needs", async () => {
    const host = await askedHost();
    const { a, session_id } = host;
    const plain = await a.call("session.status", { session_id });
    a.send(
      `{"jsonrpc":"2.0","id":"x","method":"session.status","extra":1,"params":{"session_id":"${session_id}",` +
        `"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},"mirror":true,"toString":1}}`,
    );
    expect((await a.message(({ id }) => id === "x")).result).toEqual(plain);
    expect(({} as { readonly admin?: unknown }).admin).toBeUndefined();
    for (const method of ["constructor", "toString", "hasOwnProperty", "__proto__", "session", "session."]) {
      expect(await a.refused(method)).toEqual([-32601, "unknown_method"]);
    }
    for (const id of ["__proto__", "constructor", "toString"]) {
      expect(await a.refused("session.resume", { session_id: id })).toEqual([4001, "unknown_session"]);
      expect(await a.refused("session.activate", { session_id: id })).toEqual([4001, "unknown_session"]);
      expect(await a.refused("request.answer", { id, result: {} })).toEqual([4014, "unknown_request"]);
    }
    await isUnharmed(host);
  });
});

describe("a client that floods", () => {
  it("is closed for 10,000 messages at once, and nobody else misses anything", async () => {
    const host = await askedHost();
    const flood = await host.connect();
    for (let id = 0; id < 10_000; id++) {
      flood.send({ jsonrpc: "2.0", id, method: "session.status", params: { session_id: host.session_id } });
      if (id % 100 === 0) host.turn.delta(`${id} `);
    }
    await isUnharmed(host);
    expect(await flood.closed).toEqual({ code: 4429, reason: "frame_rate" });
    const answers = flood.came.slice(1);
    expect(answers.filter(({ error }) => error !== undefined).length).toBeLessThanOrEqual(1_000);
    expect(answers.filter(({ result }) => result !== undefined).length).toBeGreaterThanOrEqual(200);
    expect(host.gateway.count("rate_limited")).toBe(1_000);
    const told = host.b
      .events("message.delta")
      .map(({ payload }) => String(payload?.["text"]))
      .join("");
    expect(told).toContain(
      numbers(0, 99)
        .map((hundred) => `${hundred * 100} `)
        .join(""),
    );
  });

  it("C-040 with answers that nobody asked for counts them, and touches no request", async () => {
    const host = await askedHost();
    const answered = host.turn.ask("clarify", { question: "?" });
    const { id } = await host.b.request("clarify");
    for (let nth = 0; nth < 10_000; nth++) {
      host.a.send({
        jsonrpc: "2.0",
        id: nth % 2 === 0 ? nth : `srq-${String(nth).padStart(12, "0")}`,
        result: { answer: "x" },
      });
    }
    await isUnharmed(host);
    expect(host.gateway.count("stray_response")).toBe(5_000);
    expect(host.tap.requests.open()).toHaveLength(1);
    host.b.send({ jsonrpc: "2.0", id, result: { answer: "yes" } });
    expect((await answered).result).toEqual({ answer: "yes" });
    await host.b.settled();
    expect(requestWords(host.b)).toEqual(["clarify", "request.cancel resolved", "request.resolved answered"]);
  });
});

describe("a token in a URL", () => {
  it("is no credential on a bind that others can reach", async () => {
    const host = await openHost();
    const gateway = host.tap.openGateway({ allowedOrigins: [], token: "gw-public-token-0123456789" });
    const { port } = await gateway.listen({ port: 0, host: "0.0.0.0" });
    const url = `ws://127.0.0.1:${port}/api/ws`;
    const refused = new RawSocket(`${url}?token=${gateway.token}`);
    expect(await refused.closed).toEqual({ code: 4401, reason: "no_credential" });
    expect(refused.frames).toEqual([]);
    const welcome = new RawSocket(url, { headers: { authorization: `Bearer ${gateway.token}` } });
    expect(await welcome.next()).toMatchObject({ params: { type: "gateway.ready" } });
  });
});

describe("text of a client that is not well formed", () => {
  it("C-077 has lone surrogates as U+FFFD wherever it is shown", async () => {
    const host = await openHost();
    const a = await host.connect();
    // A reply names the session by the title that it was given.
    const title = "half \ud83d title";
    const { session_id, stored_session_id } = await newSession(a, { title });
    const text = "lone \ude00 and \ud83d!";
    await a.call("prompt.submit", { session_id, text, message_id: "m-\ud83d" });
    const mended = "lone \ufffd and \ufffd!";
    expect((await a.event("message.start")).payload?.["input"]).toMatchObject({ text: mended });
    expect((await host.agent.turn()).text).toBe(mended);
    (await host.agent.turn()).end();
    await a.event("message.complete");
    const told: JsonObject[] = [
      await a.call("session.history", { session_id }),
      await a.call("session.resume", { session_id: stored_session_id }),
      await a.call("session.list"),
      await a.call("session.events.since", { session_id }),
    ];
    const shown = JSON.stringify([told, a.came]);
    expect([shown.includes(mended), shown.includes("half \ufffd title")]).toEqual([true, true]);
    expect(shown).not.toMatch(/\\ud[89a-f]/i);
  });
});
