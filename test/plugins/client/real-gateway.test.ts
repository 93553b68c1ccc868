import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import {
  answerCommand,
  rawCommand,
  requestsCommand,
  sendCommand,
  tailCommand,
  type RemoteOptions,
} from "../../../plugins/index.ts";
import { createClient, type Client, type Resync } from "../../../plugins/client/index.ts";
import { collectedOutput } from "../../support/collected-output.ts";
import { HermesClient } from "../../support/hermes-client.ts";
import { realClient, realHermes, realServer, type RealClient } from "../../support/real-client.ts";
import { until } from "../../support/turns-of-loop.ts";

/** A session of this client, and the deltas that it is told of it. */
async function chat({
  client,
}: RealClient): Promise<{ readonly id: string; readonly seen: number[]; readonly texts: string[] }> {
  const seen: number[] = [];
  const texts: string[] = [];
  client.on("*", ({ session_id, seq }) => {
    if (session_id !== undefined && seq !== undefined) seen.push(seq);
  });
  client.on("message.delta", ({ payload }) => texts.push(payload.text));
  const { session_id: id } = await client.call("session.create", {});
  return { id, seen, texts };
}

const inOrder = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1);

describe("a client of the gateway", () => {
  it("submits, and gets the frames of the turn once and in order", async () => {
    const server = await realServer();
    const real = await realClient(server);
    const { id, seen, texts } = await chat(real);
    const origins = new Set<string | undefined>();
    real.client.on("message.*", ({ origin }) => origins.add(origin));
    const completed = new Promise<unknown>(
      (resolve) => void real.client.on("message.complete", ({ payload }) => resolve(payload)),
    );
    expect(await real.client.submit({ session_id: id, text: "hello" })).toMatchObject({ status: "streaming" });
    (await server.runner.turn(0)).say("hi");
    expect(await completed).toMatchObject({ text: "hi", status: "complete" });
    expect(texts).toEqual(["hi"]);
    expect(seen).toEqual(inOrder(seen.length));
    expect([...origins]).toEqual([real.client.origin]);
  });

  it("misses nothing of a turn over a drop, and keeps its id", async () => {
    const server = await realServer();
    const real = await realClient(server);
    const { id, seen, texts } = await chat(real);
    const resyncs: Resync[] = [];
    real.client.onResync((resync) => resyncs.push(resync));
    const { origin } = real.client;
    await real.client.submit({ session_id: id, text: "hello" });
    const { turn, end } = await server.runner.turn(0);
    const waiting = comesToWait(real.client);
    for (const text of ["a", "b", "c", "d"]) {
      turn.emit({ type: "message.delta", payload: { text } });
      if (text === "b") {
        await until(() => texts.join("") === "ab");
        real.drop();
      }
    }
    await waiting;
    end({ status: "completed" });
    await until(() => texts.join("") === "abcd");
    await until(() => real.client.origin !== null);
    expect(real.client.origin).toBe(origin);
    expect(seen).toEqual(inOrder(seen.length));
    expect(resyncs).toEqual([]);
  });

  it("C-023 W37 reads a snapshot after the server started anew, and goes on under the new id", async () => {
    const server = await realServer();
    const real = await realClient(server);
    const { id } = await chat(real);
    const resynced = new Promise<Resync>((resolve) => void real.client.onResync(resolve));
    await server.restart();
    const { reason, snapshot } = await resynced;
    expect(reason).toBe("epoch");
    expect(snapshot.session_id).not.toBe(id);
    expect(await real.client.submit({ session_id: id, text: "again" })).toMatchObject({ status: "streaming" });
  });

  it("C-027 carries out posts of a drop once and in their order", async () => {
    const server = await realServer();
    const real = await realClient(server);
    const posts: string[] = [];
    await real.client.subscribeRoom(
      { room_id: "r1" },
      { onMessage: ({ text, state }) => void (state === "queued" && posts.push(text)) },
    );
    const first = real.client.post({ room_id: "r1", text: "p1", event_id: "k1" });
    real.drop();
    const rest = ["p2", "p3"].map((text) => real.client.post({ room_id: "r1", text }));
    const results = await Promise.all([first, ...rest]);
    expect(results.map(({ accepted }) => accepted)).toEqual([true, true, true]);
    const { inbox } = await server.tap.room("r1").state();
    expect(new Set(inbox.map(({ message_id }) => message_id)).size).toBe(inbox.length);
    expect(posts).toEqual([...posts].toSorted());
  });

  it("answers a question over a reconnect, once", async () => {
    const server = await realServer();
    const real = await realClient(server);
    const { id } = await chat(real);
    const calls: boolean[] = [];
    let answer: (value: unknown) => void = () => undefined;
    real.client.onRequest("clarify", ({ replayed }) => {
      calls.push(replayed);
      return new Promise((resolve) => (answer = resolve));
    });
    await real.client.submit({ session_id: id, text: "hello" });
    const { turn, end } = await server.runner.turn(0);
    const asked = turn.ask({ method: "clarify", params: { question: "Deploy?" } });
    await until(() => calls.length === 1);
    const waiting = comesToWait(real.client);
    real.drop();
    await waiting;
    await until(() => real.client.origin !== null);
    answer({ answer: "yes" });
    expect(await asked).toMatchObject({ outcome: "answered" });
    end({ status: "completed" });
    expect(calls).toEqual([false]);
  });

  it("W4 is told 4401 with a wrong token", async () => {
    const server = await realServer();
    const client = createClient({ url: server.url, token: "wrong-token-0123456789", WebSocket });
    await expect(client.connect()).rejects.toMatchObject({ closeCode: 4401, closeReason: "token_mismatch" });
    const hermes = new HermesClient(WebSocket);
    await expect(hermes.connect(`${server.url}?token=wrong`)).rejects.toMatchObject({ loginAgain: true });
  });

  it("is told when nobody listens", async () => {
    const client = createClient({ url: "ws://127.0.0.1:1/api/ws", WebSocket });
    await expect(client.connect()).rejects.toMatchObject({ reason: "unreachable" });
  });
});

describe("a room over the gateway", () => {
  it("W49 is followed over a drop: each row once, and activity that did not come is told", async () => {
    const server = await realServer();
    const real = await realClient(server);
    const rows: number[] = [];
    const kinds: string[] = [];
    const losses: unknown[] = [];
    await real.client.subscribeRoom(
      { room_id: "r1" },
      {
        onRow: ({ seq }) => rows.push(seq),
        onActivity: ({ kind }) => kinds.push(kind),
        onLoss: (loss) => losses.push(loss),
      },
    );
    await real.client.post({ room_id: "r1", text: "hello" });
    const { turn, end } = await server.runner.turn(0);
    await until(() => kinds.includes("turn.started"));
    const waiting = comesToWait(real.client);
    real.drop();
    await waiting;
    turn.emit({ type: "tool.start", payload: { tool_id: "c1", name: "read" } });
    end({ status: "completed" });
    await until(() => rows.length === 2);
    expect(rows).toEqual([1, 2]);
    expect(losses).toEqual([expect.objectContaining({ first_n: 2, last_n: 4, events: 3, reason: "reconnect" })]);
  });
});

describe("the test client of the wire", () => {
  it("W3 shakes hands, says what it can, and is answered", async () => {
    const { client } = await realHermes(await realServer());
    expect(client.state).toBe("open");
    expect(client.ready).toMatchObject({ heartbeat: true, session_mirroring: true, resumed: false });
    expect(await client.request("gateway.ping")).toEqual({ ok: true });
  });

  it("W29 replays after a drop: each number once, in order, none missing", async () => {
    const server = await realServer();
    const { client, drop, url } = await realHermes(server);
    const seen: (number | undefined)[] = [];
    client.on("*", ({ session_id, seq }) => void (session_id !== undefined && seen.push(seq)));
    const created = (await client.request("session.create")) as { session_id: string };
    await client.request("prompt.submit", { session_id: created.session_id, text: "hello" });
    const { turn, end } = await server.runner.turn(0);
    turn.emit({ type: "message.delta", payload: { text: "a" } });
    await until(() => seen.length >= 2);
    drop();
    await until(() => client.state === "closed");
    turn.emit({ type: "message.delta", payload: { text: "b" } });
    await client.connect(`${url}&resume=${String(client.ready["resume_token"])}`);
    expect(client.ready["resumed"]).toBe(true);
    const completed = new Promise<void>((resolve) => client.on("message.complete", () => resolve()));
    end({ status: "completed" });
    await completed;
    await client.replayed;
    expect(seen).toEqual(inOrder(seen.length));
  });
});

describe("the commands over the gateway", () => {
  it("send, tail, list what waits, answer it, and call what they are told", async () => {
    const server = await realServer();
    const remote: RemoteOptions = { url: server.url, token: server.token, json: false, WebSocket };
    const tailed = collectedOutput();
    const tail = tailCommand(
      { ...remote, room: "r1", kinds: ["turn.*"], since: 0, count: 2, failOnLoss: true },
      tailed,
      new AbortController().signal,
    );
    const sent = collectedOutput();
    expect(await sendCommand({ ...remote, room: "r1", text: "hello" }, sent)).toBe(0);
    expect(sent.lines).toEqual([expect.stringMatching(/ {2}accepted {2}m-a$/)]);
    const { turn, end } = await server.runner.turn(0);
    const asked = turn.ask({ method: "approval", params: { command: "make", choices: ["once", "deny"] } });
    const listed = collectedOutput();
    await until(() => server.tap.requests.open().length === 1);
    await requestsCommand(remote, listed);
    expect(listed.lines).toEqual([
      expect.stringMatching(/^srq-[0-9a-f]{12} {2}approval {2}#r1 m-a {2}once deny$/),
      "  make",
    ]);
    const id = server.tap.requests.open()[0]?.id ?? "";
    const answered = collectedOutput();
    expect(await answerCommand({ ...remote, id, value: "once" }, answered)).toBe(0);
    expect(await asked).toMatchObject({ outcome: "answered" });
    expect(await answerCommand({ ...remote, id, value: "deny" }, answered)).toBe(1);
    expect(answered.lines).toEqual([`${id} answered once`, `${id} was answered once before`]);
    end({ status: "completed", text: "done" });
    expect(await tail).toBe(0);
    expect(tailed.lines.map((line) => line.split("  ").slice(0, 2))).toEqual([
      ["1", "turn.started"],
      ["2", "turn.settled"],
    ]);
    const raw = collectedOutput();
    expect(await rawCommand({ ...remote, json: true, method: "gateway.ping" }, raw)).toBe(0);
    expect(raw.lines).toEqual(['{"ok":true}']);
  });
});

/** Told by the client itself: it may wait for less than a turn of the event loop. */
async function comesToWait(client: Client): Promise<void> {
  await new Promise<void>((resolve) => {
    client.onState((state) => {
      if (state === "waiting") resolve();
    });
  });
}
