import { isDeepStrictEqual } from "node:util";
import { RoomtapError } from "../../../core/index.ts";
import { openTestHost, type HostSettings, type TestHost } from "../test-host.ts";
import type { Trial } from "./options.ts";

/** What a check found, in three parts. */
export function failed(expected: string, found: string, advice: string): RoomtapError {
  return new RoomtapError("check_failed", `expected ${expected}; found ${found}. ${advice}`, { remedy: advice });
}

/** Opens a host with the plugin in it, and closes it when `use` has ended. */
export async function withHost<Value>(
  { options, isolation }: Trial,
  use: (host: TestHost) => Promise<Value>,
  settings: HostSettings = {},
): Promise<Value> {
  const { outcome: _, storesTexts: __, secrets: ___, others, ...tested } = options;
  const entry = "path" in tested ? { ...tested, isolation } : tested;
  const host = await openTestHost({ ...entry, ...settings, others });
  try {
    return await use(host);
  } finally {
    await host.close();
  }
}

/** A room that the plugin may see. */
export function roomOf(host: TestHost): string {
  return host.info()?.permit.rooms?.[0] ?? "r1";
}

/**
 * Waits until all is handled, and holds that the plugin is as it should be.
 * @param situation what it was put into: `a gap`
 * @throws RoomtapError `check_failed`
 */
export async function expectSound(host: TestHost, situation: string): Promise<void> {
  await host.settled({ timeGoesOn: true });
  const [fault] = host.observers.faults.filter(({ consumer }) => consumer.startsWith(`${host.id}#`));
  if (fault !== undefined) {
    throw failed(
      `handlers that come back from ${situation}`,
      `${fault.consumer} failed at ${fault.kind}: ${fault.message}`,
      "Have the handler take what the types allow: fields that are optional, a gap, unknown kinds.",
    );
  }
  const info = host.info();
  if (info === undefined || (info.state === "running" && info.faults === 0 && info.restarts === 0)) return;
  throw failed(
    `a plugin that runs on after ${situation}`,
    `${info.state}, ${info.faults} faults, ${info.restarts} restarts: ${info.last_fault ?? "no message"}`,
    "Await what the plugin begins, and catch what may fail in timers and events.",
  );
}

/** What the plugin makes of it when `play` has happened; undefined when nobody said how to ask. */
export async function outcomeOf(
  trial: Trial,
  situation: string,
  play: (host: TestHost) => Promise<void>,
): Promise<unknown> {
  return withHost(trial, async (host) => {
    await play(host);
    await expectSound(host, situation);
    return trial.options.outcome?.(host);
  });
}

/**
 * Plays two courses of events into two hosts, and holds that the plugin makes the same of both.
 * @throws RoomtapError `check_failed`
 */
export async function expectSame(
  trial: Trial,
  situation: string,
  [plain, odd]: readonly [(host: TestHost) => Promise<void>, (host: TestHost) => Promise<void>],
): Promise<void> {
  const expected = await outcomeOf(trial, "a plain turn", plain);
  const found = await outcomeOf(trial, situation, odd);
  if (isDeepStrictEqual(expected, found)) return;
  throw failed(
    `the same outcome with ${situation} as without, ${text(expected)}`,
    text(found),
    "Tell events apart by all six coordinates and n, and drop what was seen before or belongs to an attempt that is over.",
  );
}

function text(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 500);
}
