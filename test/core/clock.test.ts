import { afterEach, describe, expect, it, vi } from "vitest";
import { countingIds, manualClock, systemClock, systemIds } from "../../core/index.ts";

const day = 86_400_000;

afterEach(() => void vi.useRealTimers());

describe("the system clock", () => {
  // Fake timers, like real ones, fire at once above 2^31 - 1 ms.
  it.each([2 ** 31 - 1, 2 ** 31, 30 * day, 100 * day])("C-038 waits for %d ms and no less", (delayMs) => {
    vi.useFakeTimers();
    const ran: string[] = [];
    systemClock.after(delayMs, () => void ran.push("ran"));
    vi.advanceTimersByTime(delayMs - 1);
    expect(ran).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(ran).toEqual(["ran"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("C-038 undoes a long wait in each of its steps, and never ends an endless one", () => {
    vi.useFakeTimers();
    const undo = systemClock.after(100 * day, () => expect.unreachable());
    vi.advanceTimersByTime(60 * day);
    undo();
    undo();
    systemClock.after(Infinity, () => expect.unreachable());
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([Number.NaN, -1])("C-038 refuses a delay of %d ms", (delayMs) => {
    expect(() => systemClock.after(delayMs, () => undefined)).toThrow(RangeError);
    expect(() => manualClock().after(delayMs, () => undefined)).toThrow(RangeError);
  });

  it("defers behind what runs now", async () => {
    const order: string[] = [];
    await new Promise<void>((resolve) => {
      systemClock.defer(() => {
        order.push("deferred");
        resolve();
      });
      queueMicrotask(() => void order.push("microtask"));
      order.push("now");
    });
    expect(order).toEqual(["now", "microtask", "deferred"]);
  });

  it("makes ids of the asked length", () => {
    expect(systemIds.hex(6)).toMatch(/^[0-9a-f]{12}$/);
    expect([countingIds().hex(2), systemIds.hex(8) === systemIds.hex(8)]).toEqual(["0001", false]);
  });
});

describe("the manual clock", () => {
  it("runs what falls due in order of due time, then of registration", () => {
    const clock = manualClock(1_000);
    const ran: string[] = [];
    const note = (word: string) => () => void ran.push(`${word}@${clock.monotonic()}/${clock.now()}`);
    clock.after(20, note("c"));
    clock.after(10, note("a"));
    clock.after(10, () => {
      note("b")();
      clock.after(5, note("nested"));
    });
    clock.after(15, note("undone"))();
    clock.advance(19);
    expect(ran).toEqual(["a@10/1010", "b@10/1010", "nested@15/1015"]);
    clock.setNow(0);
    clock.advance(1);
    expect(ran.at(-1)).toBe("c@20/1");
  });

  it("runs in a tick what was deferred before it", () => {
    const clock = manualClock();
    const ran: number[] = [];
    clock.defer(() => {
      ran.push(1);
      clock.defer(() => void ran.push(2));
    });
    expect([clock.tick(), ran.length, clock.tick(), ran, clock.tick()]).toEqual([1, 1, 1, [1, 2], 0]);
  });
});
