import { describe, expect, it } from "vitest";
import { cancelWordOf, parseTurnEnd, settle, type CancelReason, type TurnEnd } from "../../core/index.ts";

const settled = (
  end: TurnEnd,
  { stopped = null as CancelReason | null, text = "", cut = false, durationMs = 5 } = {},
) =>
  settle({
    end,
    stopped,
    sealed: { activity_count: 7, text, cut },
    durationMs,
    clean: (it) => it.replace("key", "***"),
    cleanError: (it) => it.replace("key", "***"),
  });

describe("a settlement", () => {
  it.each([
    ["the streamed text", { status: "completed" }, { text: "so far" }, "completed", null, "so far"],
    [
      "the runner's own text, masked",
      { status: "completed", text: "a key" },
      { text: "so far" },
      "completed",
      null,
      "a ***",
    ],
    ["no text at all", { status: "completed" }, {}, "failed", "no_result", ""],
    ["a pass in words", { status: "completed", text: "(Pass)." }, {}, "passed", null, ""],
    ["a streamed pass", { status: "completed" }, { text: "\n pass \t" }, "passed", null, ""],
    ["a pass", { status: "passed" }, { text: "so far" }, "passed", null, ""],
    [
      "a failure, its text kept",
      { status: "failed", reason_code: "runner_lost" },
      { text: "so far" },
      "failed",
      "runner_lost",
      "so far",
    ],
    ["its own cancel", { status: "cancelled" }, { text: "so far" }, "cancelled", "interrupted", "so far"],
    [
      "a stop before all else",
      { status: "completed", text: "late" },
      { text: "so far", stopped: "stopped" },
      "cancelled",
      "stopped",
      "so far",
    ],
  ] as const)("of %s", (_, end, given, status, reason_code, text) => {
    expect(settled(end, given)).toMatchObject({ status, reason_code, text, activity_count: 7, duration_ms: 5 });
  });

  it.each(["", " ", "\n\t", "pass", "PASS", "pass.", "(pass)", "(pass).", "(pass.)", " Pass. "])(
    "R27 passes with %j",
    (text) => {
      expect(settled({ status: "completed", text }).status).toBe("passed");
    },
  );

  it.each([".", "()", "pass on this", "pass!", "(pass", "pass)", "passed", "I pass"])(
    "R27 completes with %j",
    (text) => {
      expect(settled({ status: "completed", text })).toMatchObject({ status: "completed", text });
    },
  );

  it("tells a mebibyte of blanks from a pass without walking it twice", () => {
    expect(settled({ status: "completed", text: `${" ".repeat(1_048_576)}x` })).toMatchObject({ truncated: true });
  });

  it("says that a streamed text was cut, also a blank one", () => {
    expect(settled({ status: "completed" }, { text: " ", cut: true })).toMatchObject({
      status: "completed",
      truncated: true,
    });
  });

  it("R8 keeps the text of a row below 192 KiB as JSON", () => {
    const { text, truncated } = settled({ status: "completed", text: "\u0001".repeat(65_536) });
    expect([text.length, JSON.stringify(text).length, truncated]).toEqual([32_767, 196_604, true]);
  });

  it("rounds a duration to whole milliseconds, never below 0", () => {
    expect(settled({ status: "passed" }, { durationMs: 12.6 }).duration_ms).toBe(13);
    expect(settled({ status: "passed" }, { durationMs: -0.4 }).duration_ms).toBe(0);
  });
});

describe("open requests of a turn", () => {
  it.each([
    [{ status: "completed" }, null, "interrupted"],
    [{ status: "failed", reason_code: "runner_lost" }, null, "runner_lost"],
    [{ status: "failed", reason_code: "runner_lost" }, "shutdown", "shutdown"],
    [{ status: "cancelled" }, "stopped", "interrupted"],
  ] as const)("that ends %j, stopped %s, are cancelled as %s", (end, stopped, word) => {
    expect(cancelWordOf(end, stopped)).toBe(word);
  });
});

describe("an end as a runner gives it", () => {
  const clean = (text: string): string => text.replace("sk-EXAMPLE", "[redacted]");

  it.each([
    [
      { status: "completed", text: "x", usage: { a: 1, b: Infinity, c: "2" }, more: 1 },
      { status: "completed", text: "x", usage: { a: 1 } },
    ],
    [
      { status: "passed", usage: { b: Number.NaN } },
      { status: "passed", usage: null },
    ],
    [
      { status: "passed", usage: 7 },
      { status: "passed", usage: null },
    ],
    [{ status: "cancelled", text: "x" }, { status: "cancelled" }],
    [
      { status: "failed", reason_code: "unknown", error: 7 },
      { status: "failed", reason_code: "unknown", error: "[object Number]" },
    ],
  ])("%j is read as %j", (value, end) => {
    expect(parseTurnEnd(value, clean)).toEqual(end);
  });

  it.each([
    [undefined, "an object, got undefined"],
    [{ status: "completed", text: null }, "a text, got null"],
    [{ status: "failed" }, "a reason code of a failed turn"],
    [{ status: "done" }, "the status completed, passed, failed or cancelled"],
  ])("%j is none", (value, expected) => {
    const error = `the runner did not say how its turn ended: expected ${expected}`;
    expect(parseTurnEnd(value, clean)).toEqual({ status: "failed", reason_code: "runner_error", error });
  });

  it("leaves out a figure that nobody could read back", () => {
    const end = parseTurnEnd({ status: "passed", usage: JSON.parse('{"__proto__":1,"a":2}') }, clean);
    expect(end.status === "passed" && Object.entries(end.usage ?? {})).toEqual([["a", 2]]);
  });

  it("I13 leaves out a figure whose name is no figure's name, or holds a secret", () => {
    const usage = { input_tokens: 1, "sk-EXAMPLE": 2, "\u001b[2J": 3, "a b": 4, "": 5, "9a": 6, ["x".repeat(65)]: 7 };
    expect(parseTurnEnd({ status: "passed", usage: { ...usage, ["y".repeat(64)]: 8 } }, clean)).toEqual({
      status: "passed",
      usage: { input_tokens: 1, ["y".repeat(64)]: 8 },
    });
  });

  it("keeps at most 32 figures of a usage", () => {
    const usage = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`f${index}`, index]));
    const end = parseTurnEnd({ status: "passed", usage }, clean);
    expect(end.status === "passed" && Object.keys(end.usage ?? {})).toHaveLength(32);
  });
});
