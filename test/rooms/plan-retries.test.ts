import { describe, expect, it } from "vitest";
import type { StartedRow } from "../../rooms/index.ts";
import { dueAfter, retryable } from "../../rooms/index.ts";
import { memberInputs, PlanRoom } from "../support/plan-room.ts";

/** A room whose member a failed at its first attempt. */
function failedRoom(policy = {}): { room: PlanRoom; first: StartedRow } {
  const room = new PlanRoom(memberInputs("a", "b"), policy);
  room.post("@a hello", { origin: "c-1" });
  room.startAll();
  return { room, first: room.settle("m-a", { status: "failed", reason_code: "not_admitted" }) };
}

describe("a retry", () => {
  it("R42 has the same turn, task and input, generation 2, cause `retry` and the origin of who asked", () => {
    const { room, first } = failedRoom();
    room.retry(first, { origin: "c-9" });
    const { starts } = room.plan();
    expect(starts).toHaveLength(1);
    expect(starts[0]?.coordinates).toEqual({
      room_id: "r1",
      thread_id: "main",
      member_id: "m-a",
      turn_id: first.turn_id,
      task_id: first.task_id,
      execution_generation: 2,
    });
    expect(starts[0]?.payload).toEqual({ ...first.payload, cause: "retry", origin: "c-9" });
    expect(starts[0]?.retries).toEqual([{ task_id: first.task_id, execution_generation: 1 }]);
    expect(starts[0]?.inbox).toEqual([]);
    expect(room.thread()).toMatchObject({ status: "waiting", reason: "slot", owed: ["m-a"] });
    room.run();
    expect(room.retries).toEqual([]);
  });

  it("that the host makes after a crash says `auto_continue`, as cause and as origin", () => {
    const { room, first } = failedRoom();
    room.retry(first, { cause: "auto_continue" });
    expect(room.plan().starts[0]?.payload).toMatchObject({ cause: "auto_continue", origin: "auto_continue" });
  });

  it("comes before new turns, and never two for one task", () => {
    const { room, first } = failedRoom();
    room.post("@a again");
    room.post("@b there", { thread_id: "other" });
    room.retry(first);
    room.retry(first, { origin: "c-2", execution_generation: 1 });
    room.due = { passed: [first.task_id], waiting: [] };
    const { starts } = room.plan();
    expect(starts.map(({ coordinates }) => coordinates.member_id)).toEqual(["m-a", "m-b"]);
    expect(starts[0]?.retries).toHaveLength(2);
    expect(starts[0]?.due).toEqual({ take: [first.task_id] });
  });

  it("waits for its member, its thread and a resume", () => {
    const { room, first } = failedRoom();
    room.post("@b there");
    room.startAll();
    room.retry(first);
    expect(room.plan().starts).toEqual([]);
    room.settle("m-b");
    room.pause("m-a");
    expect(room.plan().starts).toEqual([]);
    expect(room.thread()).toMatchObject({ status: "waiting", reason: "paused", owed: ["m-a"] });
    room.resume("m-a");
    room.post("@a elsewhere", { thread_id: "other" });
    expect(room.plan().starts[0]?.coordinates.execution_generation).toBe(2);
  });

  it("waits for another retry of its thread", () => {
    const room = new PlanRoom(memberInputs("a", "b"), {});
    room.post("hello");
    room.startAll();
    const first = room.settle("m-a", { status: "failed", reason_code: "runner_error" });
    room.startAll();
    const second = room.settle("m-b", { status: "failed", reason_code: "runner_error" });
    room.retry(second);
    room.retry(first);
    expect(room.startAll()).toEqual(["m-b"]);
    expect(room.startAll()).toEqual([]);
    room.settle("m-b");
    expect(room.startAll()).toEqual(["m-a"]);
  });

  it("asked for after a stop starts, and its discussion stays stopped", () => {
    const room = new PlanRoom(memberInputs("a", "b"), {});
    room.post("@a hello");
    room.startAll();
    const first = room.log.rows[0];
    room.stop();
    if (first?.kind !== "turn.started") throw new TypeError("expected a start");
    room.retry(first);
    expect(room.run(() => "ask @b")).toEqual(["m-a"]);
    expect(room.thread()).toMatchObject({ status: "stopped", owed: [] });
  });

  it("that completes is heard: its discussion goes on", () => {
    const { room, first } = failedRoom({});
    expect(room.thread()).toMatchObject({ status: "settled", reason: "silent_round" });
    room.retry(first);
    expect(room.run((memberId) => (memberId === "m-a" ? "ask @b" : "fine")).slice(0, 2)).toEqual(["m-a", "m-b"]);
  });

  it("of a task that is not kept, or of an attempt that is not the last, starts nothing", () => {
    const { room, first } = failedRoom();
    room.retry(first, { task_id: "k-gone" });
    expect(room.plan()).toMatchObject({ starts: [], diagnostics: [{ code: "unknown_task" }] });
    room.retries = [];
    room.retry(first);
    room.startAll();
    room.retry(first, { execution_generation: 1 });
    expect(room.plan().starts).toEqual([]);
    room.settle("m-a", { status: "failed", reason_code: "runner_error" });
    expect(room.plan().starts).toEqual([]);
  });

  it("of a member that is not driven here is named", () => {
    const { room, first } = failedRoom();
    room.retry(first);
    room.room = { ...room.room, members: room.room.members.slice(1) };
    const plan = room.plan();
    expect(plan.starts).toEqual([]);
    expect(plan.diagnostics.map(({ code }) => code)).toEqual(["member_unavailable"]);
    expect(plan.threads).toMatchObject([{ status: "waiting", reason: "member_unavailable", owed: ["m-a"] }]);
  });

  it("C-049 reads started, failed, started, completed, started, settled, and the room goes on", () => {
    const { room, first } = failedRoom();
    room.retry(first);
    room.run();
    room.post("@a next");
    room.run();
    expect(room.log.rows.map((row) => (row.kind === "turn.started" ? row.payload.cause : row.payload.status))).toEqual([
      "mention",
      "failed",
      "retry",
      "completed",
      "mention",
      "completed",
    ]);
  });
});

describe("a due time", () => {
  it("R41 holds the next attempt back until it has passed; then it has cause `retry` and the first one's origin", () => {
    const { room, first } = failedRoom();
    room.due = { passed: [], waiting: [first.task_id] };
    expect(room.plan().starts).toEqual([]);
    expect(room.thread()).toMatchObject({ status: "waiting", reason: "due", owed: ["m-a"] });
    room.due = { passed: [first.task_id], waiting: [] };
    const [start] = room.plan().starts;
    expect(start?.coordinates.execution_generation).toBe(2);
    expect(start?.payload).toEqual({ ...first.payload, cause: "retry", origin: "c-1" });
    expect(start?.due).toEqual({ take: [first.task_id] });
    expect(start?.retries).toEqual([]);
  });

  it("does not hold up the others of the thread", () => {
    const room = new PlanRoom(memberInputs("a", "b"), {});
    room.post("hello");
    room.startAll();
    const first = room.settle("m-a", { status: "failed", reason_code: "not_admitted" });
    room.due = { passed: [], waiting: [first.task_id] };
    expect(room.startAll()).toEqual(["m-b"]);
  });

  it.each([
    [1, 1_000],
    [2, 2_000],
    [3, null],
    [9, null],
  ])("R41 after %i attempts: %s ms", (attemptsMade, delayMs) => {
    expect(dueAfter(attemptsMade)).toBe(delayMs);
  });
});

describe("retryable", () => {
  it("R42 tells `task_open`, `stale_generation`, `not_retryable`, `unknown_task`", () => {
    const { room, first } = failedRoom();
    const { task_id } = first;
    expect(retryable(room.state, task_id)).toBe("ok");
    expect(retryable(room.state, task_id, 1)).toBe("ok");
    expect(retryable(room.state, task_id, 2)).toBe("stale_generation");
    room.retry(first);
    room.startAll();
    expect(retryable(room.state, task_id, 1)).toBe("task_open");
    room.settle("m-a", { status: "abandoned", reason_code: "host_lost" });
    expect(retryable(room.state, task_id, 1)).toBe("stale_generation");
    expect(retryable(room.state, task_id, 2)).toBe("ok");
    room.retry(first);
    room.run();
    expect(retryable(room.state, task_id)).toBe("not_retryable");
    expect(retryable(room.state, "k-gone")).toBe("unknown_task");
  });

  it.each([
    ["failed", "ok"],
    ["cancelled", "ok"],
    ["abandoned", "ok"],
    ["superseded", "ok"],
    ["completed", "not_retryable"],
    ["passed", "not_retryable"],
  ] as const)("of a task whose last attempt is %s: %s", (status, answer) => {
    const room = new PlanRoom();
    room.post("@a");
    room.startAll();
    const { task_id } = room.settle("m-a", { status });
    expect(retryable(room.state, task_id)).toBe(answer);
  });
});
