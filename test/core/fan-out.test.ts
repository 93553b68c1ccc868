import { describe, expect, it, vi } from "vitest";
import { createRedactor, Execution, limits } from "../../core/index.ts";
import { numbers, openWire } from "../support/fan-out.ts";

const slow = [[1013, "slow_consumer"]];

describe("fan-out", () => {
  it("W27 gives those attached the same bytes, and nobody else any", () => {
    const wire = openWire();
    const session = wire.session();
    const [a, b, c] = [wire.connect({ to: [session] }), wire.connect({ to: [session] }), wire.connect()];
    const turn = new Execution(session, { id: "T1", source: { kind: "unknown" } }, createRedactor());
    session.running = turn;
    wire.write(session, "message.delta", { text: "hello " }, turn);
    wire.write(session, "reasoning.delta", { text: "why " }, turn);
    turn.seal();
    wire.seam.complete(turn, { text: "hello ", status: "complete" });
    wire.turn();
    expect(a.outlet.frames.map((frame) => !("id" in frame) && frame.params.type)).toEqual([
      "message.delta",
      "reasoning.delta",
      "message.complete",
    ]);
    expect(b.outlet.writes).toEqual(a.outlet.writes);
    expect(c.outlet.writes).toEqual([]);
  });

  it("I5 writes nothing and serialises nothing before the next turn of the loop", () => {
    const wire = openWire();
    const session = wire.session();
    const watchers = Array.from({ length: 100 }, () => wire.connect({ to: [session] }));
    const stringify = vi.spyOn(JSON, "stringify");
    wire.burst(session, 8);
    expect([stringify.mock.calls.length, watchers.every(({ outlet }) => outlet.writes.length === 0)]).toEqual([
      0,
      true,
    ]);
    wire.turn();
    const calls = stringify.mock.calls.length;
    stringify.mockRestore();
    expect([calls, watchers.every(({ outlet }) => outlet.writes.length === 1)]).toEqual([8, true]);
    expect(watchers.every(({ outlet }) => outlet.seqs.join() === numbers(1, 8).join())).toBe(true);
  });

  it("puts all sessions of a turn into one write of a client", () => {
    const wire = openWire();
    const sessions = [wire.session("1"), wire.session("2")];
    const { outlet } = wire.connect({ to: sessions });
    for (const session of sessions) wire.burst(session, 2);
    wire.turn();
    expect([outlet.writes.length, outlet.seqs]).toEqual([1, [1, 2, 1, 2]]);
  });

  it("W28 C-010 closes a stuck client at its 257th frame, alone, once", () => {
    const wire = openWire();
    const session = wire.session();
    const stuck = wire.connect({ reads: false, to: [session] });
    const reads = wire.connect({ reads: false, to: [session] });
    for (let k = 1; k <= 256; k++) {
      expect(wire.write(session, "status.update", { text: "0123456789" })).toBe("written");
      wire.turn();
      if (k % 50 === 0) reads.outlet.drain();
    }
    expect([stuck.client.mailbox.occupancy.frames, stuck.outlet.closes]).toEqual([256, []]);
    wire.write(session, "status.update", { text: "0123456789" });
    wire.turn();
    for (let k = 0; k < 3; k++) reads.outlet.drain();
    expect(stuck.outlet.closes).toEqual(slow);
    expect(stuck.client.mailbox.occupancy).toEqual({ frames: 0, bytes: 0, replies: 0, replyBytes: 0 });
    expect([reads.outlet.closes, reads.outlet.seqs]).toEqual([[], numbers(1, 257)]);
    expect([wire.fanOut.attached(session), wire.fanOut.stats().slow_consumers]).toEqual([[reads.client], 1]);
    wire.burst(session, 3);
    wire.turn();
    expect(stuck.outlet.closes).toEqual(slow);
  });

  it("W29 lets a closed client come back and see every number once", () => {
    const wire = openWire();
    const session = wire.session();
    const stuck = wire.connect({ reads: false, to: [session] });
    wire.burst(session, 257);
    wire.turn();
    const seen = stuck.outlet.seqs;
    const again = wire.connect({ to: [session] });
    const { events, truncated } = wire.fanOut.since(session, seen.length, again.client);
    wire.burst(session, 2);
    wire.turn();
    expect([stuck.outlet.closes, truncated]).toEqual([slow, false]);
    expect([...seen, ...events.map(({ seq }) => seq), ...again.outlet.seqs]).toEqual(numbers(1, 259));
  });

  it("C-011 lets sixteen clients read on while one is paused, and answers them", () => {
    const wire = openWire();
    const session = wire.session();
    const readers = Array.from({ length: 16 }, () => wire.connect({ to: [session] }));
    const paused = wire.connect({ reads: false, to: [session] });
    for (let turn = 0; turn < 20; turn++) {
      wire.burst(session, 50);
      wire.turn();
      if (turn === 3) readers[0]?.client.mailbox.reply('{"id":"r1"}');
    }
    const first = readers[0]?.outlet.seqs ?? [];
    expect([first.indexOf(null), first.length]).toEqual([200, 1_001]);
    expect(
      readers.every(({ outlet }) => outlet.seqs.filter((seq) => seq !== null).join() === numbers(1, 1_000).join()),
    ).toBe(true);
    expect(paused.outlet.closes).toEqual(slow);
  });

  it("C-014 holds ends of tools to the same bound as anything else", () => {
    const wire = openWire();
    const session = wire.session();
    const stuck = wire.connect({ reads: false, to: [session] });
    const turn = new Execution(session, { id: "T1", source: { kind: "unknown" } }, createRedactor());
    let most = 0;
    for (let k = 0; k < 300; k++) {
      wire.write(session, "tool.start", { tool_id: `call-${k}`, name: "run" }, turn);
      wire.turn();
      most = Math.max(most, stuck.client.mailbox.occupancy.frames);
    }
    expect([most, stuck.outlet.closes]).toEqual([256, slow]);
  });

  it("C-017 closes no client for the shape of a burst that it drains", () => {
    const wire = openWire();
    const session = wire.session();
    const { outlet } = wire.connect({ reads: false, to: [session] });
    for (let burst = 0; burst < 100; burst++) {
      wire.burst(session, 256);
      wire.turn();
      for (let writes = 0; writes < 10; writes++) outlet.drain();
    }
    expect([outlet.closes, outlet.seqs.length]).toEqual([[], 25_600]);
  });

  it("C-017 spreads a burst over turns of the loop", () => {
    const wire = openWire();
    const sessions = [wire.session("1"), wire.session("2"), wire.session("3")];
    const reads = wire.connect({ to: sessions });
    const stuck = wire.connect({ reads: false, to: sessions });
    for (const session of sessions) wire.burst(session, 300);
    wire.clock.tick();
    expect([reads.outlet.seqs.length, stuck.outlet.closes]).toEqual([256, []]);
    wire.turn();
    expect([reads.outlet.closes, reads.outlet.seqs.length, stuck.outlet.closes]).toEqual([[], 900, slow]);
    const large = wire.connect({ to: sessions });
    const [session = wire.session("1")] = sessions;
    wire.burst(session, 1);
    for (let k = 0; k < 3; k++) wire.write(session, "notice", { text: "x".repeat(5_000_000) });
    wire.burst(session, 1);
    wire.turn();
    expect([large.outlet.closes, large.outlet.seqs]).toEqual([[], numbers(301, 305)]);
  });

  it("I8 distributes at once what passes the bound of pending frames", () => {
    const wire = openWire();
    const session = wire.session();
    wire.burst(session, limits.maxPendingFrames - 1);
    expect(wire.fanOut.stats().pending).toBe(limits.maxPendingFrames - 1);
    wire.burst(session, 1);
    expect(wire.fanOut.stats().pending).toBe(0);
    wire.burst(session, 1);
    expect(wire.fanOut.stats().pending).toBe(1);
    wire.write(session, "notice", { text: "x".repeat(limits.maxPendingBytes) });
    expect(wire.fanOut.stats()).toMatchObject({ pending: 0, replay: { events: 512 } });
  });

  it("asks at delivery whether a client may receive a frame", () => {
    const wire = openWire({
      mayReceive: (client, _, frame) =>
        !("id" in frame) && (frame.params.type !== "error" || client.holds("approvals")),
    });
    const session = wire.session();
    const may = wire.connect({ to: [session] });
    const mayNot = wire.connect({ to: [session], scopes: ["read"] });
    const later = wire.connect({ to: [session], scopes: ["read"] });
    for (const type of ["notice", "error", "notice"]) wire.write(session, type, { message: "m" });
    later.client.scopes = new Set(["approvals"]);
    wire.turn();
    expect([may, mayNot, later].map(({ outlet }) => outlet.seqs)).toEqual([
      [1, 2, 3],
      [1, 3],
      [1, 2, 3],
    ]);
  });

  it("gives events of no session to every connection", () => {
    const wire = openWire();
    const watchers = [wire.connect(), wire.connect({ to: [wire.session()] })];
    wire.write(null, "notice", { message: "m" });
    wire.turn();
    const frame = { jsonrpc: "2.0", method: "event", params: { type: "notice", payload: { message: "m" } } };
    expect(watchers.map(({ outlet }) => outlet.frames)).toEqual([[frame], [frame]]);
  });

  it("gives an event to one connection, or its bytes to several", () => {
    const wire = openWire();
    const [a, b, c] = [wire.connect(), wire.connect(), wire.connect()];
    wire.fanOut.toClient(a.client, "session.detached", { reason: "visibility" });
    wire.fanOut.toClients([a.client, b.client], "room.log", { seq: 7 });
    wire.turn();
    expect([a, b, c].map(({ outlet }) => outlet.frames.length)).toEqual([2, 1, 0]);
    expect(a.outlet.frames[0]).toEqual({
      jsonrpc: "2.0",
      method: "event",
      params: { type: "session.detached", payload: { reason: "visibility" } },
    });
    expect([a.outlet.writes.length, a.outlet.lines[1] === b.outlet.lines[0]]).toEqual([1, true]);
  });

  it("C-017 spreads a line of events over turns of the loop, until it is closed", () => {
    const wire = openWire();
    const { client, outlet } = wire.connect();
    const line = wire.fanOut.openLine(client);
    for (let k = 0; k < 600; k++) line.tell("room.log", { seq: k });
    wire.clock.tick();
    expect(outlet.frames).toHaveLength(256);
    wire.clock.tick();
    line.close();
    line.tell("room.log", { seq: 600 });
    wire.turn();
    expect([outlet.closes, outlet.frames.length, wire.fanOut.stats().pending]).toEqual([[], 512, 0]);
  });

  it("sends a request behind the session's frames, to those who may have it", () => {
    const wire = openWire({ mayReceive: (client, _, frame) => !("id" in frame) || client.holds("approvals") });
    const session = wire.session();
    const asked = wire.connect({ to: [session] });
    const elsewhere = wire.connect();
    const mayNot = wire.connect({ to: [session], scopes: ["write"] });
    wire.burst(session, 1);
    const frame = {
      jsonrpc: "2.0",
      id: "srq-0123456789ab",
      method: "approval",
      params: { session_id: session.runtimeId },
    };
    const reached = wire.fanOut.request(
      [asked, elsewhere, mayNot].map(({ client }) => client),
      session,
      {
        ...frame,
        jsonrpc: "2.0",
      },
    );
    wire.burst(session, 1);
    wire.turn();
    expect(reached).toEqual([asked.client]);
    expect([asked, elsewhere, mayNot].map(({ outlet }) => outlet.seqs)).toEqual([[1, null, 2], [], [1, 2]]);
    expect(asked.outlet.frames[1]).toEqual(frame);
  });

  it("keeps requests out of replay", () => {
    const wire = openWire();
    const session = wire.session();
    const { client } = wire.connect({ to: [session] });
    const params = { session_id: session.runtimeId };
    wire.seam.writeJson({ jsonrpc: "2.0", id: "srq-0123456789ab", method: "clarify", params });
    wire.turn();
    expect(wire.fanOut.since(session, 0, client)).toEqual({ events: [], latest_seq: 0, truncated: false });
  });
});
