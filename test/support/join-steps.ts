import { vi } from "vitest";
import type { LiveSession } from "../../core/index.ts";
import type { OpenHost } from "./open-host.ts";

/** Where a client that joins stands: its snapshot is asked for, is of this instant, was read and is about to be sent. */
export const joinSteps = ["asked", "instant", "read"] as const;
export type JoinStep = (typeof joinSteps)[number];

/** Calls `run` at each step of every join of the session, from now on. */
export function atJoinSteps({ tap }: OpenHost, runtimeId: string, run: (step: JoinStep) => void): void {
  const live = tap.sessions.byRuntimeId(runtimeId);
  if (live === undefined) throw new Error(`no session ${runtimeId} is open`);
  const snapshot: LiveSession["snapshot"] = live.snapshot.bind(live);
  vi.spyOn(live, "snapshot").mockImplementation(async (options = {}) => {
    run("asked");
    const onInstant = (): void => {
      run("instant");
      options.onInstant?.();
    };
    const given = await snapshot({ ...options, onInstant });
    run("read");
    return given;
  });
}
