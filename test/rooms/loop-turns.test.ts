import { describe, expect, it } from "vitest";
import { manualClock } from "../../core/index.ts";
import { LoopTurns } from "../../rooms/loop-turns.ts";
import { turnsOfLoop } from "../support/open-log.ts";

describe("turns of the event loop", () => {
  it("are given one by one, in the order of asking", async () => {
    const clock = manualClock();
    const turns = new LoopTurns(clock);
    const had: number[] = [];
    for (const index of [1, 2, 3]) void turns.next().then(() => void had.push(index));
    for (const count of [1, 2, 3]) {
      expect([had.length, clock.tick()]).toEqual([count - 1, 1]);
      await turnsOfLoop(1);
    }
    expect([had, clock.tick()]).toEqual([[1, 2, 3], 0]);
    void turns.next().then(() => void had.push(4));
    clock.tick();
    await turnsOfLoop(1);
    expect(had).toEqual([1, 2, 3, 4]);
  });
});
