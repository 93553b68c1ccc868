import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { limits, replayBounds, utf8Length, type Session } from "../../core/index.ts";
import { openWire, numbers, type Watcher, type Wire } from "../support/fan-out.ts";

interface Answer {
  readonly seqs: readonly (number | undefined)[];
  readonly latest_seq: number;
  readonly truncated: boolean;
}

function since(wire: Wire, session: Session | null, lastSeen: number, { client }: Watcher): Answer {
  const { events, latest_seq, truncated } = wire.fanOut.since(session, lastSeen, client);
  return { seqs: events.map(({ seq }) => seq), latest_seq, truncated };
}

/** Writes an event whose params are `bytes` of JSON. */
function writeSized(wire: Wire, session: Session, bytes: number): void {
  const params = { type: "notice", session_id: session.runtimeId, seq: session.seq + 1, payload: { text: "" } };
  wire.write(session, "notice", { text: "x".repeat(bytes - utf8Length(JSON.stringify(params))) });
}

const mebibyte = 1_048_576;

describe("what a session still has", () => {
  it("W32 is told as bare params, truncated above its head", () => {
    const wire = openWire();
    const session = wire.session();
    const asker = wire.connect();
    for (const text of ["a", "b", "c", "d", "e"]) wire.write(session, "message.delta", { text });
    const { events, ...rest } = wire.fanOut.since(session, 3, asker.client);
    expect(events).toEqual([
      { type: "message.delta", session_id: session.runtimeId, seq: 4, payload: { text: "d" } },
      { type: "message.delta", session_id: session.runtimeId, seq: 5, payload: { text: "e" } },
    ]);
    expect(rest).toEqual({ latest_seq: 5, truncated: false });
    expect(since(wire, session, 5, asker)).toEqual({ seqs: [], latest_seq: 5, truncated: false });
    expect(since(wire, session, 99, asker)).toEqual({ seqs: [], latest_seq: 5, truncated: true });
  });

  it("C-022 says truncated below its floor and above its head", () => {
    const wire = openWire({ replay: { ...replayBounds, maxEvents: 4 } });
    const session = wire.session();
    const asker = wire.connect();
    wire.burst(session, 10);
    const answers = [3, 5, 6, 10, 11].map((lastSeen) => since(wire, session, lastSeen, asker));
    expect(answers).toEqual([
      { seqs: [7, 8, 9, 10], latest_seq: 10, truncated: true },
      { seqs: [7, 8, 9, 10], latest_seq: 10, truncated: true },
      { seqs: [7, 8, 9, 10], latest_seq: 10, truncated: false },
      { seqs: [], latest_seq: 10, truncated: false },
      { seqs: [], latest_seq: 10, truncated: true },
    ]);
  });

  it("C-022 keeps numbers and floor when its ring is taken", () => {
    const wire = openWire({ replay: { maxEvents: 4, maxBytes: 10_000, maxBytesInAll: 1_000 } });
    const session = wire.session();
    const asker = wire.connect();
    wire.burst(session, 10);
    wire.turn();
    writeSized(wire, wire.session("E"), 1_000);
    wire.turn();
    expect(since(wire, session, 10, asker)).toEqual({ seqs: [], latest_seq: 10, truncated: false });
    expect(since(wire, session, 9, asker)).toEqual({ seqs: [], latest_seq: 10, truncated: true });
    wire.burst(session, 1);
    expect(since(wire, session, 0, asker)).toEqual({ seqs: [11], latest_seq: 11, truncated: true });
  });

  it("W33 is the last 512 events", () => {
    const wire = openWire();
    const session = wire.session();
    const asker = wire.connect();
    wire.burst(session, 562);
    const oldest = 562 - limits.maxReplayEvents + 1;
    expect(since(wire, session, oldest - 1, asker)).toEqual({
      seqs: numbers(oldest, 562),
      latest_seq: 562,
      truncated: false,
    });
    expect(since(wire, session, 5, asker).truncated).toBe(true);
  });

  it("I8 is 511, 512 and again 512 events", () => {
    const wire = openWire();
    const session = wire.session();
    const asker = wire.connect();
    const seen = [511, 1, 1].map((count) => {
      wire.burst(session, count);
      return since(wire, session, 0, asker);
    });
    expect(seen.map(({ seqs, truncated }) => [seqs.length, truncated])).toEqual([
      [511, false],
      [512, false],
      [512, true],
    ]);
  });

  it("W34 leaves out what is larger than all of it", () => {
    const wire = openWire({ replay: { ...replayBounds, maxBytes: 700 } });
    const session = wire.session();
    const watcher = wire.connect({ to: [session] });
    writeSized(wire, session, 400);
    writeSized(wire, session, 400);
    expect(since(wire, session, 0, watcher)).toEqual({ seqs: [2], latest_seq: 2, truncated: true });
    writeSized(wire, session, 900);
    writeSized(wire, session, 100);
    expect(since(wire, session, 2, watcher)).toEqual({ seqs: [4], latest_seq: 4, truncated: true });
    expect(since(wire, session, 3, watcher)).toEqual({ seqs: [4], latest_seq: 4, truncated: false });
    wire.turn();
    expect(watcher.outlet.seqs).toEqual([1, 2, 3, 4]);
  });

  it("I8 is 699 or 700 bytes of params, and not 701", () => {
    for (const [bytes, kept] of [
      [699, [1]],
      [700, [1]],
      [701, []],
    ] as const) {
      const wire = openWire({ replay: { ...replayBounds, maxBytes: 700 } });
      const session = wire.session();
      writeSized(wire, session, bytes);
      expect(since(wire, session, 0, wire.connect()).seqs).toEqual(kept);
    }
  });

  it("C-026 leaves out an event of 5 MiB that clients got live", () => {
    const wire = openWire();
    const session = wire.session();
    const watcher = wire.connect({ to: [session] });
    wire.write(session, "notice", { text: "x".repeat(5 * mebibyte) });
    wire.turn();
    wire.write(session, "notice", { text: "x" });
    wire.turn();
    expect(watcher.outlet.seqs).toEqual([1, 2]);
    expect(since(wire, session, 0, watcher)).toEqual({ seqs: [2], latest_seq: 2, truncated: true });
    expect(since(wire, session, 1, watcher)).toEqual({ seqs: [2], latest_seq: 2, truncated: false });
  });

  it("C-026 is at most 4 MiB, and 64 MiB of all sessions", () => {
    const wire = openWire();
    const asker = wire.connect();
    const fill = (session: Session): void => {
      for (let k = 0; k < 80; k++) writeSized(wire, session, 65_536);
      wire.turn();
    };
    const first = wire.session("D0");
    fill(first);
    expect(wire.fanOut.stats().replay).toMatchObject({ sessions: 1, events: 64, bytes: 4 * mebibyte });
    expect(since(wire, first, 0, asker)).toMatchObject({ seqs: numbers(17, 80), truncated: true });
    for (let k = 1; k < 20; k++) fill(wire.session(`D${k}`));
    const { replay } = wire.fanOut.stats();
    expect(replay).toEqual({
      sessions: 16,
      events: 1_024,
      bytes: 64 * mebibyte,
      max_per_session: 512,
      max_bytes_per_session: 4 * mebibyte,
      max_bytes_process: 64 * mebibyte,
    });
  });

  it("goes where the session was active least recently, its oldest events first", () => {
    const wire = openWire({ replay: { maxEvents: 10, maxBytes: 1_000, maxBytesInAll: 1_000 } });
    const [a, b] = [wire.session("A"), wire.session("B")];
    const asker = wire.connect();
    for (const session of [a, a, b, b, a]) {
      writeSized(wire, session, 200);
      wire.turn();
    }
    writeSized(wire, a, 150);
    expect([since(wire, a, 0, asker).seqs, since(wire, b, 0, asker).seqs]).toEqual([[1, 2, 3, 4], [2]]);
  });

  it("is filtered by what the caller may receive now", () => {
    const wire = openWire({
      mayReceive: (client, _, frame) =>
        !("id" in frame) && (frame.params.type !== "error" || client.holds("approvals")),
    });
    const session = wire.session();
    const asker = wire.connect({ scopes: ["read"] });
    for (const type of ["notice", "error", "notice"]) wire.write(session, type, { message: "m" });
    expect(since(wire, session, 0, asker)).toEqual({ seqs: [1, 3], latest_seq: 3, truncated: false });
    asker.client.scopes = new Set(["read", "approvals"]);
    expect(since(wire, session, 0, asker).seqs).toEqual([1, 2, 3]);
  });

  it("is nothing, alike, for an unknown session and a hidden one", () => {
    const wire = openWire();
    const asker = wire.connect();
    const hidden = wire.sessions.open("H", { roomPlumbing: true });
    wire.burst(hidden, 3);
    for (const session of [null, hidden]) {
      expect(since(wire, session, 0, asker)).toEqual({ seqs: [], latest_seq: 0, truncated: false });
      expect(since(wire, session, 2, asker)).toEqual({ seqs: [], latest_seq: 0, truncated: true });
    }
  });
});

describe("numbers", () => {
  it("W31 are per session, and events of no session have none", () => {
    const wire = openWire();
    const [s1, s2] = [wire.session("1"), wire.session("2")];
    const watcher = wire.connect({ to: [s1, s2] });
    for (const session of [s1, s2, s1]) {
      wire.burst(session, 1);
      wire.turn();
    }
    watcher.client.mailbox.reply('{"jsonrpc":"2.0","id":"r1","result":{}}');
    const params = { session_id: s1.runtimeId };
    wire.fanOut.request([watcher.client], s1, { jsonrpc: "2.0", id: "srq-0123456789ab", method: "clarify", params });
    wire.write(null, "notice", { message: "m" });
    wire.turn();
    expect(watcher.outlet.seqs).toEqual([1, 1, 2, null, null, null]);
  });

  it("W35 go on after an eviction and under another runtime id", () => {
    const wire = openWire({ replay: { maxEvents: 4, maxBytes: 1_000, maxBytesInAll: 1_000 } });
    const session = wire.session();
    const asker = wire.connect();
    wire.burst(session, 3);
    wire.turn();
    writeSized(wire, wire.session("E"), 1_000);
    wire.turn();
    expect(since(wire, session, 2, asker)).toEqual({ seqs: [], latest_seq: 3, truncated: true });
    wire.burst(session, 1);
    expect(since(wire, session, 3, asker)).toEqual({ seqs: [4], latest_seq: 4, truncated: false });
    wire.sessions.renew(session);
    wire.burst(wire.session(), 1);
    expect(since(wire, wire.session(), 4, asker)).toEqual({ seqs: [5], latest_seq: 5, truncated: false });
  });

  it("W35 of a forgotten session that comes back are above its last", () => {
    const wire = openWire();
    const session = wire.session();
    wire.burst(session, 40);
    for (let k = 0; k < limits.maxSessions; k++) wire.sessions.open(`s${k}`, { roomPlumbing: true });
    const again = wire.session();
    expect([again === session, again.seq]).toEqual([false, 40]);
    wire.burst(again, 1);
    const asker = wire.connect();
    expect(since(wire, again, 39, asker)).toEqual({ seqs: [41], latest_seq: 41, truncated: true });
  });
});

describe("the laws of replay", () => {
  const steps = fc.array(fc.record({ session: fc.nat(3), bytes: fc.integer({ min: 100, max: 900 }) }), {
    maxLength: 120,
  });

  it("keep all bounds, and what is above the floor is whole", () => {
    const bounds = { maxEvents: 5, maxBytes: 800, maxBytesInAll: 2_000 };
    fc.assert(
      fc.property(steps, fc.nat(40), (writes, lastSeen) => {
        const wire = openWire({ replay: bounds });
        const asker = wire.connect();
        const sessions = ["A", "B", "C", "D"].map((id) => wire.session(id));
        for (const { session, bytes } of writes) {
          const target = sessions[session];
          if (target === undefined) continue;
          writeSized(wire, target, bytes);
          wire.turn();
          expect(wire.fanOut.stats().replay.bytes).toBeLessThanOrEqual(bounds.maxBytesInAll);
        }
        for (const session of sessions) {
          const { seqs, latest_seq, truncated } = since(wire, session, lastSeen, asker);
          expect([latest_seq, seqs.length <= bounds.maxEvents]).toEqual([session.seq, true]);
          expect(seqs.every((seq, index) => (seq ?? 0) > (seqs[index - 1] ?? lastSeen))).toBe(true);
          if (!truncated) expect(seqs).toEqual(numbers(lastSeen + 1, session.seq));
        }
      }),
      { numRuns: 200 },
    );
  });
});
