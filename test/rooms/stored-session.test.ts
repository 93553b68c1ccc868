import { describe, expect, it } from "vitest";
import { visibilities } from "../../core/index.ts";
import { fromSnapshot, toSnapshot } from "../../rooms/index.ts";
import { fullSession, sessionOf } from "../support/session-records.ts";

const stored = (changes: Record<string, unknown>): unknown =>
  JSON.parse(JSON.stringify({ ...toSnapshot(fullSession), ...changes }));

describe("a snapshot of a session", () => {
  it.each(visibilities)("S46 gives back a %s one as it was", (visibility) => {
    for (const record of [{ ...fullSession, visibility }, sessionOf("s1", { visibility })]) {
      const snapshot: unknown = JSON.parse(JSON.stringify(toSnapshot(record)));
      expect(fromSnapshot(snapshot)).toEqual({ record, problem: null });
    }
  });

  it("S47 without a visibility is private, and that is no problem", () => {
    expect(fromSnapshot(stored({ visibility: undefined }))).toEqual({ record: fullSession, problem: null });
  });

  it.each([
    ["public", '"public"'],
    [7, "7"],
    [null, "null"],
  ])("S47 with the visibility %j is private, and that is told", (visibility, word) => {
    const problem = `session full has the visibility ${word}, which is none: it is private`;
    expect(fromSnapshot(stored({ visibility }))).toEqual({ record: fullSession, problem });
  });

  it("may hold keys that nobody knows", () => {
    expect(fromSnapshot(stored({ later: { more: 1 } }))).toEqual({ record: fullSession, problem: null });
  });

  it.each([
    ["owner", { client_id: null }, "owner.principal"],
    ["queue", [{ text: "x" }], "queue.0.inputs"],
    ["last_turn", { turn_id: "t", status: "over", reason_code: null }, "last_turn.status"],
    ["v", 2, "v"],
    ["session_id", "", "session_id"],
  ])("whose %s is %j is damaged, and the place is named", (key, value, place) => {
    const read = (): unknown => fromSnapshot(stored({ [key]: value }), "session full");
    expect(read).toThrow(expect.objectContaining({ code: "log_corrupt" }));
    expect(read).toThrow(`session full cannot be read: ${place}: `);
  });

  it.each([undefined, null, 7, "x", []])("is not %j", (value) => {
    expect(() => fromSnapshot(value)).toThrow("a session cannot be read");
  });
});
