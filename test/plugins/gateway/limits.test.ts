import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { manualClock } from "../../../core/index.ts";
import { AddressRates, CallRate, Tally, WindowCount } from "../../../plugins/gateway/limits.ts";

describe("a count within a window", () => {
  it("is reached with the last one, and forgets what is as old as the window", () => {
    const count = new WindowCount(3, 1_000);
    expect([0, 100, 200].map((at) => count.add(at))).toEqual([false, false, true]);
    expect(count.isFull(999)).toBe(true);
    expect(count.isFull(1_000)).toBe(false);
    expect(count.add(1_000)).toBe(true);
    expect(count.add(1_150)).toBe(true);
    expect(count.isIdle(2_149)).toBe(false);
    expect(count.isIdle(2_150)).toBe(true);
  });

  it("agrees with counting all of them", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 300 })), fc.integer({ min: 1, max: 5 }), (gaps, max) => {
        const count = new WindowCount(max, 1_000);
        const kept: number[] = [];
        let now = 0;
        for (const gap of gaps) {
          now += gap;
          if (kept.filter((at) => now - at < 1_000).length < max) kept.push(now);
          expect(count.add(now)).toBe(kept.filter((at) => now - at < 1_000).length >= max);
        }
      }),
    );
  });
});

describe("a rate of calls", () => {
  it("gives a burst at once and the average afterwards", () => {
    const rate = new CallRate(100, 200, 0);
    const taken = (now: number, count: number): number =>
      Array.from({ length: count }, () => rate.take(now)).filter(({ ok }) => ok).length;
    expect(taken(0, 199)).toBe(199);
    expect(taken(0, 2)).toBe(1);
    expect(rate.take(5)).toEqual({ ok: false, retryAfterMs: 5 });
    expect(taken(1_000, 200)).toBe(100);
    expect(taken(10_000, 300)).toBe(200);
  });
});

describe("upgrades of an address", () => {
  const bounds = { maxUpgradesPerAddress: 2, maxFailedUpgradesPerAddress: 2, lockOutMs: 300_000, maxAddresses: 2 };

  it("are so many a minute", () => {
    const clock = manualClock();
    const rates = new AddressRates(clock, bounds);
    expect([rates.admit("a"), rates.admit("a"), rates.admit("a"), rates.admit("b")]).toEqual([true, true, false, true]);
    clock.advance(59_999);
    expect(rates.admit("a")).toBe(false);
    clock.advance(1);
    expect(rates.admit("a")).toBe(true);
    expect(rates.refused).toBe(2);
  });

  it("are locked out when too many of them fail", () => {
    const clock = manualClock();
    const rates = new AddressRates(clock, { ...bounds, maxUpgradesPerAddress: 10 });
    for (let count = 0; count < 2; count++) {
      expect(rates.admit("a")).toBe(true);
      rates.failed("a");
    }
    expect(rates.admit("a")).toBe(false);
    clock.advance(299_999);
    expect(rates.admit("a")).toBe(false);
    clock.advance(1);
    expect(rates.admit("a")).toBe(true);
  });

  it("are refused to a new address when the table is full, and lock-outs stay", () => {
    const clock = manualClock();
    const rates = new AddressRates(clock, bounds);
    rates.admit("a");
    rates.failed("a");
    rates.failed("a");
    rates.admit("b");
    expect(rates.admit("c")).toBe(false);
    clock.advance(60_000);
    expect(rates.admit("c")).toBe(true);
    expect(rates.admit("a")).toBe(false);
  });
});

describe("a tally", () => {
  it("counts down once", () => {
    const tally = new Tally();
    const [first] = [tally.add("a"), tally.add("a"), tally.add("b")];
    expect([tally.of("a"), tally.of("b"), tally.of("c"), tally.total]).toEqual([2, 1, 0, 3]);
    first?.();
    first?.();
    expect([tally.of("a"), tally.total]).toEqual([1, 2]);
  });
});
