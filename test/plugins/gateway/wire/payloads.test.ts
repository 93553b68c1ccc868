import { describe, expect, it } from "vitest";
import { limits, type JsonObject } from "../../../../core/index.ts";
import { askedHost } from "../../../support/asked-host.ts";
import { numbers } from "../../../support/fan-out.ts";
import type { CameParams, HostClient } from "../../../support/open-host.ts";

const unserialisable = { unserialisable: true };

/** Type and payload of what came, without what the host itself tells of the session. */
function told(client: HostClient, from: number): readonly unknown[] {
  return client
    .events()
    .slice(from)
    .filter(({ type }) => type !== "session.info")
    .map(({ type, payload }) => [type, payload]);
}

async function replayed(client: HostClient, session_id: string): Promise<readonly CameParams[]> {
  const { events } = await client.call("session.events.since", { session_id });
  return events as readonly CameParams[];
}

describe("what a runner emits", () => {
  it("C-074 above 8 MiB is cut between two characters, for everybody", async () => {
    const { a, b, turn, session_id } = await askedHost();
    const result = `a${"😀".repeat(limits.maxWireFrameBytes / 4)}`;
    turn.emit("tool.start", { tool_id: "c1", name: "cat" });
    turn.emit("tool.complete", { tool_id: "c1", name: "cat", outcome: "ok", result });
    const [ofA, ofB] = [await a.event("tool.complete"), await b.event("tool.complete")];
    expect(ofB).toEqual(ofA);
    const { payload = {} } = ofA;
    const cut = String(payload["result"]);
    expect(payload).toMatchObject({ tool_id: "c1", name: "cat", outcome: "ok" });
    expect(payload["truncated"]).toEqual([{ field: "result", bytes: limits.maxWireFrameBytes + 1 }]);
    expect([cut.isWellFormed(), result.startsWith(cut), cut.length > 1_000_000]).toEqual([true, true, true]);
    const whole = JSON.stringify(a.came.find(({ params }) => params?.type === "tool.complete"));
    expect(Buffer.byteLength(whole)).toBeLessThanOrEqual(limits.maxWireFrameBytes);
    turn.end();
    await Promise.all([a.event("message.complete"), b.event("message.complete")]);
    expect(await a.call("session.status", { session_id })).toMatchObject({ running: false });
    expect([a.ws.readyState, b.ws.readyState]).toEqual([1, 1]);
  });

  it("C-077 is one text live, replayed and stored, whatever pairs are cut", async () => {
    const { a, b, turn, session_id } = await askedHost();
    turn.delta("m\ud83d");
    turn.delta("\ude00n");
    turn.delta("o\ud83d");
    turn.end();
    await Promise.all([a.event("message.complete"), b.event("message.complete")]);
    const text = "m\u{1f600}no\ufffd";
    const pieces = a.events("message.delta").map(({ payload }) => String(payload?.["text"]));
    expect(pieces).toEqual(["m", "\u{1f600}n", "o", "\ufffd"]);
    expect(b.events("message.delta")).toEqual(a.events("message.delta"));
    expect(a.events("message.complete")[0]?.payload?.["text"]).toBe(text);
    const again = (await replayed(b, session_id)).filter(({ type }) => type === "message.delta");
    expect(again).toEqual(a.events("message.delta"));
    const { messages } = await a.call("session.history", { session_id });
    expect((messages as readonly JsonObject[]).at(-1)).toMatchObject({ role: "assistant", text });
  });

  it("C-078 may nest to 64; what is deeper is cut", async () => {
    const { a, turn } = await askedHost();
    await a.settled();
    const from = a.events().length;
    const nested = (depth: number, wrap: (inner: unknown) => unknown): unknown => {
      let value: unknown = 1;
      for (let level = 0; level < depth; level++) value = wrap(value);
      return value;
    };
    const wraps = [(inner: unknown) => [inner], (inner: unknown) => ({ deep: inner })];
    for (const [index, wrap] of wraps.entries()) {
      for (const depth of [64, 65, 5_000]) {
        const tool_id = `${index}-${depth}`;
        expect(turn.emit("tool.start", { tool_id, name: "run", args: nested(depth, wrap) })).toBe("written");
        expect(turn.emit("tool.complete", { tool_id, outcome: "ok" })).toBe("written");
      }
    }
    turn.delta("next");
    await a.event("message.delta");
    const starts = a.events("tool.start").map(({ payload }) => payload);
    expect(starts.map((payload) => payload?.["tool_id"])).toEqual(["0-64", "0-65", "0-5000", "1-64", "1-65", "1-5000"]);
    expect([starts[0]?.["args"], starts[3]?.["args"]]).toEqual([
      nested(64, wraps[0] ?? String),
      nested(64, wraps[1] ?? String),
    ]);
    expect(starts.map((payload) => depthOf(payload?.["args"]))).toEqual([64, 64, 64, 64, 64, 64]);
    expect(a.events("tool.complete").every(({ payload }) => payload?.["outcome"] === "ok")).toBe(true);
    expect(told(a, from)).toHaveLength(13);
  });

  it("C-079 that is no JSON keeps its type and number, and stops nobody", async () => {
    const { a, b, turn, session_id } = await askedHost();
    await a.settled();
    const from = a.events().length;
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    const throws = (): never => {
      throw new Error("not for you");
    };
    const bad: readonly object[] = [
      cycle,
      { big: 1n },
      { toJSON: throws },
      Object.defineProperty({}, "text", { get: throws, enumerable: true }),
      { figure: Number.NaN },
    ];
    for (const payload of bad) expect(turn.emit("status.update", payload as JsonObject)).toBe("written");
    turn.emit("tool.start", { tool_id: "c1", name: "run", args: { big: 1n } });
    turn.emit("tool.complete", { tool_id: "c1", outcome: "ok", result: cycle });
    turn.emit("status.update", { kind: "status", text: "good" });
    await a.eventWhere("status.update", ({ payload }) => payload?.["text"] === "good");
    await b.settled();
    expect(told(a, from)).toEqual([
      ...bad.map(() => ["status.update", unserialisable]),
      ["tool.start", { ...unserialisable, tool_id: "c1", name: "run" }],
      ["tool.complete", { ...unserialisable, tool_id: "c1", name: "run", outcome: "ok" }],
      ["status.update", { kind: "status", text: "good" }],
    ]);
    const seqs = a.events().map(({ seq }) => seq);
    expect(seqs).toEqual(numbers(1, seqs.length));
    expect(b.events().slice(-8)).toEqual(a.events().slice(-8));
    expect((await replayed(b, session_id)).slice(-8)).toEqual(a.events().slice(-8));
  });
});

describe("a forged event", () => {
  it("of a runner takes no name of those that the host makes", async () => {
    const { a, turn } = await askedHost();
    await a.settled();
    const from = a.events().length;
    for (const type of ["message.start", "message.complete", "request.resolved", "session.reclaimed"]) {
      expect([type, turn.emit(type, { text: "forged" })]).toEqual([type, "invalid_frame"]);
    }
    turn.emit("subagent.started", { name: "helper" });
    await a.event("subagent.started");
    expect(told(a, from)).toEqual([["subagent.started", { name: "helper" }]]);
  });
});

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}
