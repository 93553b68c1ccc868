import { describe, expect, it } from "vitest";
import type { ActivityEvent, TurnSettled } from "../../../../core/index.ts";
import { plainStyle, turnLines, turnTree, type TurnTree } from "../../../../plugins/index.ts";
import type { LogRow, RunningAttempt } from "../../../../plugins/client/index.ts";

const coordinates = {
  room_id: "r1",
  thread_id: "main",
  member_id: "m-a",
  turn_id: "t-1",
  task_id: "k-1",
  execution_generation: 1,
};

function event(n: number, kind: string, payload: object, more: object = {}): ActivityEvent {
  return { v: 1, coordinates, kind, n, seq: null, at: 0, payload, ...more } as unknown as ActivityEvent;
}

function gap(first_n: number, last_n: number, kinds: Record<string, number>, withheld = 0): ActivityEvent {
  const count = Object.values(kinds).reduce((sum, each) => sum + each, 0);
  const payload = { dropped: count - withheld, withheld, first_n, last_n, kinds, reason: "overflow" };
  return { ...event(0, "gap", payload), n: null } as ActivityEvent;
}

const shared = { ...coordinates, event_id: "ev", created_at: 1_000, prev_hash: "", hash: "" };

const started = {
  ...shared,
  seq: 3,
  kind: "turn.started",
  payload: {
    input: [
      { message_id: "msg-1", author: { kind: "person", id: "ada" }, text: "Look" },
      { message_id: "msg-0", row_seq: 1 },
      { row_seq: 2 },
    ],
    cause: "mention",
    origin: null,
  },
} as unknown as LogRow;

function settled(changes: Partial<TurnSettled> = {}): LogRow {
  const payload = {
    ...{ status: "completed", reason_code: null, text: "Done", truncated: false, error: null },
    ...{ usage: null, activity_count: 6, duration_ms: 1_234 },
    ...changes,
  };
  return { ...shared, seq: 4, kind: "turn.settled", payload } as unknown as LogRow;
}

const toolStart = event(2, "tool.started", { tool_id: "c1", name: "read", args: { path: "a" } });
const toolEnd = event(5, "tool.completed", { tool_id: "c1", name: "read", outcome: "ok", duration_ms: 7 });
const whole: readonly ActivityEvent[] = [
  toolStart,
  event(3, "request.opened", { id: "srq-1", method: "approval", tool_id: "c1", command: "cat a", expires_at: null }),
  event(4, "request.resolved", {
    id: "srq-1",
    method: "approval",
    outcome: "denied",
    choice: "deny",
    by: { origin: "c-9" },
  }),
  toolEnd,
];

function treeOf(
  events: readonly ActivityEvent[],
  rows: readonly LogRow[],
  running?: readonly RunningAttempt[],
): TurnTree {
  const tree = turnTree(events, rows, { turnId: "t-1", ...(running === undefined ? {} : { running }) });
  if (tree === undefined) throw new Error("there is no tree");
  return tree;
}

function linesOf(...given: Parameters<typeof treeOf>): readonly string[] {
  return turnLines(treeOf(...given), { style: plainStyle, maxUnits: 80, nameOf: () => "@a" });
}

describe("the tree of a turn", () => {
  it("that was seen whole is exact, with requests at their tools", () => {
    expect(linesOf(whole, [started, settled()])).toEqual([
      "t-1  r1  main  @a  k-1",
      "├─ input",
      "│  ├─ ada: Look",
      "│  ├─ row 1: its text is not at hand",
      "│  └─ row 2: its text is not at hand",
      "└─ attempt 1 (mention)  completed, 1.2 s, row 4",
      "   ├─ reasoning: none",
      "   ├─ tools: 1",
      "   │  └─ read c1  ok in 7 ms",
      '   │     ├─ args {"path":"a"}',
      "   │     └─ request approval srq-1  denied (deny) by c-9: cat a",
      "   ├─ requests: 1, 1 of them with their tools",
      "   ├─ text (4 characters): Done",
      "   ├─ activity: 6 events, 6 seen",
      "   └─ usage: not reported",
    ]);
  });

  it("does not depend on the order in which events came", () => {
    expect(treeOf(whole.toReversed(), [settled(), started])).toEqual(treeOf(whole, [started, settled()]));
  });

  it("finds the texts that its input refers to in other rows", () => {
    const other = { ...shared, turn_id: "t-0", task_id: "k-0" };
    const post = { message_id: "msg-0", author: { kind: "person", id: "bob", display_name: "Bob" }, text: "Earlier" };
    const rows = [
      { ...other, seq: 1, kind: "turn.started", payload: { input: [post], cause: "message", origin: null } },
      { ...other, seq: 2, kind: "turn.settled", payload: { ...settled().payload, text: "An answer" } },
    ] as unknown as LogRow[];
    expect(treeOf([], [started, ...rows]).input).toEqual([
      { message_id: "msg-1", author: "ada", text: "Look", row_seq: null },
      { message_id: "msg-0", author: "Bob", text: "Earlier", row_seq: 1 },
      { message_id: null, author: "m-a", text: "An answer", row_seq: 2 },
    ]);
  });

  it("is none when nothing of the turn is there", () => {
    expect(turnTree(whole, [started], { turnId: "t-2" })).toBeUndefined();
  });

  it("has an attempt for each generation, the first one first", () => {
    const again = { ...started, seq: 5, execution_generation: 2 } as LogRow;
    const { attempts } = treeOf(whole, [again, settled({ status: "failed", reason_code: "runner_lost" }), started]);
    expect(attempts.map((each) => [each.execution_generation, each.settled?.status, each.tools.certainty])).toEqual([
      [1, "failed", "exact"],
      [2, undefined, "unknown"],
    ]);
  });
});

describe("what is not known of a turn", () => {
  it("C-072 of rows alone is said to be unknown, but for a turn in which nothing can have happened", () => {
    const [attempt] = treeOf([], [started, settled()]).attempts;
    expect([attempt?.tools, attempt?.requests.certainty, attempt?.reasoning.certainty]).toEqual([
      { certainty: "unknown", list: [] },
      "unknown",
      "unknown",
    ]);
    expect(linesOf([], [started, settled()])).toEqual(
      expect.arrayContaining(["   ├─ tools: not known, rows do not tell", "   ├─ reasoning: not known"]),
    );
    const [empty] = treeOf([], [started, settled({ activity_count: 2 })]).attempts;
    expect([empty?.tools, empty?.text.certainty]).toEqual([{ certainty: "exact", list: [] }, "exact"]);
  });

  it("C-072 behind a loss is at least what was seen, each kind by itself", () => {
    const lostText = [toolStart, gap(3, 4, { "message.delta": 2 }), toolEnd];
    const lostTool = [toolStart, gap(3, 4, { "tool.started": 1, "tool.completed": 1 }), toolEnd];
    const unseen = [toolStart, toolEnd];
    const sure = (events: readonly ActivityEvent[]): unknown => {
      const [attempt] = treeOf(events, [started, settled()]).attempts;
      return [attempt?.tools.certainty, attempt?.requests.certainty, attempt?.activity.unseen];
    };
    expect(sure(lostText)).toEqual(["exact", "exact", 0]);
    expect(sure(lostTool)).toEqual(["at_least", "exact", 0]);
    expect(sure(unseen)).toEqual(["at_least", "at_least", 2]);
    expect(linesOf(lostTool, [started, settled()])).toEqual(
      expect.arrayContaining(["   ├─ tools: at least 1", "   ├─ activity: 6 events, 4 seen, 2 lost"]),
    );
  });

  it.each([
    ["unknown", "   │  └─ read c1  ended, nobody said how, time not reported"],
    ["cancelled", "   │  └─ read c1  cancelled, time not reported"],
    ["interrupted", "   │  └─ read c1  interrupted, time not reported"],
  ])("C-072 a tool that ended %s is no success", (outcome, line) => {
    const end = event(3, "tool.completed", { tool_id: "c1", name: "read", outcome });
    const start = event(2, "tool.started", { tool_id: "c1", name: "read" });
    expect(linesOf([start, end], [started, settled({ activity_count: 4 })])).toContain(line);
  });

  it("C-072 a tool whose end was lost has no outcome, and does not run", () => {
    const [attempt] = treeOf([toolStart, gap(3, 5, { "tool.completed": 3 })], [started, settled()]).attempts;
    expect(attempt?.tools.list[0]).toMatchObject({ state: "end_not_seen", outcome: null, duration_ms: null });
  });

  it("C-072 an abandoned turn may have run, and its figures are not known", () => {
    const end = settled({
      ...{ status: "abandoned", reason_code: "host_lost", text: "" },
      ...{ activity_count: null, duration_ms: null },
    });
    const lines = linesOf([toolStart, event(3, "message.delta", { text: "Hal", offset: 0 })], [started, end]);
    expect(lines).toEqual(
      expect.arrayContaining([
        "└─ attempt 1 (mention)  abandoned (host_lost), it may have run, row 4",
        "   ├─ tools: at least 1",
        "   │  └─ read c1  its end was not seen",
        "   ├─ text (at least 3 characters): Hal",
        "   ├─ activity: at least 3 events, 3 seen",
        "   └─ usage: not reported",
      ]),
    );
    expect(linesOf([], [started, end])).toEqual(
      expect.arrayContaining(["   ├─ text: not known", "   ├─ activity: only its rows are at hand"]),
    );
  });

  it("C-072 a cancelled turn has no error, and reported usage is shown as it is", () => {
    const end = settled({ status: "cancelled", reason_code: "stopped", usage: { tokens: 0 } });
    expect(linesOf(whole, [started, end])).toEqual(
      expect.arrayContaining(["└─ attempt 1 (mention)  cancelled (stopped), 1.2 s, row 4", "   └─ usage: tokens 0"]),
    );
  });

  it("C-072 withheld reasoning is no loss, and not none", () => {
    const events = [toolStart, { ...gap(3, 4, { "reasoning.delta": 2 }, 2) }, toolEnd];
    const [attempt] = treeOf(events, [started, settled()]).attempts;
    expect([attempt?.reasoning.withheld, attempt?.tools.certainty]).toEqual([2, "exact"]);
    expect(linesOf(events, [started, settled()])).toContain("   ├─ reasoning: withheld, 2 pieces: no grant for it");
  });
});

describe("an open turn", () => {
  const running: RunningAttempt = {
    ...{ coordinates, n: 5, text: "So far", offset: 6 },
    tools: [{ tool_id: "c2", name: "make", since: 0 }],
    open_requests: [{ id: "srq-2", method: "approval", tool_id: "c2", command: "make all" }],
  };

  it("shows what was open when the watching began as open still", () => {
    expect(linesOf([], [started], [running])).toEqual(
      expect.arrayContaining([
        "└─ attempt 1 (mention)  open: it has not settled",
        "   ├─ tools: at least 1",
        "   │  └─ make c2  running",
        "   │     └─ request approval srq-2  waits for an answer: make all",
        "   ├─ text (6 characters, streamed): So far",
        "   └─ activity: at least 5 events, 1 seen, 4 not seen",
      ]),
    );
  });

  it("does not take for open what may have ended unseen", () => {
    const later = event(9, "message.delta", { text: "!", offset: 20 });
    const [attempt] = treeOf([later], [started], [running]).attempts;
    expect([attempt?.tools.list[0]?.state, attempt?.text]).toEqual([
      "end_not_seen",
      { source: "stream", pieces: ["So far", "!"], missing_units: 14, truncated: false, certainty: "at_least" },
    ]);
  });

  it("is whole again behind a snapshot, and says when the last piece was lost", () => {
    const healed = event(9, "message.delta", { text: "All of it", offset: 0, snapshot: true });
    const text = (events: readonly ActivityEvent[]): unknown => {
      const node = treeOf(events, [started], [running]).attempts[0]?.text;
      return [node?.pieces, node?.certainty];
    };
    expect(text([gap(6, 8, { "message.delta": 3 }), healed])).toEqual([["All of it"], "exact"]);
    expect(text([gap(6, 8, { "message.delta": 3 }), healed, gap(10, 11, { "message.delta": 2 })])).toEqual([
      ["All of it"],
      "at_least",
    ]);
  });

  it("of a database may run or not: no row says that it has settled", () => {
    expect(linesOf([], [started])).toContain("└─ attempt 1 (mention)  open: no row says that it has settled");
  });
});
