import { systemClock } from "../../core/index.ts";

/** Gives the event loop `turns` turns. */
export async function turnsOfLoop(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise<void>((resolve) => systemClock.defer(resolve));
}

/** Waits turn by turn of the event loop until it is so. */
export async function until(isSo: () => boolean, turns = 5_000): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    if (isSo()) return;
    await turnsOfLoop(1);
  }
  throw new Error("it did not come to that");
}
