import { describe, expect, it } from "vitest";
import { Steps } from "../../../core/index.ts";

describe("steps", () => {
  it("run one after the other, and a failed one stops none behind it", async () => {
    const steps = new Steps();
    const done: number[] = [];
    const first = steps.run(async () => {
      await Promise.resolve();
      done.push(1);
    });
    const second = steps.run(() => {
      done.push(2);
      throw new Error("no");
    });
    const third = steps.run(() => done.push(3));
    expect([steps.pending, done]).toEqual([3, []]);
    await expect(second).rejects.toThrow("no");
    await Promise.all([first, third]);
    expect([steps.pending, done]).toEqual([0, [1, 2, 3]]);
  });

  it("are idle when those that came meanwhile are over as well", async () => {
    const steps = new Steps();
    const done: number[] = [];
    void steps.run(() => void steps.run(() => done.push(1)));
    await steps.idle();
    expect(done).toEqual([1]);
  });
});
