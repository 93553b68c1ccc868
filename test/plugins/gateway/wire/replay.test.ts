import { describe, expect, it } from "vitest";
import { limits, type JsonObject } from "../../../../core/index.ts";
import { turnOf } from "../../../support/asked-host.ts";
import { numbers } from "../../../support/fan-out.ts";
import { newSession, openHost, type CameParams, type HostClient, type OpenHost } from "../../../support/open-host.ts";
import { turnsOfLoop } from "../../../support/turns-of-loop.ts";

/** What `session.events.since` says, as numbers. */
async function since(
  client: HostClient,
  session_id: string,
  last_seen?: number,
): Promise<{ readonly seqs: readonly unknown[]; readonly latest_seq: unknown; readonly truncated: unknown }> {
  const asked = { session_id, ...(last_seen === undefined ? {} : { last_seen }) };
  const { events, latest_seq, truncated } = await client.call("session.events.since", asked);
  return { seqs: (events as readonly CameParams[]).map(({ seq }) => seq), latest_seq, truncated };
}

/** A session with a turn that runs, so that frames can be emitted; its first frames are out. */
async function runningSession(host: OpenHost): Promise<{
  readonly a: HostClient;
  readonly session_id: string;
  readonly stored_session_id: string;
  /** Emits a notice whose params are so many bytes of JSON, and gives its number. */
  readonly sized: (bytes: number) => Promise<number>;
  readonly emit: (count: number) => Promise<void>;
}> {
  const a = await host.connect();
  const { session_id, stored_session_id } = await newSession(a);
  const turn = await turnOf(host, a, session_id);
  let around = 0;
  const emitNotice = async (units: number): Promise<CameParams> => {
    const place = a.came.length;
    turn.emit("notice", { message: "x".repeat(units) });
    const { params } = await a.message((came) => came.params?.type === "notice", place);
    return params ?? {};
  };
  const { seq: _seq, ...params } = await emitNotice(0);
  around = Buffer.byteLength(JSON.stringify({ ...params, seq: 1 })) - 1;
  return {
    a,
    session_id,
    stored_session_id,
    async sized(bytes) {
      const head = Number((await since(a, session_id)).latest_seq) + 1;
      const notice = await emitNotice(bytes - around - String(head).length);
      expect(Buffer.byteLength(JSON.stringify(notice))).toBe(bytes);
      return Number(notice.seq);
    },
    async emit(count) {
      for (let nth = 0; nth < count; nth++) {
        turn.emit("status.update", { kind: "status", text: "x" });
        if (nth % 200 === 199) await turnsOfLoop(1);
      }
      await a.settled();
    },
  };
}

describe("what a session still has", () => {
  it("W32 is told as bare params under six keys, truncated above its head", async () => {
    const host = await openHost();
    const { a, session_id, emit } = await runningSession(host);
    await emit(2);
    const reply = await a.call("session.events.since", { session_id, last_seen: 3 });
    expect(reply).toEqual({
      events: a.events().filter(({ seq = 0 }) => seq > 3),
      latest_seq: 5,
      truncated: false,
      count: 2,
      epoch: a.ready["replay_epoch"],
      open_requests: [],
    });
    expect(
      (reply["events"] as readonly CameParams[]).map(({ type, seq, origin, turn }) => [type, seq, origin, typeof turn]),
    ).toEqual([
      ["status.update", 4, a.origin, "object"],
      ["status.update", 5, a.origin, "object"],
    ]);
    expect(await since(a, session_id, 5)).toEqual({ seqs: [], latest_seq: 5, truncated: false });
    expect(await since(a, session_id, 99)).toEqual({ seqs: [], latest_seq: 5, truncated: true });
    expect(await since(a, session_id)).toEqual({ seqs: numbers(1, 5), latest_seq: 5, truncated: false });
    for (const last_seen of [-1, 1.5, "3", null]) {
      expect(await a.refused("session.events.since", { session_id, last_seen })).toEqual([-32602, "invalid_params"]);
    }
    for (const [last_seen, truncated] of [
      [0, false],
      [4, true],
    ] as const) {
      expect(await since(a, "s-unknown", last_seen)).toEqual({ seqs: [], latest_seq: 0, truncated });
    }
  });

  it("W33 C-022 is its last 512 events, and truncated below them", async () => {
    const host = await openHost();
    const { a, session_id, emit } = await runningSession(host);
    await emit(562 - 3);
    const oldest = 51;
    const kept = { seqs: numbers(oldest, 562), latest_seq: 562 };
    expect(await since(a, session_id, oldest - 1)).toEqual({ ...kept, truncated: false });
    expect(await since(a, session_id, oldest - 2)).toEqual({ ...kept, truncated: true });
    expect(await since(a, session_id, 5)).toEqual({ ...kept, truncated: true });
    expect(await since(a, session_id, 561)).toEqual({ seqs: [562], latest_seq: 562, truncated: false });
  });

  it("W34 C-026 is at most 4 MiB, and nothing that is larger by itself", async () => {
    const host = await openHost();
    const { a, session_id, sized, emit } = await runningSession(host);
    const half = limits.maxReplayBytes / 2;
    const first = await sized(half);
    expect((await since(a, session_id)).seqs).toEqual(numbers(1, first));
    const second = await sized(half);
    expect(await since(a, session_id)).toEqual({ seqs: [first, second], latest_seq: second, truncated: true });
    const third = await sized(half + 1);
    expect(await since(a, session_id)).toEqual({ seqs: [third], latest_seq: third, truncated: true });
    const exact = await sized(limits.maxReplayBytes);
    expect(await since(a, session_id, third)).toEqual({ seqs: [exact], latest_seq: exact, truncated: false });
    const large = await sized(limits.maxReplayBytes + 1);
    expect(await since(a, session_id, third)).toEqual({ seqs: [exact], latest_seq: large, truncated: true });
    await emit(1);
    expect(await since(a, session_id, large)).toEqual({ seqs: [large + 1], latest_seq: large + 1, truncated: false });
    expect((await since(a, session_id, exact)).truncated).toBe(true);
    expect(a.ws.readyState).toBe(1);
  });

  it("C-026 leaves out a frame of 5 MiB, which clients got live", async () => {
    const host = await openHost();
    const { a, session_id, sized, emit } = await runningSession(host);
    const large = await sized(5_242_880);
    await emit(1);
    const before = numbers(1, large - 1);
    expect(await since(a, session_id, 0)).toEqual({
      seqs: [...before, large + 1],
      latest_seq: large + 1,
      truncated: true,
    });
    expect(await since(a, session_id, large)).toEqual({ seqs: [large + 1], latest_seq: large + 1, truncated: false });
    for (let nth = 0; nth < 80; nth++) await sized(65_536);
    const { bytes, max_bytes_per_session } = (await a.call("session.events.stats")) as Record<string, number>;
    expect([max_bytes_per_session, Number(bytes) <= 4_194_304, (await since(a, session_id, 0)).truncated]).toEqual([
      4_194_304,
      true,
      true,
    ]);
  });

  it("W35 C-022 C-026 goes with the process bound, and its numbers go on", async () => {
    const host = await openHost();
    const { a, session_id, stored_session_id, emit } = await runningSession(host);
    const { latest_seq } = await since(a, session_id);
    await fillRings(host, 20);
    const stats = (await a.call("session.events.stats")) as Record<string, number>;
    expect(stats).toMatchObject({
      max_per_session: limits.maxReplayEvents,
      max_bytes_per_session: limits.maxReplayBytes,
      max_bytes_process: limits.maxReplayBytesInAll,
    });
    expect([Number(stats["bytes"]) <= limits.maxReplayBytesInAll, Number(stats["bytes"]) > 60_000_000]).toEqual([
      true,
      true,
    ]);
    expect(await since(a, session_id, 0)).toEqual({ seqs: [], latest_seq, truncated: true });
    await emit(1);
    const next = Number(latest_seq) + 1;
    expect(await since(a, session_id, 0)).toEqual({ seqs: [next], latest_seq: next, truncated: true });
    await a.call("session.close", { session_id });
    await a.event("session.reclaimed");
    const resumed = await a.call("session.resume", { session_id: stored_session_id });
    const head = Number(resumed["latest_seq"]);
    expect([head > next, resumed["epoch"]]).toEqual([true, a.ready["replay_epoch"]]);
    await a.call("session.title", { session_id: resumed["session_id"], title: "again" });
    expect((await a.event("session.title")).seq).toBe(head + 1);
  });

  it("C-024 is asked for by the number of the envelope alone", async () => {
    const host = await openHost();
    const { a, session_id, emit } = await runningSession(host);
    await emit(2);
    const b = await host.connect();
    await b.call("session.activate", { session_id });
    const turn = await host.agent.turn();
    turn.emit("status.update", { kind: "status", text: "7", seq: 99, session_id: "s-other" });
    const event = await b.event("status.update");
    expect([event.seq, event.session_id, event.payload]).toEqual([
      6,
      session_id,
      { kind: "status", text: "7", seq: 99, session_id: "s-other" },
    ]);
    await b.drop();
    await emit(2);
    expect(await since(a, session_id, 6)).toEqual({ seqs: [7, 8], latest_seq: 8, truncated: false });
  });
});

/** So many sessions with a ring that is nearly full, and nobody attached. */
async function fillRings({ tap, agent }: OpenHost, count: number): Promise<void> {
  for (let nth = 0; nth < count; nth++) {
    const live = await tap.sessions.create({ owner: { client_id: null, principal: "local" } });
    if ("refused" in live) throw new Error(live.message);
    const begun = agent.turns.length;
    const submitted = await live.submit({ text: "go" }, null);
    if ("refused" in submitted) throw new Error(submitted.message);
    submitted.begin();
    const turn = await agent.turn(begun);
    turn.emit("notice", { message: "x".repeat(4_100_000) } satisfies JsonObject);
    await turnsOfLoop(2);
  }
}
