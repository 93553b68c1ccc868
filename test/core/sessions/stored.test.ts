import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  countingIds,
  SessionHost,
  systemIds,
  Tap,
  type Clock,
  type LiveSession,
  type Runner,
} from "../../../core/index.ts";
import { openSqliteLog } from "../../../rooms/index.ts";
import { runnerOf, says } from "../../support/held-runner.ts";
import { loopClock, temporaryFolder } from "../../support/open-log.ts";
import { taken } from "../../support/open-sessions.ts";

/** A host on a database, as a process has it. */
async function openHost(file: string, runner: Runner, clock: Clock = loopClock()) {
  const report = (): void => undefined;
  const log = await openSqliteLog({ file, clock, report });
  const tap = new Tap({ clock, ids: countingIds(), activity: { listening: false, push: () => undefined } });
  const agents = [{ agent_id: "default", runner }];
  const host = new SessionHost({ store: log.sessions, tap, clock, ids: systemIds, report, agents });
  return { host, tap, close: () => host.shutdown(0).then(() => log.close()) };
}

describe("sessions in a database", () => {
  it("go on in the next process where they were left", async () => {
    const file = join(temporaryFolder(), "log.db");
    const held = runnerOf(({ signal }) => {
      return new Promise((end) => signal.addEventListener("abort", () => end({ status: "cancelled" })));
    });
    const first = await openHost(file, held);
    const owner = { client_id: null, principal: "local" };
    const live = (await first.host.create({ owner, title: "Release" })) as LiveSession;
    taken(await live.submit({ text: "one" }, "c-a")).begin();
    taken(await live.submit({ text: "two", queued: true }, "c-b")).begin();
    await first.close();
    const second = await openHost(file, says("done"));
    const starts: unknown[] = [];
    second.tap.seam.addFrameSink((frame) => {
      if (!("id" in frame) && frame.params.type === "message.start") starts.push(frame.params.origin);
    });
    const again = (await second.host.resume("Release", "local")) as LiveSession;
    await again.quiet();
    const { messages } = await again.snapshot();
    expect(messages.map(({ role, text }) => [role, text])).toEqual([
      ["user", "one"],
      ["user", "two"],
      ["assistant", "done"],
    ]);
    expect([again.record.session_id, again.record.last_turn?.status, starts]).toEqual([
      live.record.session_id,
      "completed",
      ["c-b"],
    ]);
    await second.close();
  });
});
