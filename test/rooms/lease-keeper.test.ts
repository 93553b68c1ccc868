import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countingIds, manualClock, RoomtapError, type ManualClock, type Notice } from "../../core/index.ts";
import type { LeaseWait } from "../../rooms/lease-claim.ts";
import { LeaseKeeper, type LossReason } from "../../rooms/lease-keeper.ts";
import type { ProcessMark, RoomLeases } from "../../rooms/lease-row.ts";
import { openLog, roomOf, temporaryFolder, turnsOfLoop } from "../support/open-log.ts";
import { flush, MemoryLeases, pass } from "../support/memory-leases.ts";

const ttlMs = 15_000;

/** A host as far as leases go: its own clock, its own name. */
class Host {
  readonly clock: ManualClock;
  readonly keeper: LeaseKeeper;
  readonly lost: [room: string, generation: number, reason: LossReason, at: number][] = [];
  readonly waits: [room: string, wait: LeaseWait][] = [];
  readonly notices: Notice[] = [];
  readonly mark: ProcessMark;

  constructor(
    log: RoomLeases,
    pid: number,
    options: { isGone?: (mark: ProcessMark) => boolean; startMs?: number } = {},
  ) {
    this.clock = manualClock(options.startMs);
    this.mark = { boot_id: "boot", pid_namespace: "ns", pid, started: "1" };
    const ids = countingIds();
    this.keeper = new LeaseKeeper({
      log,
      clock: this.clock,
      ids: { hex: (bytes) => `${pid}${ids.hex(bytes)}` },
      process: this.mark,
      isGone: options.isGone ?? (() => false),
      report: (notice) => void this.notices.push(notice),
      onLost: (room, generation, reason) => void this.lost.push([room, generation, reason, this.clock.monotonic()]),
      onWait: (room, wait) => void this.waits.push([room, wait]),
    });
  }
}

/** What a promise has given by now. */
function outcomeOf<Result>(promise: Promise<Result>): { value?: Result } {
  const outcome: { value?: Result } = {};
  void promise.then((value) => {
    outcome.value = value;
  });
  return outcome;
}

describe("LeaseKeeper", () => {
  it("has a room that nobody holds at once, and again after it was given back, one generation on", async () => {
    const log = new MemoryLeases();
    const [w, v] = [new Host(log, 1), new Host(log, 2)];
    expect(await w.keeper.acquire("r1")).toEqual({ room_id: "r1", generation: 1, reason: "never_claimed" });
    expect(w.keeper.isHeld("r1", 1)).toBe(true);
    await w.keeper.release("r1");
    expect(w.keeper.isHeld("r1", 1)).toBe(false);
    expect(await v.keeper.acquire("r1")).toEqual({ room_id: "r1", generation: 2, reason: "released" });
    expect(log.looks).toBe(2);
  });

  it("gives the lease that it has, and one wait to all who ask", async () => {
    const log = new MemoryLeases();
    const { keeper } = new Host(log, 1);
    const [first, second] = await Promise.all([keeper.acquire("r1"), keeper.acquire("r1")]);
    expect(second).toEqual(first);
    expect(await keeper.acquire("r1")).toEqual(first);
    expect(log.row("r1").generation).toBe(1);
  });

  it("renews all leases in one transaction every third of the TTL", async () => {
    const log = new MemoryLeases();
    const { keeper, clock } = new Host(log, 1);
    for (let room = 0; room < 50; room++) await keeper.acquire(`r${room}`);
    await pass(4_900, clock);
    expect(log.renewals).toBe(0);
    await pass(100, clock);
    expect(log.renewals).toBe(1);
    expect(log.row("r0").renewal).toBe(1);
    expect(log.row("r49").renewal).toBe(1);
    await pass(60_000, clock);
    expect(log.renewals).toBe(13);
    expect(keeper.isHeld("r49", 1)).toBe(true);
  });

  it("keeps no timer without a lease", async () => {
    const log = new MemoryLeases();
    const { keeper, clock } = new Host(log, 1);
    await keeper.acquire("r1");
    await keeper.releaseAll();
    await pass(60_000, clock);
    expect(log.renewals).toBe(0);
  });

  it("R46 takes over after a TTL in which it saw no renewal; the old holder is out before, and refused", async () => {
    const log = new MemoryLeases();
    const [w, v] = [new Host(log, 1), new Host(log, 2)];
    await w.keeper.acquire("r1");
    await pass(5_000, w.clock);
    // w stalls: its clock goes on, its timers do not run.
    const taken = outcomeOf(v.keeper.acquire("r1"));
    await pass(14_900, v.clock);
    expect(taken).toEqual({});
    await pass(1_100, v.clock);
    expect(taken.value).toEqual({ room_id: "r1", generation: 2, reason: "expired" });
    w.clock.advance(16_000);
    await flush();
    expect(w.lost).toEqual([["r1", 1, "expired", 20_000]]);
    expect(w.keeper.isHeld("r1", 1)).toBe(false);
    await w.keeper.release("r1");
    expect(log.row("r1")).toMatchObject({ generation: 2, released: false, process: v.mark });
    expect(v.keeper.isHeld("r1", 2)).toBe(true);
  });

  it("C-050 learns at its first refused renewal that it is out, when its own clock stood still too", async () => {
    const log = new MemoryLeases();
    const [w, v] = [new Host(log, 1), new Host(log, 2)];
    await Promise.all([w.keeper.acquire("r1"), w.keeper.acquire("r2")]);
    const taken = outcomeOf(v.keeper.acquire("r1"));
    await pass(16_000, v.clock);
    expect(taken.value?.generation).toBe(2);
    expect(w.keeper.isHeld("r1", 1)).toBe(true);
    await pass(5_000, w.clock);
    expect(w.lost).toEqual([["r1", 1, "refused", 5_000]]);
    expect(w.keeper.counters).toEqual({ refused_renewals: 1, failed_renewals: 0, expired: 0 });
    expect(w.keeper.isHeld("r2", 1)).toBe(true);
  });

  it("C-050 is out at its first refused write, and tells it once", async () => {
    const log = new MemoryLeases();
    const { keeper, lost, clock } = new Host(log, 1);
    await keeper.acquire("r1");
    keeper.writeRefused("r1", 7);
    expect(keeper.isHeld("r1", 1)).toBe(true);
    keeper.writeRefused("r1", 1);
    keeper.writeRefused("r1", 1);
    await pass(60_000, clock);
    expect(lost).toEqual([["r1", 1, "refused", 0]]);
  });

  it("declares itself out after a TTL in which the database took no renewal, and can have its room again", async () => {
    const log = new MemoryLeases();
    const { keeper, clock, lost, notices } = new Host(log, 1);
    await keeper.acquire("r1");
    await pass(5_000, clock);
    log.fault = new RoomtapError("log_busy", "locked");
    await pass(14_900, clock);
    expect(keeper.isHeld("r1", 1)).toBe(true);
    await pass(100, clock);
    expect(keeper.isHeld("r1", 1)).toBe(false);
    expect(lost).toEqual([["r1", 1, "expired", 20_000]]);
    expect(keeper.counters).toMatchObject({ expired: 1, refused_renewals: 0 });
    expect(notices[0]).toMatchObject({ code: "log_busy", message: "leases: locked" });
    log.fault = null;
    expect(await keeper.acquire("r1")).toEqual({ room_id: "r1", generation: 2, reason: "own" });
  });

  it("tries a failed renewal again soon, and stays the holder when one of them is taken", async () => {
    const log = new MemoryLeases();
    const { keeper, clock, lost } = new Host(log, 1);
    await keeper.acquire("r1");
    log.fault = new RoomtapError("log_busy", "locked");
    await pass(9_000, clock);
    expect(log.renewals).toBe(5);
    log.fault = null;
    await pass(30_000, clock);
    expect(lost).toEqual([]);
    expect(keeper.counters).toEqual({ refused_renewals: 0, failed_renewals: 5, expired: 0 });
  });

  it("R46 takes a room over in a database that both hosts have open, and the old one's writes are refused", async () => {
    const file = join(temporaryFolder(), "rooms.db");
    const [wLog, vLog] = [await openLog(file), await openLog(file)];
    const [w, v] = [new Host(wLog, 1), new Host(vLog, 2)];
    await wLog.putRoom(roomOf("r1"));
    expect(await w.keeper.acquire("r1")).toMatchObject({ generation: 1 });
    const taken = outcomeOf(v.keeper.acquire("r1"));
    for (let second = 0; second < 17; second++) {
      await turnsOfLoop(10);
      v.clock.advance(1_000);
    }
    await turnsOfLoop(10);
    expect(taken.value).toMatchObject({ generation: 2, reason: "expired" });
    const pause = { room_id: "r1", lease_generation: 1, member_ids: ["m-a"], paused: true };
    expect(await wLog.setPaused(pause)).toMatchObject({ status: "lease_lost", generation: 2 });
    w.clock.advance(5_000);
    await turnsOfLoop(10);
    expect(w.lost).toEqual([["r1", 1, "refused", 5_000]]);
    await v.keeper.releaseAll();
    expect(await w.keeper.acquire("r1")).toMatchObject({ generation: 3, reason: "released" });
    await w.keeper.releaseAll();
  });

  it("R47 loses no lease and takes none when wall clocks step", async () => {
    const log = new MemoryLeases();
    const w = new Host(log, 1, { startMs: 1_764_512_345_678 });
    const v = new Host(log, 2, { startMs: 1_764_512_345_678 + 600_000 });
    await w.keeper.acquire("r1");
    const taken = outcomeOf(v.keeper.acquire("r1"));
    for (const step of [600_000, -600_000, 86_400_000, -86_400_000]) {
      w.clock.setNow(w.clock.now() + step);
      v.clock.setNow(v.clock.now() - step);
      await pass(20_000, w.clock, v.clock);
    }
    expect(taken).toEqual({});
    expect(w.lost).toEqual([]);
    expect(w.keeper.isHeld("r1", 1)).toBe(true);
  });

  it("says why it waits, and until when, whenever that moves", async () => {
    const log = new MemoryLeases();
    const [w, v] = [new Host(log, 1), new Host(log, 2)];
    await w.keeper.acquire("r1");
    void v.keeper.acquire("r1");
    await pass(6_000, w.clock, v.clock);
    const of = { generation: 1, process: w.mark };
    expect(v.waits).toEqual([
      ["r1", { why: "held", inMs: ttlMs, ...of }],
      ["r1", { why: "renewed", inMs: ttlMs, ...of }],
    ]);
  });

  it("has a room within a look after it was given back", async () => {
    const log = new MemoryLeases();
    const [w, v] = [new Host(log, 1), new Host(log, 2)];
    await w.keeper.acquire("r1");
    const taken = outcomeOf(v.keeper.acquire("r1"));
    await pass(3_500, w.clock, v.clock);
    await w.keeper.releaseAll();
    await pass(1_000, v.clock);
    expect(taken.value).toEqual({ room_id: "r1", generation: 2, reason: "released" });
  });

  it("has the room of a process that provably died at once, also when it dies during the wait", async () => {
    const log = new MemoryLeases();
    const gone = new Set<number>();
    const w = new Host(log, 1);
    const v = new Host(log, 2, { isGone: ({ pid }) => gone.has(pid) });
    await w.keeper.acquire("r1");
    const taken = outcomeOf(v.keeper.acquire("r1"));
    await pass(2_000, v.clock);
    expect(taken).toEqual({});
    gone.add(1);
    await pass(1_000, v.clock);
    expect(taken.value).toEqual({ room_id: "r1", generation: 2, reason: "holder_gone" });
  });

  it("ends a wait with null when it is released, and leaves nothing claimed", async () => {
    const log = new MemoryLeases();
    const [w, v] = [new Host(log, 1), new Host(log, 2)];
    await w.keeper.acquire("r1");
    const waiting = v.keeper.acquire("r1");
    await pass(2_000, v.clock);
    await v.keeper.release("r1");
    expect(await waiting).toBeNull();
    const claiming = v.keeper.acquire("r2");
    const releasing = v.keeper.releaseAll();
    expect(await claiming).toBeNull();
    await releasing;
    expect(log.row("r2").released).toBe(true);
  });

  it("releases the others when the database refuses one, and reports it", async () => {
    const log = new MemoryLeases();
    const { keeper, notices } = new Host(log, 1);
    await Promise.all([keeper.acquire("r1"), keeper.acquire("r2")]);
    log.fault = new RoomtapError("log_full", "disk full");
    await keeper.releaseAll();
    expect(keeper.isHeld("r1", 1) || keeper.isHeld("r2", 1)).toBe(false);
    expect(notices.map(({ code, subject }) => [code, subject])).toEqual([
      ["log_full", "r1"],
      ["log_full", "r2"],
    ]);
  });

  it("gives what the database throws to whoever asks for a room", async () => {
    const log = new MemoryLeases();
    const { keeper } = new Host(log, 1);
    log.fault = new RoomtapError("log_read_only", "no");
    await expect(keeper.acquire("r1")).rejects.toMatchObject({ code: "log_read_only" });
    log.fault = null;
    expect(await keeper.acquire("r1")).toMatchObject({ generation: 1 });
  });

  it.each([99, 600_001, Number.NaN])("refuses a TTL of %d ms", (leaseTtlMs) => {
    const parts = { log: new MemoryLeases(), clock: manualClock(), ids: countingIds(), report: () => undefined };
    expect(() => new LeaseKeeper({ ...parts, leaseTtlMs, onLost: () => undefined })).toThrow(/leaseTtlMs: expected/);
  });

  it("C-084 has at most one believer at each step, whoever stalls, and takes no lease from a healthy one", async () => {
    const step = fc.record({
      who: fc.nat(2),
      what: fc.constantFrom("acquire", "release", "stall", "wake", "step the clock", "wait", "wait"),
      ms: fc.integer({ min: 0, max: 20_000 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const log = new MemoryLeases();
        const hosts = [0, 1, 2].map((pid) => new Host(log, pid, { startMs: 1e12 + pid * 600_000 }));
        const stalledMs = [0, 0, 0];
        const hasStalled = new Set<number>();
        let stalled = new Set<number>();
        let generation = 0;
        for (const { who, what, ms } of steps) {
          const host = hosts[who];
          if (host === undefined) continue;
          if (what === "acquire" && !stalled.has(who)) void host.keeper.acquire("r1");
          if (what === "release" && !stalled.has(who)) void host.keeper.release("r1");
          if (what === "step the clock") host.clock.setNow(host.clock.now() + (ms - 10_000) * 60);
          if (what === "stall") stalled.add(who);
          if (what === "stall") hasStalled.add(who);
          if (what === "wake") stalled = new Set([...stalled].filter((other) => other !== who));
          const passed = what === "wait" ? ms : 0;
          // One time for all: a stalled host catches up on all of it when it wakes.
          for (const [index, { clock }] of hosts.entries()) {
            if (stalled.has(index)) stalledMs[index] = (stalledMs[index] ?? 0) + passed;
            else clock.advance(stalledMs[index] ?? 0);
            if (!stalled.has(index)) stalledMs[index] = 0;
          }
          await pass(passed, ...hosts.filter((_, index) => !stalled.has(index)).map(({ clock }) => clock));
          const row = log.row("r1");
          expect(row.generation).toBeGreaterThanOrEqual(generation);
          generation = row.generation;
          const believers = hosts.filter(({ keeper }, index) => !stalled.has(index) && keeper.isHeld("r1", generation));
          expect(believers.length).toBeLessThanOrEqual(1);
          for (const [index, { keeper, lost }] of hosts.entries()) {
            // An older generation is believed in by nobody who is awake; a host that never stalled lost nothing.
            for (let old = 1; old < generation && !stalled.has(index); old++)
              expect(keeper.isHeld("r1", old)).toBe(false);
            if (!hasStalled.has(index)) expect(lost).toEqual([]);
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});
