import { describe, expect, it } from "vitest";
import type { TurnEnd } from "../../../../core/index.ts";
import { loopClock } from "../../../support/open-log.ts";
import { openHost, openPair, type HostClient } from "../../../support/open-host.ts";
import { originsOf, turnFrames, wordsOf } from "../../../support/turn-frames.ts";
import { until } from "../../../support/turns-of-loop.ts";

describe("behind the last frame of a turn", () => {
  const unmarked = ["type", "session_id", "seq", "payload"];
  const ends: readonly (readonly [word: string, end: TurnEnd, complete: object])[] = [
    ["complete", { status: "completed", text: "ok" }, { status: "complete", text: "ok", usage: null }],
    [
      "error",
      { status: "failed", reason_code: "provider_auth", error: "no key" },
      {
        status: "error",
        text: "",
        usage: null,
        error: "no key",
        failure_reason: "provider_auth",
        recoverable: false,
        error_surface: { layer: "provider", code: "provider_auth", retryable: false },
      },
    ],
    [
      "child loss",
      { status: "failed", reason_code: "runner_lost" },
      {
        status: "error",
        text: "",
        usage: null,
        error: "the turn failed: runner_lost",
        failure_reason: "runner_lost",
        recoverable: true,
        error_surface: { layer: "runner", code: "runner_lost", retryable: true },
      },
    ],
  ];

  it.each(ends)("W19 nobody is named: %s", async (_word, end, complete) => {
    const host = await openHost();
    const { a, session_id } = await openPair(host);
    await a.call("prompt.submit", { session_id, text: "go" });
    (await host.agent.turn()).end(end);
    expect(await endOf(a)).toEqual({ payload: complete, origin: a.origin, keysBehind: unmarked });
  });

  it("W19 nobody is named: interrupt", async () => {
    const host = await openHost();
    const { a, b, session_id } = await openPair(host);
    await a.call("prompt.submit", { session_id, text: "go" });
    (await host.agent.turn()).delta("half");
    expect(await b.call("session.interrupt", { session_id })).toEqual({ status: "interrupted" });
    expect(await endOf(a)).toEqual({
      payload: { status: "interrupted", text: "half", usage: null, partial: true },
      origin: a.origin,
      keysBehind: unmarked,
    });
  });

  it("W19 nobody is named: deadline", async () => {
    const clock = loopClock();
    const host = await openHost({ clock, turnDeadlineMs: 1_000 });
    const { a, session_id } = await openPair(host);
    await a.call("prompt.submit", { session_id, text: "go" });
    await host.agent.turn();
    clock.advance(1_000);
    expect(await endOf(a)).toEqual({
      payload: {
        status: "error",
        text: "",
        usage: null,
        error: "the turn failed: turn_deadline",
        failure_reason: "turn_deadline",
        recoverable: true,
        error_surface: { layer: "host", code: "turn_deadline", retryable: true },
      },
      origin: a.origin,
      keysBehind: unmarked,
    });
  });
});

describe("a turn that has ended", () => {
  it("W20 says nothing in the next one's name", async () => {
    const host = await openHost();
    const { a, b, session_id } = await openPair(host);
    await a.call("prompt.submit", { session_id, text: "one" });
    const first = await host.agent.turn();
    first.say("done");
    await a.event("message.complete");
    await b.call("prompt.submit", { session_id, text: "two" });
    const second = await host.agent.turn(1);
    expect(first.delta("late")).toBe("late_frame");
    expect(first.emit("tool.start", { tool_id: "t", name: "late" })).toBe("late_frame");
    second.say("mine");
    await a.event("message.complete", 1);
    const frames = turnFrames(a, 1);
    expect(frames.map(wordsOf)).toEqual([
      "message.start",
      "session.info",
      "message.delta mine",
      "message.complete mine",
    ]);
    expect(originsOf(frames)).toEqual([b.origin]);
    const { events } = await a.call("session.events.since", { session_id, last_seen: 0 });
    expect(JSON.stringify(events)).not.toContain("late");
  });

  it("W21 goes on under the old id when its client comes back", async () => {
    const host = await openHost();
    const { a, session_id } = await openPair(host);
    const { turn_id } = await a.call("prompt.submit", { session_id, text: "go" });
    const turn = await host.agent.turn();
    turn.delta("one");
    const { seq } = await a.event("message.delta");
    await a.drop();
    await until(() => host.gateway.connections === 1);
    turn.delta("two");
    const again = await host.connect({ resume: String(a.ready["resume_token"]) });
    expect(again.ready).toMatchObject({ origin: a.origin, resumed: true });
    turn.delta("three");
    turn.end();
    await again.event("message.complete");
    expect(again.events().map(wordsOf)).toEqual([
      "message.delta three",
      "message.complete onetwothree",
      "session.info",
    ]);
    expect(originsOf(again.events("message.delta"))).toEqual([a.origin]);
    expect(again.events("message.complete")[0]?.turn?.id).toBe(turn_id);
    const { events } = await again.call("session.events.since", { session_id, last_seen: seq });
    expect((events as { seq: number }[]).map((event) => event.seq - Number(seq))).toEqual([1, 2, 3, 4]);
    expect(await again.call("session.activate", { session_id })).toMatchObject({ watching: true });
  });
});

/** The end of the first turn: who is named in its last frame, and the keys of the `session.info` right behind that. */
async function endOf(client: HostClient): Promise<{ payload: unknown; origin: unknown; keysBehind: string[] }> {
  const last = await client.event("message.complete");
  const info = await client.eventWhere("session.info", ({ seq }) => seq === Number(last.seq) + 1);
  return { payload: last.payload, origin: last.origin, keysBehind: Object.keys(info) };
}
