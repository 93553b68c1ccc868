import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../core/index.ts";
import { boardLines, cellWidth, emptyBoard, plainStyle, reduceEvent, type Board } from "../../../plugins/index.ts";
import { firstView, pressed, render, type Canvas } from "../../../plugins/crew/view.ts";

const coordinates = {
  ...{ room_id: "r1", thread_id: "main", member_id: "m-a", turn_id: "t", task_id: "k", execution_generation: 1 },
};

/** A board of one turn, from its events' kinds and payloads. */
function boardOf(
  events: readonly (readonly [kind: string, payload: JsonObject])[],
  generation = 1,
  start?: Board,
): Board {
  const started = [
    "turn.started",
    { cause: "message", input: [{ text: "go" }], row: { seq: generation * 2 - 1, hash: "" } },
  ] as const;
  return [started, ...events].reduce<Board>(
    (board, [kind, payload], index) =>
      reduceEvent(board, {
        ...{ v: 1, kind, n: kind === "gap" ? null : index + 1, seq: null, at: 1_000 + index, payload },
        coordinates: { ...coordinates, execution_generation: generation },
      }),
    start ?? emptyBoard("r1"),
  );
}

const asks = (id: string, command: string, more: JsonObject = {}) =>
  [
    "request.opened",
    { id, method: "approval", command, choices: ["once", "deny"], expires_at: null, ...more },
  ] as const;

const settled = (more: JsonObject = {}) =>
  [
    "turn.settled",
    {
      ...{ status: "completed", reason_code: null, text: "", truncated: false, error: null, usage: null },
      ...{ activity_count: 9, duration_ms: 1_500, row: { seq: 2, hash: "" }, counts: { "tool.started": 3 }, ...more },
    },
  ] as const;

const canvas: Canvas = { width: 60, height: 12, now: null, style: plainStyle };
const char = (text: string) => ({ char: text });

describe("the lines of a board", () => {
  it("C-072 show an unknown outcome as neither success nor failure, and no usage as none", () => {
    const board = boardOf([
      ["tool.started", { tool_id: "c", name: "deploy" }],
      ["tool.completed", { tool_id: "c", name: "deploy", outcome: "unknown" }],
      ["tool.started", { tool_id: "d", name: "test" }],
    ]);
    expect(boardLines(board).slice(2)).toEqual([
      "  ▶ running [message, 2 tool calls]: go",
      "    · deploy: unknown",
      "    ⚙ test",
    ]);
    const lost = boardOf(
      [["gap", { dropped: 2, withheld: 0, first_n: 2, last_n: 3, kinds: { "tool.completed": 1, "turn.settled": 1 } }]],
      1,
    );
    expect(lost.members[0]).toMatchObject({ state: "idle", last: null, turns: [{ status: "unknown", usage: null }] });
    expect(boardLines(lost).slice(2)).toEqual([
      "  · over, how is not known [message, 0 tool calls]: go",
      "    … 2 events lost",
    ]);
  });

  it("C-072 say of an abandoned turn that it may have run", () => {
    const end = settled({
      status: "abandoned",
      reason_code: "host_lost",
      activity_count: null,
      duration_ms: null,
      counts: {},
    });
    const board = reduceEvent(boardOf([["tool.started", { tool_id: "c", name: "run" }]]), {
      ...{ v: 1, kind: end[0], n: null, seq: null, at: 5, coordinates, payload: end[1] },
    });
    expect(boardLines(board).slice(1, 4)).toEqual([
      "✗ @m-a failed",
      "  · abandoned (host_lost) [message, it may have run, 0 tool calls]: go",
      "    · run: its end was not seen",
    ]);
  });

  it("say at least behind a loss, and are exact again when the end of the turn counts for itself", () => {
    const gap = ["gap", { dropped: 2, withheld: 0, first_n: 3, last_n: 4, kinds: { "tool.started": 2 } }] as const;
    const one = ["tool.started", { tool_id: "c", name: "run" }] as const;
    const lossy = boardOf([one, gap]);
    expect(boardLines(lossy)[2]).toBe("  ▶ running [message, at least 1 tool call]: go");
    expect(lossy.members[0]?.turns[0]?.missing).toMatchObject({ dropped: 2, unseen: 0 });
    const after = reduceEvent(lossy, {
      v: 1,
      kind: "turn.settled",
      n: 5,
      seq: null,
      at: 9,
      coordinates,
      payload: settled()[1],
    });
    expect(boardLines(after)[2]).toBe("  ■ completed [message, in 1.5 s, 3 tool calls]: go");
  });

  it("withheld events are no loss: counts stay exact", () => {
    const gap = ["gap", { dropped: 0, withheld: 3, first_n: 2, last_n: 4, kinds: { "reasoning.delta": 3 } }] as const;
    expect(boardLines(boardOf([gap])).slice(2)).toEqual([
      "  ▶ running [message, 0 tool calls]: go",
      "    … 3 withheld (not granted)",
    ]);
  });

  it("a retry takes the place of the attempt before it, and a late event of that changes nothing", () => {
    const first = boardOf([
      ["tool.started", { tool_id: "old", name: "old" }],
      settled({ status: "failed", reason_code: "runner_error" }),
    ]);
    const second = boardOf([["tool.started", { tool_id: "new", name: "new" }]], 2, first);
    expect(boardLines(second).slice(2)).toEqual([
      "  ▶ running [message, attempt 2, 1 tool call]: go",
      "    attempt 1: failed (runner_error), 3 tool calls",
      "    ⚙ new",
    ]);
    const late: JsonObject = {
      v: 1,
      kind: "tool.started",
      n: 9,
      seq: null,
      at: 9,
      coordinates,
      payload: { tool_id: "x", name: "late" },
    };
    expect(reduceEvent(second, late)).toBe(second);
  });

  it("keep what an agent wrote from being obeyed, wherever it stands", () => {
    const evil = "\u001b[2Jevil\u0007\u202e";
    const board = boardOf([
      ["tool.started", { tool_id: "c", name: evil, args: { [evil]: evil } }],
      ["tool.completed", { tool_id: "c", name: evil, outcome: "error", error: evil }],
      ["message.delta", { text: `${evil}\n${evil}`, offset: 0 }],
      ["message.interim", { text: evil, already_streamed: false }],
      asks("srq-1", `${evil}\n${evil}`, { description: evil }),
      ["turn.error", { message: evil }],
    ]);
    const text = [...boardLines(board), ...render(board, firstView, { ...canvas, height: 60 })].join("\n");
    expect(text).toContain("evil");
    expect(["\u001b", "\u0007", "\u202e"].filter((control) => text.includes(control))).toEqual([]);
  });

  it("forget the oldest cards that have ended, and say how many", () => {
    const calls = Array.from({ length: 70 }, (_, index) => [
      ["tool.started", { tool_id: `c${index}`, name: "run" }] as const,
      ["tool.completed", { tool_id: `c${index}`, name: "run", outcome: "ok" }] as const,
    ]).flat();
    const board = boardOf(calls);
    expect(board.members[0]?.turns[0]).toMatchObject({
      tool_calls: { count: 70, certainty: "exact" },
      forgotten: { tools: 6, open_tools: 0 },
    });
    expect(boardLines(board)[3]).toBe("    … 6 earlier cards");
    expect(board.members[0]?.turns[0]?.tools[0]?.tool_id).toBe("c6");
  });
});

describe("the picture of a board", () => {
  const board = boardOf([
    asks("srq-1", "make all"),
    asks("srq-2", "x".repeat(150)),
    ["message.delta", { text: "漢字 text", offset: 0 }],
  ]);

  it.each([0, 1, 2, 5, 40])("has at most %i lines, none wider than the screen", (height) => {
    for (const width of [1, 7, 40]) {
      const lines = render(board, firstView, { ...canvas, width, height });
      expect(lines.length).toBeLessThanOrEqual(height);
      expect(lines.every((line) => cellWidth(line) <= Math.max(2, width))).toBe(true);
    }
  });

  it("wraps what is asked, and cuts the rest", () => {
    const lines = render(board, firstView, { ...canvas, width: 40, height: 40 });
    expect(lines.join("").replaceAll(" ", "")).toContain("x".repeat(150));
    expect(lines.slice(3, 6)).toEqual([
      "    ? approval waits [once|deny] → roomt",
      "ap answer srq-1 once",
      "      make all",
    ]);
  });

  it.each([
    ["a", "once"],
    ["d", "deny"],
  ])("%s answers the first request with %s", (key, choice) => {
    expect(pressed(board, firstView, char(key), { ...canvas, height: 40 }).action).toEqual({ answer: "srq-1", choice });
  });

  it("arrows select another request, which is what is answered then", () => {
    const tall = { ...canvas, height: 40 };
    const { view } = pressed(board, firstView, "down", tall);
    expect(pressed(board, view, char("d"), tall).action).toEqual({ answer: "srq-2", choice: "deny" });
    expect(pressed(board, pressed(board, view, "down", tall).view, "up", tall).view.selected).toBe("srq-1");
  });

  it("nobody allows what does not stand on the screen; to deny it is always possible", () => {
    const small = { ...canvas, width: 30, height: 4 };
    const first = pressed(board, { ...firstView, selected: "srq-2" }, char("a"), small);
    expect(first).toMatchObject({ action: null, view: { notice: "read what is asked, then press a again" } });
    const second = pressed(board, { ...first.view, selected: "srq-2" }, char("a"), small);
    expect(second).toMatchObject({
      action: null,
      view: { notice: "it is longer than this screen: roomtap answer srq-2 once" },
    });
    expect(pressed(board, second.view, char("d"), small).action).toMatchObject({ choice: "deny" });
  });

  it("what was withheld or is no approval is not answered by a key", () => {
    const withheld = boardOf([["request.opened", { id: "srq-3", method: "approval", expires_at: null }]]);
    const question = boardOf([
      ["request.opened", { id: "srq-4", method: "clarify", question: "which?", expires_at: null }],
    ]);
    for (const each of [withheld, question, boardOf([])]) {
      expect(pressed(each, firstView, char("a"), canvas)).toMatchObject({
        action: null,
        view: { notice: expect.any(String) as string },
      });
    }
  });

  it.each([
    [char("q"), 0],
    ["ctrl_c" as const, 130],
  ])("%j quits with %i", (key, quit) => {
    expect(pressed(board, firstView, key, canvas).action).toEqual({ quit });
  });
});
