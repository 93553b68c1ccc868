import { describe, expect, it } from "vitest";
import { countingIds, limits, SessionRegistry } from "../../core/index.ts";

const hidden = { roomPlumbing: true };

describe("sessions", () => {
  it("are found by durable id, present runtime id and former ones", () => {
    const sessions = new SessionRegistry(countingIds());
    const session = sessions.open("D", hidden);
    const first = session.runtimeId;
    const second = sessions.renew(session);
    expect([sessions.open("D", hidden), sessions.byRuntimeId(first), sessions.byRuntimeId(second)]).toEqual(
      Array.from({ length: 3 }, () => session),
    );
    expect([session.runtimeId, first === second, sessions.byRuntimeId("s-none")]).toEqual([second, false, undefined]);
  });

  it("I8 keep the last 64 runtime ids", () => {
    const sessions = new SessionRegistry(countingIds());
    const session = sessions.open("D", hidden);
    const ids = [session.runtimeId];
    while (ids.length < limits.maxRuntimeIds) ids.push(sessions.renew(session));
    expect(ids.every((id) => sessions.byRuntimeId(id) === session)).toBe(true);
    ids.push(sessions.renew(session));
    expect(ids.map((id) => sessions.byRuntimeId(id) === session)).toEqual(ids.map((_, index) => index > 0));
  });

  it("I8 number 65,536; then the one unused for longest that runs nothing is forgotten", () => {
    const sessions = new SessionRegistry(countingIds());
    const running = sessions.open("running", hidden);
    running.running = {} as NonNullable<typeof running.running>;
    const idle = sessions.open("idle", hidden);
    const used = sessions.open("used", hidden);
    for (let k = 3; k < limits.maxSessions; k++) sessions.open(`s${k}`, hidden);
    expect(sessions.size).toBe(limits.maxSessions);
    sessions.open("used", hidden);
    sessions.open("one more", hidden);
    expect(sessions.size).toBe(limits.maxSessions);
    expect([running, idle, used].map(({ runtimeId }) => sessions.byRuntimeId(runtimeId) !== undefined)).toEqual([
      true,
      false,
      true,
    ]);
    expect(sessions.open("idle", hidden).runtimeId).not.toBe(idle.runtimeId);
  });

  it("keep the one that a driver holds, and number new ones above forgotten ones", () => {
    const sessions = new SessionRegistry(countingIds());
    const held = sessions.open("held", hidden);
    held.isOpen = true;
    const idle = sessions.open("idle", hidden);
    idle.seq = 40;
    for (let k = 2; k <= limits.maxSessions; k++) sessions.open(`s${k}`, hidden);
    expect([held, idle].map(({ runtimeId }) => sessions.byRuntimeId(runtimeId) !== undefined)).toEqual([true, false]);
    expect([sessions.open("idle", hidden).seq, sessions.open("new", hidden).seq, held.seq]).toEqual([40, 40, 0]);
  });
});
