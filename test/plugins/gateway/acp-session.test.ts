import { beforeAll, describe, expect, it } from "vitest";
import { createRoomtap } from "../../../index.ts";
import { acpExampleAgent, WebSocket } from "../../../plugins/index.ts";
import { createClient, type Client, type RequestCall, type WireEvent } from "../../../plugins/client/index.ts";

const command = { kind: "acp", command: process.execPath, args: [acpExampleAgent() ?? "not installed"] } as const;
const edit = "Modifying critical configuration file";
const texts = [
  "I'll help you with that. Let me start by reading some files to understand the current situation.",
  " Now I understand the project structure. I need to make some changes to improve it.",
  " Perfect! I've successfully updated the configuration. The changes have been applied.",
];

// The agent takes five seconds for a turn: one turn is run, and looked at from all sides.
describe("a third party's agent, and two clients on one session", () => {
  let asker: Watcher;
  let peer: Watcher;
  let history: readonly object[];

  beforeAll(async () => {
    const tap = await createRoomtap({ db: ":memory:", rooms: [], agents: { default: command } });
    try {
      const gateway = tap.openGateway();
      const { ws: url } = await gateway.listen({ port: 0 });
      [asker, peer] = await Promise.all([watch(url, gateway.token), watch(url, gateway.token)]);
      const { session_id, stored_session_id } = await asker.client.call("session.create", {});
      await peer.client.call("session.resume", { session_id: stored_session_id });
      await asker.client.submit({ session_id, text: "Tidy up my project" });
      await Promise.all([asker.asked, peer.asked]);
      peer.answer({ choice: "once" });
      await Promise.all([asker.completed, peer.completed]);
      history = (await asker.client.call("session.history", { session_id })).messages;
      await Promise.all([asker.client.close(), peer.client.close()]);
    } finally {
      await tap.close({ graceMs: 0 });
    }
  }, 60_000);

  it("W27 both see the same frames: text and tools of the turn", () => {
    expect(turnOf(peer)).toEqual(turnOf(asker));
    const tools = turnOf(asker).filter(({ type }) => type === "tool.start" || type === "tool.complete");
    expect(
      tools.map(({ type, payload = {} }) => {
        const { tool_id, name, outcome } = payload;
        return [type, tool_id, name, ...(outcome === undefined ? [] : [outcome])];
      }),
    ).toEqual([
      ["tool.start", "call_1", "Reading project files"],
      ["tool.complete", "call_1", "Reading project files", "ok"],
      ["tool.start", "call_2", edit],
      ["tool.complete", "call_2", edit, "ok"],
    ]);
    const deltas = turnOf(asker).filter(({ type }) => type === "message.delta");
    expect(deltas.map(({ payload }) => String(payload?.["text"])).join("")).toBe(texts.join(""));
    expect(turnOf(asker).at(-1)).toMatchObject({
      type: "message.complete",
      payload: { status: "complete", text: texts.join("") },
    });
  });

  it("W11 every frame of it names who asked", () => {
    const sources = new Set(turnOf(peer).map(({ turn }) => JSON.stringify(turn?.source)));
    expect(new Set(turnOf(peer).map(({ origin }) => origin))).toEqual(new Set([asker.origin]));
    expect([...sources]).toEqual([JSON.stringify({ kind: "connection", socket_id: asker.origin })]);
    expect(turnOf(peer)[0]).toMatchObject({
      type: "message.start",
      payload: { input: { role: "user", text: "Tidy up my project" } },
    });
  });

  it("its permission is asked of both, by one id", async () => {
    const { id, method, params } = await asker.asked;
    expect(await peer.asked).toMatchObject({ id, method, params });
    expect([id, method, params]).toEqual([
      expect.stringMatching(/^srq-[0-9a-f]{12}$/),
      "approval",
      expect.objectContaining({ tool_id: "call_2", tool_name: edit, command: edit, choices: ["once", "deny"] }),
    ]);
  });

  it("W38 the second answers, and the first learns it", async () => {
    const { id, signal } = await asker.asked;
    expect(signal.aborted).toBe(true);
    const by = { origin: peer.origin };
    expect(endsFor(asker)).toMatchObject([
      ["request.cancel", { id, method: "approval", reason: "resolved" }],
      ["request.resolved", { id, outcome: "answered", choice: "once", by }],
    ]);
    expect(endsFor(peer)).toEqual(endsFor(asker));
  });

  it("the transcript has the prompt and the answer", () => {
    expect(history).toMatchObject([
      { role: "user", text: "Tidy up my project" },
      { role: "assistant", text: texts.join("") },
    ]);
  });
});

/** A client that is shown approvals, and all it was told. */
interface Watcher {
  readonly client: Client;
  /** Kept: a client that is closed has none any more. */
  readonly origin: string | null;
  readonly events: readonly WireEvent[];
  readonly asked: Promise<RequestCall>;
  /** Answers what it is asked. */
  readonly answer: (result: object) => void;
  readonly completed: Promise<void>;
}

async function watch(url: string, token: string): Promise<Watcher> {
  const client = createClient({ url, token, WebSocket });
  const events: WireEvent[] = [];
  client.on("*", (event) => void events.push(event));
  const completed = new Promise<void>((resolve) => void client.on("message.complete", () => resolve()));
  let answer: Watcher["answer"] = () => undefined;
  const answered = new Promise<object>((resolve) => (answer = resolve));
  const asked = new Promise<RequestCall>((resolve) => {
    client.onRequest("approval", (call) => {
      resolve(call);
      return answered;
    });
  });
  await client.connect();
  return { client, origin: client.origin, events, asked, answer, completed };
}

function turnOf({ events }: Watcher): readonly WireEvent[] {
  return events.filter(({ turn }) => turn !== undefined);
}

/** How what a client was asked ended. */
function endsFor({ events }: Watcher): readonly (readonly [type: string, payload: WireEvent["payload"]])[] {
  const ends = events.filter(({ type }) => type === "request.cancel" || type === "request.resolved");
  return ends.map(({ type, payload }) => [type, payload]);
}
