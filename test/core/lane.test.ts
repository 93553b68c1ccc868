import { expect, it } from "vitest";
import { createLane } from "../../core/index.ts";
import { gate } from "../support/bus.ts";

it("a lane runs as many as it has places, and the next when one settles", async () => {
  const lane = createLane(2);
  const gates = [gate(), gate(), gate()];
  const started: number[] = [];
  const works = gates.map(({ opened }, index) =>
    lane.run(async () => {
      started.push(index);
      await opened;
      if (index === 0) throw new Error("failed");
      return index;
    }),
  );
  const settled = Promise.allSettled(works);
  await Promise.resolve();
  await Promise.resolve();
  expect([lane.active, started]).toEqual([2, [0, 1]]);
  for (const { open } of gates) open();
  expect(await settled).toEqual([
    { status: "rejected", reason: new Error("failed") },
    { status: "fulfilled", value: 1 },
    { status: "fulfilled", value: 2 },
  ]);
  expect([lane.active, started]).toEqual([0, [0, 1, 2]]);
});
