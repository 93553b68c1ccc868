import { describe, expect, it } from "vitest";
import { liveAttemptOf, manualClock, memberStateOf, Tap, type MemberFacts } from "../../core/index.ts";
import { requestEntry } from "../../core/request-entry.ts";

const nothing: MemberFacts = {
  hasOpenAttempt: false,
  hasOpenRequest: false,
  isStopping: false,
  isQueued: false,
  isOwed: false,
  last: null,
};

describe("memberStateOf", () => {
  it.each<[Partial<MemberFacts>, string]>([
    [{}, "idle"],
    [{ last: "completed" }, "idle"],
    [{ last: "passed" }, "idle"],
    [{ last: "cancelled" }, "idle"],
    [{ last: "superseded" }, "idle"],
    [{ last: "failed" }, "failed"],
    [{ last: "abandoned" }, "failed"],
    [{ last: "failed", isOwed: true }, "idle"],
    [{ last: "failed", isOwed: true, isQueued: true }, "queued"],
    [{ isQueued: true }, "queued"],
    [{ hasOpenAttempt: true }, "running"],
    [{ hasOpenAttempt: true, isQueued: true, last: "failed" }, "running"],
    [{ hasOpenAttempt: true, isStopping: true, isQueued: true }, "stopping"],
    [{ hasOpenAttempt: true, hasOpenRequest: true }, "needs_input"],
    [{ hasOpenAttempt: true, hasOpenRequest: true, isStopping: true }, "needs_input"],
    // What an attempt was asked counts while it is open.
    [{ hasOpenRequest: true, isStopping: true }, "idle"],
  ])("R59 %j is %s", (facts, word) => {
    expect(memberStateOf({ ...nothing, ...facts })).toBe(word);
  });
});

describe("an attempt that runs", () => {
  const clock = manualClock(1_000_000);
  const tap = new Tap({ clock, activity: { listening: false, push: () => undefined } });
  const coordinates = {
    room_id: "r1",
    thread_id: "main",
    member_id: "m-a",
    turn_id: "t-1",
    task_id: "k-1",
    execution_generation: 1,
  };
  const attempt = tap.begin(coordinates, "session", null);
  const about = {
    since: clock.now(),
    startedAt: clock.monotonic(),
    open_requests: [],
    asked_at: null,
    stopping: false,
  };

  it("R59 shows the call that began last of those that are open, by the time of the attempt's own clock", () => {
    expect(liveAttemptOf(attempt, about).tool).toBeNull();
    clock.advance(250);
    attempt.openTool({ tool_id: "c1", name: "read", startedAt: clock.monotonic() });
    clock.advance(250);
    attempt.openTool({ tool_id: "c2", name: "write", startedAt: clock.monotonic() });
    clock.setNow(5);
    expect(liveAttemptOf(attempt, about).tool).toEqual({ tool_id: "c2", name: "write", since: 1_000_500 });
    attempt.endTool("c2");
    expect(liveAttemptOf(attempt, about)).toEqual({
      coordinates,
      since: 1_000_000,
      open_requests: [],
      asked_at: null,
      tool: { tool_id: "c1", name: "read", since: 1_000_250 },
      stopping: false,
    });
  });

  it("lists its requests with a fixed list of fields and all six coordinates", () => {
    const params = {
      session_id: "s",
      tool_id: "c1",
      command: "rm x",
      choices: ["once", "deny"],
      more: 1,
    };
    const request = {
      id: "srq-1",
      request_id: "apr-1",
      method: "approval",
      coordinates,
      session: attempt.session,
      params,
      created_at: 8,
      expires_at: 9,
      answers: null,
    };
    expect(requestEntry({ ...request, params: { ...params, request_id: "apr-1" } })).toEqual({
      id: "srq-1",
      request_id: "apr-1",
      method: "approval",
      tool_id: "c1",
      command: "rm x",
      choices: ["once", "deny"],
      expires_at: 9,
      coordinates,
    });
    expect(requestEntry({ ...request, expires_at: null, answers: { q1: "yes" } })).toMatchObject({
      expires_at: null,
      answers: { q1: "yes" },
    });
  });
});
