import { describe, expect, it } from "vitest";
import { manualClock } from "../../../core/index.ts";
import { progressBar } from "../../../plugins/index.ts";
import { barLine } from "../../../plugins/inspector/progress.ts";

describe("a progress bar", () => {
  it.each([
    [0, 10, 80, "verify  [------------------------]  0 %  0 of 10"],
    [5, 10, 80, "verify  [############------------]  50 %  5 of 10"],
    [10, 10, 80, "verify  [########################]  100 %  10 of 10"],
    [11, 10, 80, "verify  [########################]  100 %  11 of 10"],
    [7, 0, 80, "verify  7"],
    [5, 10, 20, "verify  [##########"],
    [5, 10, 1, ""],
  ])("at %d of %d in %d columns", (done, total, width, line) => {
    expect(barLine({ label: "verify", done, total, width })).toBe(line);
  });

  it("comes when the work takes long, is drawn now and then, and goes without a trace", () => {
    const clock = manualClock(0);
    const written: string[] = [];
    const bar = progressBar({ label: "v", clock, write: (text) => void written.push(text), width: () => 60 });
    bar.step(1, 4);
    bar.clear();
    expect(written).toEqual([]);
    clock.advance(300);
    bar.step(2, 4);
    bar.step(3, 4);
    clock.advance(100);
    bar.step(4, 4);
    bar.clear();
    bar.clear();
    expect(written).toEqual([
      "\r\u001b[Kv  [############------------]  50 %  2 of 4",
      "\r\u001b[Kv  [########################]  100 %  4 of 4",
      "\r\u001b[K",
    ]);
  });
});
