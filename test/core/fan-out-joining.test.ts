import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { limits } from "../../core/index.ts";
import { numbers, openWire } from "../support/fan-out.ts";

describe("attaching", () => {
  it("is refused to a closed or unknown connection, and by hidden sessions", () => {
    const wire = openWire();
    const session = wire.session();
    const { client } = wire.connect();
    const hidden = wire.sessions.open("H", { roomPlumbing: true });
    expect(wire.fanOut.attach(client, hidden, { after: 0 })).toBe("room_session");
    client.mailbox.close();
    expect(wire.fanOut.attach(client, session, { after: 0 })).toBe("closed");
    wire.fanOut.disconnect(client);
    expect(wire.fanOut.attach(client, session, { after: 0 })).toBe("closed");
  });

  it("changes nothing for one that is attached", () => {
    const wire = openWire();
    const session = wire.session();
    const { client, outlet } = wire.connect({ to: [session] });
    expect(wire.fanOut.attach(client, session, { after: 99 })).toBe("already");
    wire.burst(session, 2);
    wire.turn();
    expect(outlet.seqs).toEqual([1, 2]);
  });

  it("I8 is refused beyond 64 sessions of one connection, and counts no other's", () => {
    const wire = openWire();
    const { client } = wire.connect();
    const results = numbers(1, 66).map((k) => wire.fanOut.attach(client, wire.session(`D${k}`), { after: 0 }));
    expect(results.slice(62)).toEqual(["attached", "attached", "too_many_sessions", "too_many_sessions"]);
    expect(wire.fanOut.stats().attachments).toBe(limits.maxAttachedSessions);
    expect(wire.fanOut.attach(client, wire.session("D1"), { after: 0 })).toBe("already");
    wire.fanOut.detach(client, wire.session("D1"));
    expect(wire.fanOut.attach(client, wire.session("D66"), { after: 0 })).toBe("attached");
    expect(wire.fanOut.attach(wire.connect().client, wire.session("D1"), { after: 0 })).toBe("attached");
  });

  it("keeps its order, and tells whether somebody else is there", () => {
    const wire = openWire();
    const session = wire.session();
    const [a, b] = [wire.connect(), wire.connect()];
    expect(wire.fanOut.isWatched(session)).toBe(false);
    wire.fanOut.attach(b.client, session, { after: 0 });
    expect([wire.fanOut.isWatched(session, b.client), wire.fanOut.isWatched(session, a.client)]).toEqual([false, true]);
    wire.fanOut.attach(a.client, session, { after: 0 });
    expect(wire.fanOut.attached(session)).toEqual([b.client, a.client]);
    a.client.mailbox.close();
    expect([wire.fanOut.attached(session), wire.fanOut.isWatched(session, b.client)]).toEqual([[b.client], false]);
    expect(wire.fanOut.disconnect(a.client)).toEqual([session]);
    expect(wire.fanOut.disconnect(a.client)).toEqual([]);
  });

  it("C-021 takes nothing from those who were there, and its end neither", () => {
    const wire = openWire();
    const session = wire.session();
    const a = wire.connect({ to: [session] });
    const b = wire.connect({ to: [session] });
    wire.burst(session, 5);
    wire.turn();
    wire.fanOut.disconnect(b.client);
    wire.burst(session, 3);
    wire.turn();
    expect([a.outlet.seqs, b.outlet.seqs]).toEqual([numbers(1, 8), numbers(1, 5)]);
    expect(wire.fanOut.isWatched(session)).toBe(true);
  });

  it("ends at once, also for what is queued", () => {
    const wire = openWire();
    const [session, other] = [wire.session(), wire.session("E")];
    const { client, outlet } = wire.connect({ reads: false, to: [session, other] });
    wire.burst(session, 1);
    wire.turn();
    for (const target of [session, other, session]) wire.burst(target, 1);
    wire.turn();
    wire.burst(session, 1);
    expect([wire.fanOut.detach(client, session), wire.fanOut.detach(client, session)]).toEqual([true, false]);
    wire.turn();
    outlet.drain();
    expect(outlet.frames.map((frame) => frame.params?.session_id)).toEqual([session.runtimeId, other.runtimeId]);
  });
});

describe("leaving", () => {
  it("lets out what is queued, and nothing more", () => {
    const wire = openWire();
    const session = wire.session();
    const { client, outlet } = wire.connect({ reads: false, to: [session] });
    for (let k = 0; k < 2; k++) {
      wire.burst(session, 1);
      wire.turn();
    }
    wire.burst(session, 1);
    expect([wire.fanOut.leave(client, session), wire.fanOut.leave(client, session)]).toEqual([true, false]);
    wire.turn();
    outlet.drain();
    expect(outlet.seqs).toEqual([1, 2]);
  });
});

describe("joining a stream", () => {
  it("W30 goes on behind the snapshot without hole or double", () => {
    const wire = openWire();
    const session = wire.session();
    const { client, outlet } = wire.connect();
    const emit = (): void => {
      wire.burst(session, 1);
      wire.turn();
      wire.burst(session, 1);
    };
    emit();
    expect(wire.fanOut.attach(client, session, { held: true })).toBe("attached");
    emit();
    wire.fanOut.settle(session);
    const head = session.seq;
    emit();
    client.mailbox.reply(`{"id":"r1","result":{"latest_seq":${head}}}`);
    emit();
    wire.fanOut.join(client, session, { after: head, head });
    emit();
    wire.turn();
    expect([head, outlet.seqs]).toEqual([4, [null, ...numbers(5, 10)]]);
  });

  it("W30 has what it missed behind the reply, before what is live", () => {
    const wire = openWire();
    const session = wire.session();
    const { client, outlet } = wire.connect();
    wire.burst(session, 7);
    wire.fanOut.attach(client, session, { held: true });
    client.mailbox.reply("{}");
    wire.burst(session, 1);
    wire.fanOut.join(client, session, { after: 3, head: 7 });
    wire.burst(session, 1);
    wire.turn();
    expect(outlet.seqs).toEqual([null, 4, 5, 6, 7, 8, 9]);
  });

  it("W30 repeats to one that takes part only what it asks for", () => {
    const wire = openWire();
    const session = wire.session();
    const { client, outlet } = wire.connect({ to: [session] });
    wire.burst(session, 5);
    wire.fanOut.settle(session);
    expect(wire.fanOut.attach(client, session, { held: true })).toBe("already");
    wire.burst(session, 1);
    wire.fanOut.join(client, session, { after: 5, head: 5 });
    wire.fanOut.join(client, session, { after: 3, head: 5 });
    wire.turn();
    expect(outlet.seqs).toEqual([1, 2, 3, 4, 5, 6, 4, 5]);
  });

  it("W30 of a whole ring closes nobody", () => {
    const wire = openWire();
    const session = wire.session();
    const { client, outlet } = wire.connect({ reads: false });
    wire.burst(session, 512);
    wire.fanOut.attach(client, session, { held: true });
    wire.fanOut.join(client, session, { after: 0, head: 512 });
    wire.burst(session, 256);
    wire.turn();
    for (let writes = 0; writes < 16; writes++) outlet.drain();
    expect([outlet.closes, outlet.seqs]).toEqual([[], numbers(1, 768)]);
  });

  it("ends with 1013 when what it missed is not kept any more", () => {
    for (const [count, closes] of [
      [512, []],
      [513, [[1013, "slow_consumer"]]],
    ] as const) {
      const wire = openWire();
      const session = wire.session();
      const { client, outlet } = wire.connect();
      wire.burst(session, 9);
      wire.fanOut.attach(client, session, { held: true });
      wire.burst(session, count);
      wire.fanOut.join(client, session, { after: 2, head: 9 });
      expect(outlet.closes).toEqual(closes);
    }
  });

  it("leaves requests that come while it is held to the reply", () => {
    const wire = openWire();
    const session = wire.session();
    const { client, outlet } = wire.connect();
    const params = { session_id: session.runtimeId };
    const ask = (id: string) =>
      wire.fanOut.request([client], session, { jsonrpc: "2.0", id, method: "clarify", params });
    wire.fanOut.attach(client, session, { held: true });
    expect(ask("srq-000000000001")).toEqual([client]);
    wire.turn();
    wire.fanOut.join(client, session, { after: 0, head: 0 });
    expect(ask("srq-000000000002")).toEqual([client]);
    wire.turn();
    expect(outlet.frames).toEqual([{ jsonrpc: "2.0", id: "srq-000000000002", method: "clarify", params }]);
  });

  it("has what left the seam in the mailboxes when it is settled", () => {
    const wire = openWire();
    const session = wire.session();
    const { client, outlet } = wire.connect({ to: [session] });
    wire.burst(session, 3);
    wire.fanOut.settle(session);
    client.mailbox.reply("{}");
    wire.turn();
    expect(outlet.seqs).toEqual([1, 2, 3, null]);
  });

  it("has a large burst in turns, and in an answer at once", () => {
    const wire = openWire();
    const session = wire.session();
    const { client, outlet } = wire.connect({ to: [session] });
    wire.burst(session, 300);
    expect(wire.fanOut.since(session, 0, client).events).toHaveLength(300);
    expect(outlet.seqs).toHaveLength(256);
    wire.turn();
    expect([outlet.closes, outlet.seqs]).toEqual([[], numbers(1, 300)]);
  });
});

describe("the law of joining", () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ does: fc.constant("burst"), count: fc.integer({ min: 1, max: 90 }) }) },
    { weight: 3, arbitrary: fc.record({ does: fc.constantFrom("tick", "drain"), count: fc.constant(0) }) },
    { weight: 1, arbitrary: fc.record({ does: fc.constantFrom("attach", "reply", "settle"), count: fc.constant(0) }) },
  );

  it("W30 gives every number above the snapshot once, in order, in any schedule", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const wire = openWire();
        const session = wire.session();
        const watchers = Array.from({ length: 3 }, (_, k) => ({
          ...wire.connect({ reads: k < 2 }),
          head: -1,
          isIn: false,
          isLost: false,
        }));
        let next = 0;
        for (const { does, count } of steps) {
          const watcher = watchers[next % watchers.length];
          if (watcher === undefined) continue;
          if (does === "burst") wire.burst(session, count);
          else if (does === "tick") wire.clock.tick();
          else if (does === "drain") watchers[2]?.outlet.drain();
          else if (does === "settle") wire.fanOut.settle(session);
          else if (does === "attach" && watcher.head < 0) {
            if (wire.fanOut.attach(watcher.client, session, { held: true }) === "attached") watcher.head = session.seq;
          } else if (does === "reply" && watcher.head >= 0 && !watcher.isIn) {
            watcher.isIn = true;
            watcher.isLost = session.seq - watcher.head > limits.maxReplayEvents;
            wire.fanOut.join(watcher.client, session, { after: watcher.head, head: watcher.head });
            next++;
          }
        }
        wire.turn();
        for (const { outlet, head, isIn, isLost } of watchers) {
          const whole = isIn && !isLost ? numbers(head + 1, session.seq) : [];
          // One that does not read has the beginning.
          expect(outlet.seqs).toEqual(outlet.isReading ? whole : whole.slice(0, outlet.seqs.length));
          if (outlet.isReading) expect(outlet.closes.length).toBe(isLost ? 1 : 0);
        }
      }),
      { numRuns: 200 },
    );
  });
});
