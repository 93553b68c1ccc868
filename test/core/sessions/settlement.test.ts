import { describe, expect, it } from "vitest";
import { limits, settle, type TurnEnd } from "../../../core/index.ts";
import { sessionRules } from "../../../core/settlement.ts";

const settled = (end: TurnEnd, text = "", cut = false) =>
  settle(
    {
      end,
      stopped: null,
      sealed: { activity_count: 0, text, cut },
      durationMs: 5,
      clean: (it) => it,
      cleanError: (it) => it,
    },
    sessionRules,
  );

describe("the settlement of a session's turn", () => {
  it.each<readonly [string, TurnEnd, string, string]>([
    ["a pass in words", { status: "completed", text: "(Pass)." }, "", "(Pass)."],
    ["a streamed pass", { status: "completed" }, "pass", "pass"],
    ["a pass", { status: "passed" }, "so far", "so far"],
  ])("completes with %s", (_, end, streamed, text) => {
    expect(settled(end, streamed)).toMatchObject({ status: "completed", reason_code: null, text });
  });

  it("I8 keeps 1 MiB of its text", () => {
    for (const [bytes, kept] of [
      [limits.maxAnswerBytes - 1, limits.maxAnswerBytes - 1],
      [limits.maxAnswerBytes, limits.maxAnswerBytes],
      [limits.maxAnswerBytes + 1, limits.maxAnswerBytes],
    ] as const) {
      const { text, truncated } = settled({ status: "completed", text: "x".repeat(bytes) });
      expect([text.length, truncated]).toEqual([kept, bytes > kept]);
    }
  });
});
