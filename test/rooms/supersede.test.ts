import { describe, expect, it } from "vitest";
import { isSuperseded } from "../../rooms/index.ts";
import { memberInputs, PlanRoom, type TestPost } from "../support/plan-room.ts";

/** A room in which a turn of a runs in thread main. */
function runningRoom(): PlanRoom {
  const room = new PlanRoom(memberInputs("a", "b"), {});
  room.post("@a hello");
  room.startAll();
  return room;
}

function isLate(room: PlanRoom, memberId = "m-a"): boolean {
  const { state, inbox } = room;
  const task = state.tasks.find((candidate) => candidate.member_id === memberId && candidate.status === null);
  if (task === undefined) throw new TypeError(`${memberId} has no open turn`);
  return isSuperseded({ state, room: room.room, inbox, task });
}

describe("isSuperseded", () => {
  it.each<[string, TestPost, boolean]>([
    ["@b in the same thread", {}, true],
    ["@nobody in the same thread", {}, true],
    ["@b in another thread", { thread_id: "other" }, false],
    ["@b of an agent", { author: { kind: "agent", id: "bridge" } }, false],
  ])("R29 %s", (text, post, expected) => {
    const room = runningRoom();
    expect(isLate(room)).toBe(false);
    room.post(text, post);
    expect(isLate(room)).toBe(expected);
  });

  it("is not by a post that was withdrawn", () => {
    const room = runningRoom();
    room.withdraw(room.post("@b newer"));
    expect(isLate(room)).toBe(false);
  });

  it("R29 is by a post that has left the inbox since", () => {
    const room = runningRoom();
    room.park("m-a");
    room.post("@b newer");
    expect(room.startAll()).toEqual(["m-b"]);
    expect(room.inbox).toEqual([]);
    expect(isLate(room)).toBe(true);
    expect(isLate(room, "m-b")).toBe(false);
  });

  it("R42 judges a retry by the posts after its own start only", () => {
    const room = runningRoom();
    room.post("@b newer");
    const first = room.settle("m-a", { status: "superseded", reason_code: "newer_message", text: "late" });
    room.startAll();
    room.settle("m-b");
    room.retry(first);
    expect(room.startAll()).toEqual(["m-a"]);
    expect(isLate(room)).toBe(false);
    room.post("@b once more");
    expect(isLate(room)).toBe(true);
  });

  it("is not by a post that waited before the turn started", () => {
    const room = new PlanRoom(memberInputs("a"), {});
    const text = "x".repeat(65_536);
    // The fifth does not fit into the row of the first turn.
    for (let index = 0; index < 5; index++) room.post(text);
    room.startAll();
    expect(room.inbox).not.toEqual([]);
    expect(isLate(room)).toBe(false);
  });
});
