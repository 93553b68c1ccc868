import { describe, expect, it } from "vitest";
import { manualClock } from "../../../core/index.ts";
import { Liveness } from "../../../plugins/gateway/liveness.ts";

function watched(pingIntervalMs: number, maxSilentPings = 2, isReading = true) {
  const clock = manualClock();
  const told: string[] = [];
  const state = { isReading };
  const liveness = new Liveness({
    clock,
    pingIntervalMs,
    maxSilentPings,
    isReading: () => state.isReading,
    ping: () => void told.push(`ping ${clock.monotonic()}`),
    onSilent: () => void told.push(`silent ${clock.monotonic()}`),
  });
  return { clock, told, state, liveness };
}

describe("liveness", () => {
  it("asks at each interval and gives up behind the last", () => {
    const { clock, told, liveness } = watched(30_000);
    clock.advance(60_000);
    expect(told).toEqual(["ping 30000", "ping 60000"]);
    clock.advance(1);
    expect(told.at(-1)).toBe("silent 60001");
    liveness.stop();
    clock.advance(600_000);
    expect(told).toHaveLength(3);
  });

  it("counts from what was heard last", () => {
    const { clock, told, liveness } = watched(50);
    clock.advance(99);
    liveness.heard();
    clock.advance(100);
    expect(told.filter((word) => word.startsWith("silent"))).toEqual([]);
    clock.advance(1);
    expect(told).toContain("silent 200");
  });

  it("holds no silence against a peer that is not read", () => {
    const { clock, told, state } = watched(50, 2, false);
    clock.advance(10_000);
    state.isReading = true;
    expect(told.filter((word) => word.startsWith("silent"))).toEqual([]);
    clock.advance(202);
    expect(told.filter((word) => word.startsWith("silent"))).toHaveLength(1);
  });

  it("never asks at 0", () => {
    const { clock, told } = watched(0);
    clock.advance(86_400_000);
    expect(told).toEqual([]);
  });
});
