import { describe, expect, it } from "vitest";
import { turnOf } from "../../../support/asked-host.ts";
import { numbers } from "../../../support/fan-out.ts";
import { atJoinSteps, type JoinStep } from "../../../support/join-steps.ts";
import {
  newSession,
  openHost,
  type CameParams,
  type DrivenTurn,
  type HostClient,
  type OpenHost,
} from "../../../support/open-host.ts";

/** Each message of a client as it came, from now on. */
function texts({ ws }: HostClient): string[] {
  const came: string[] = [];
  ws.on("message", (data: Buffer) => came.push(data.toString()));
  return came;
}

function seqs(events: readonly CameParams[]): readonly (number | undefined)[] {
  return events.map(({ seq }) => seq);
}

describe("frames of a session", () => {
  it("W27 are the same bytes for those attached, and none for anybody else", async () => {
    const host = await openHost();
    const [a, b, c] = [await host.connect(), await host.connect(), await host.connect()];
    const { session_id } = await newSession(a);
    const turn = await turnOf(host, a, session_id);
    await b.call("session.activate", { session_id });
    const [ofA, ofB, ofC] = [texts(a), texts(b), texts(c)];
    turn.delta("Hello ");
    turn.emit("reasoning.delta", { text: "why not" });
    turn.end({ status: "completed" });
    await Promise.all([a.event("message.complete"), b.event("message.complete")]);
    await c.settled();
    expect(
      a
        .events()
        .map(({ type }) => type)
        .slice(-4, -1),
    ).toEqual(["message.delta", "reasoning.delta", "message.complete"]);
    expect(ofB.slice(0, 3)).toEqual(ofA.slice(0, 3));
    expect(ofA.length).toBeGreaterThanOrEqual(3);
    expect(ofC).toHaveLength(1);
    expect(c.events()).toEqual([]);
  });

  it("W31 are numbered each in its own, and nothing else has a number", async () => {
    const host = await openHost();
    const a = await host.connect({ asks: true });
    const [s1, s2, s3] = [await newSession(a), await newSession(a), await newSession(a)];
    const title = (session_id: string, text: string): Promise<unknown> =>
      a.ask("session.title", { session_id, title: text });
    const from = a.came.length;
    await title(s1.session_id, "one");
    await title(s2.session_id, "two");
    await title(s1.session_id, "three");
    const turn = await turnOf(host, a, s3.session_id);
    void turn.ask("clarify", { question: "?" });
    await a.request("clarify");
    await a.call("session.close", { session_id: s3.session_id });
    await a.event("session.reclaimed");
    const came = a.came.slice(from);
    const told = came.flatMap(({ params }) => (params?.seq === undefined ? [] : [params]));
    // A title is told twice: by itself, and with all that is said of the session.
    expect(told.slice(0, 6).map(({ session_id, type, seq }) => [session_id, type, seq])).toEqual([
      [s1.session_id, "session.title", 1],
      [s1.session_id, "session.info", 2],
      [s2.session_id, "session.title", 1],
      [s2.session_id, "session.info", 2],
      [s1.session_id, "session.title", 3],
      [s1.session_id, "session.info", 4],
    ]);
    expect(seqs(told.slice(6))).toEqual(numbers(1, told.length - 6));
    const others = came.filter(({ method, params }) => method !== "event" || params?.type === "session.reclaimed");
    expect(others.length).toBeGreaterThanOrEqual(6);
    for (const each of others) {
      const { params = {}, ...envelope } = each;
      expect([Object.hasOwn(envelope, "seq"), Object.hasOwn(params, "seq")]).toEqual([false, false]);
    }
  });
});

describe("a client that attaches", () => {
  it.each(["session.resume", "session.activate"])(
    "W30 by %s has each number above its reply's once",
    async (method) => {
      const host = await openHost();
      const a = await host.connect();
      const { session_id, stored_session_id } = await newSession(a);
      const turn = await turnOf(host, a, session_id);
      emitAtSteps(host, session_id, { turn });
      const b = await host.connect();
      const named = { session_id: method === "session.resume" ? stored_session_id : session_id };
      const { latest_seq, inflight, truncated } = await b.call(method, named);
      turn.delta("live");
      const live = await eventsTo("live", b);
      await eventsTo("live", a);
      // Before the turn said anything there were two; three came when it was attached, one at the instant.
      const w = Number(latest_seq);
      expect([w, truncated]).toEqual([6, false]);
      expect(seqs(live)).toEqual(numbers(w + 1, w + 4));
      expect(seqs(a.events())).toEqual(numbers(1, w + 4));
      expect((inflight as { readonly assistant: string }).assistant + textOf(live)).toBe(textOf(a.events()));
    },
  );

  it("W30 with last_seen has the numbers above it behind the reply", async () => {
    const host = await openHost();
    const a = await host.connect();
    const { session_id } = await newSession(a);
    const turn = await turnOf(host, a, session_id);
    turn.delta("early ");
    turn.delta("and later ");
    emitAtSteps(host, session_id, { turn });
    const b = await host.connect();
    const { latest_seq, inflight, truncated } = await b.call("session.activate", { session_id, last_seen: 3 });
    turn.delta("live");
    expect([latest_seq, inflight, truncated]).toEqual([8, null, false]);
    expect(seqs(await eventsTo("live", b))).toEqual(numbers(4, 12));
    // The reply comes first, and what is asked for once more is as it was.
    expect(b.told()[0]).toMatch(/^<- /);
    await eventsTo("live", a);
    expect(b.events()).toEqual(a.events().slice(3));
  });

  it("W30 again has nothing twice that it has already", async () => {
    const host = await openHost();
    const a = await host.connect();
    const { session_id } = await newSession(a);
    const turn = await turnOf(host, a, session_id);
    emitAtSteps(host, session_id, { turn });
    const { latest_seq } = await a.call("session.activate", { session_id });
    turn.delta("live");
    const events = await eventsTo("live", a);
    expect(seqs(events)).toEqual(numbers(1, 10));
    // What the snapshot covers has come before it.
    const reply = a.told().findLastIndex((word) => word.startsWith("<- "));
    expect(a.came.slice(1, reply + 1).filter(({ method }) => method === "event")).toHaveLength(Number(latest_seq));
  });

  it("W30 has each frame of a large burst once", async () => {
    const host = await openHost();
    const a = await host.connect();
    const { session_id } = await newSession(a);
    const turn = await turnOf(host, a, session_id);
    // More than a client is given in one turn of the loop.
    const counts = { asked: 50, instant: 50, read: 300 };
    emitAtSteps(host, session_id, { turn, counts });
    const b = await host.connect();
    const { latest_seq } = await b.call("session.activate", { session_id, last_seen: 0 });
    turn.delta("live");
    expect([latest_seq, seqs(await eventsTo("live", b))]).toEqual([102, numbers(1, 403)]);
  });
});

/** Emits so many frames when a client is attached, in the instant of its snapshot, and before its reply is sent. */
function emitAtSteps(
  host: OpenHost,
  session_id: string,
  { turn, counts = { asked: 3, instant: 1, read: 3 } }: { turn: DrivenTurn; counts?: Record<JoinStep, number> },
): void {
  atJoinSteps(host, session_id, (step) => {
    for (let frame = 0; frame < counts[step]; frame++) turn.delta(`${step} ${frame}; `);
  });
}

/** All events that a client got, once it has this text. */
async function eventsTo(text: string, client: HostClient): Promise<readonly CameParams[]> {
  await client.eventWhere("message.delta", ({ payload }) => payload?.["text"] === text);
  return client.events();
}

function textOf(events: readonly CameParams[]): string {
  return events.flatMap(({ type, payload }) => (type === "message.delta" ? [String(payload?.["text"])] : [])).join("");
}
