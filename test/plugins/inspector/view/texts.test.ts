import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ActivityEvent } from "../../../../core/index.ts";
import { colouredStyle, plainStyle, stateDiff, styleFor } from "../../../../plugins/index.ts";
import { cellWidth, cutCells, padCells } from "../../../../plugins/cells.ts";
import { durationText } from "../../../../plugins/duration-text.ts";
import { KeptActivity } from "../../../../plugins/inspector/view/kept-activity.ts";
import { streamedText } from "../../../../plugins/inspector/view/streamed-text.ts";
import { tableLines } from "../../../../plugins/inspector/view/table-lines.ts";

describe("a duration", () => {
  it.each([
    [-5, "0 ms"],
    [0, "0 ms"],
    [0.064, "<1 ms"],
    [999, "999 ms"],
    [1_000, "1.0 s"],
    [59_999, "59.9 s"],
    [60_000, "1 m 00 s"],
    [3_599_000, "59 m 59 s"],
    [3_600_000, "1 h 00 m"],
    [86_400_000, "1 d 0 h"],
  ])("of %d ms reads %s", (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });
});

describe("the cells of a text", () => {
  it.each([
    ["abc", 3],
    ["日本", 4],
    ["e\u0301", 1],
    ["🚀", 2],
    ["", 0],
  ])("of %j are %d", (text, width) => {
    expect(cellWidth(text)).toBe(width);
  });

  it("are cut to a width, with a mark, and filled up to it", () => {
    expect([cutCells("abcdef", 4), cutCells("日本語", 4), cutCells("abc", 3), cutCells("abc", 0)]).toEqual([
      "abc…",
      "日…",
      "abc",
      "",
    ]);
    expect([padCells("日", 4), padCells("7", 3, "right")]).toEqual(["日  ", "  7"]);
  });

  it("never exceed what was asked for", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.nat(40), (text, width) => {
        expect(cellWidth(cutCells(text, width))).toBeLessThanOrEqual(width);
      }),
    );
  });

  it("of a table stand below each other", () => {
    const columns = [{ title: "NAME" }, { title: "N", align: "right" as const }, { title: "END" }];
    expect(
      tableLines(columns, [
        ["日本", "7", ""],
        ["a", "1234", "x"],
      ]),
    ).toEqual(["NAME     N  END", "日本     7", "a     1234  x"]);
  });
});

describe("colours", () => {
  it.each([
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: "1" }, false],
    [true, { NO_COLOR: "" }, true],
    [true, { TERM: "dumb" }, false],
    [false, { FORCE_COLOR: "1" }, true],
    [true, { FORCE_COLOR: "0" }, false],
    [false, { FORCE_COLOR: "1", NO_COLOR: "1" }, false],
  ])("on a terminal (%s) with %j are there: %s", (isTerminal, environment, isColoured) => {
    expect(styleFor({ isTerminal, environment })("red", "x")).toBe(isColoured ? "\u001b[31mx\u001b[39m" : "x");
  });

  it("of nothing are nothing", () => {
    expect([colouredStyle("bold", ""), plainStyle("bold", "x")]).toEqual(["", "x"]);
  });
});

describe("a streamed text", () => {
  it.each<readonly [string, Parameters<typeof streamedText>, ReturnType<typeof streamedText>]>([
    ["nothing", [[]], { pieces: [], missing_units: 0 }],
    [
      "pieces that follow",
      [
        [
          { text: "ab", offset: 0 },
          { text: "c", offset: 2 },
        ],
      ],
      { pieces: ["abc"], missing_units: 0 },
    ],
    [
      "a hole",
      [
        [
          { text: "ab", offset: 0 },
          { text: "f", offset: 5 },
        ],
      ],
      { pieces: ["ab", "f"], missing_units: 3 },
    ],
    ["a late beginning", [[{ text: "f", offset: 5 }]], { pieces: ["f"], missing_units: 5 }],
    [
      "a snapshot behind a hole",
      [
        [
          { text: "ab", offset: 0 },
          { text: "f", offset: 5 },
          { text: "abcdefg", offset: 0, snapshot: true },
          { text: "h", offset: 7 },
        ],
      ],
      { pieces: ["abcdefgh"], missing_units: 0 },
    ],
    [
      "what was seen already",
      [[{ text: "abc", offset: 0 }], { text: "abcd", offset: 4 }],
      { pieces: ["abcd"], missing_units: 0 },
    ],
    [
      "a beginning that is kept in part",
      [[{ text: "z", offset: 9 }], { text: "ab", offset: 9 }],
      { pieces: ["ab", "z"], missing_units: 7 },
    ],
  ])("of %s", (_, given, text) => {
    expect(streamedText(...given)).toEqual(text);
  });
});

describe("kept activity", () => {
  const coordinates = {
    room_id: "r",
    thread_id: "t",
    member_id: "m",
    turn_id: "t-1",
    task_id: "k",
    execution_generation: 1,
  };
  const delta = (n: number, text: string, offset: number): ActivityEvent => ({
    ...{ v: 1, coordinates, kind: "message.delta", n, seq: null, at: 0 },
    payload: { text, offset },
  });
  const tool = (n: number): ActivityEvent => ({
    ...{ v: 1, coordinates, kind: "tool.started", n, seq: null, at: 0 },
    payload: { tool_id: `c${n}`, name: "x" },
  });

  it("makes one of deltas that follow each other", () => {
    const kept = new KeptActivity();
    for (const each of [delta(2, "a", 0), delta(3, "b", 1), tool(4), delta(5, "c", 2)]) kept.push(each);
    expect(kept.events.map(({ kind, n, n_from }) => [kind, n_from ?? n, n])).toEqual([
      ["message.delta", 2, 3],
      ["tool.started", 4, 4],
      ["message.delta", 5, 5],
    ]);
  });

  it("I8 tells what is beyond its bounds as a gap", () => {
    const kept = new KeptActivity({ maxEvents: 2, maxTextUnits: 3 });
    for (const each of [tool(2), delta(3, "abc", 0), delta(4, "d", 3), tool(5)]) kept.push(each);
    expect(kept.events.slice(0, 2).map(({ n }) => n)).toEqual([2, 3]);
    expect(kept.events[2]).toMatchObject({
      kind: "gap",
      payload: { dropped: 2, first_n: 4, last_n: 5, kinds: { "message.delta": 1, "tool.started": 1 } },
    });
  });
});

describe("the difference of two states", () => {
  it("is by path, entries of lists by their ids", () => {
    const before = {
      through_seq: 1,
      tasks: [{ task_id: "k-1", status: null }],
      threads: [],
      members: [{ member_id: "m" }],
    };
    const after = {
      ...{ threads: [{ thread_id: "main" }], through_seq: 2, members: [] },
      tasks: [
        { task_id: "k-0", status: null },
        { task_id: "k-1", status: "completed" },
      ],
    };
    expect(stateDiff(before, after)).toEqual([
      { path: "members[m]", op: "removed", old: { member_id: "m" }, new: null },
      { path: "tasks[k-1].status", op: "changed", old: null, new: "completed" },
      { path: "tasks[k-0]", op: "added", old: null, new: { task_id: "k-0", status: null } },
      { path: "threads[main]", op: "added", old: null, new: { thread_id: "main" } },
      { path: "through_seq", op: "changed", old: 1, new: 2 },
    ]);
  });

  it("goes by place where there are no ids, or two have one", () => {
    expect(stateDiff([1, 2], [1, 3])).toEqual([{ path: "[1]", op: "changed", old: 2, new: 3 }]);
    expect(stateDiff({ a: {} }, { a: [] })).toEqual([{ path: "a", op: "changed", old: {}, new: [] }]);
    const [two, one] = [{ tasks: [{ task_id: "x" }, { task_id: "x" }] }, { tasks: [{ task_id: "x" }] }];
    expect(stateDiff(two, one)).toEqual([{ path: "tasks[1]", op: "removed", old: { task_id: "x" }, new: null }]);
  });

  it("of a value and itself is empty, and that back is its mirror", () => {
    const value = fc.jsonValue();
    fc.assert(fc.property(value, (one) => stateDiff(one, structuredClone(one)).length === 0));
    fc.assert(
      fc.property(value, value, (one, other) => {
        const there = stateDiff(one, other).map(({ path }) => path);
        const back = stateDiff(other, one).map(({ path }) => path);
        expect(there.toSorted()).toEqual(back.toSorted());
      }),
    );
  });
});
