import { describe, expect, it } from "vitest";
import { makeCoordinates, type ActivityEvent, type ActivityKind } from "../../core/index.ts";
import { cards, PluginHost } from "../../plugins/index.ts";
import { CardLines } from "../../plugins/cards/card-lines.ts";
import { gate, openBus, settledPayload, startedPayload } from "../support/bus.ts";

const fields = {
  room_id: "r1",
  thread_id: "main",
  member_id: "m-a",
  turn_id: "t",
  task_id: "k",
  execution_generation: 2,
};
const attempt = makeCoordinates(fields);

/** An event of the attempt; its payload as the test has it. */
function eventOf(kind: ActivityKind, payload: object, coordinates: object | null = attempt): ActivityEvent {
  return { v: 1, coordinates, kind, n: 1, seq: null, at: 0, payload } as unknown as ActivityEvent;
}

const delta = (text: string, offset: number, more: object = {}) => eventOf("message.delta", { text, offset, ...more });

/** Lines of events without what stands before each: the room and the member. */
function linesOf(...events: readonly ActivityEvent[]): readonly string[] {
  const lines = new CardLines((id) => id.replace("m-", ""));
  return events.flatMap((event) => lines.of(event)).map((line) => line.replace(/^r1 @a /, ""));
}

const row = { seq: 1, hash: "h" };
const person = { kind: "person", id: "ada", display_name: "Ada" };

describe("the card", () => {
  it.each<readonly [ActivityKind, object, readonly string[]]>([
    ["turn.started", { ...startedPayload, row }, ["▶ running (message, attempt 2) ada: hello"]],
    [
      "turn.started",
      {
        ...startedPayload,
        cause: "queued",
        input: [{ message_id: "m", author: person, text: "a\nb" }, { row_seq: 4 }],
        row,
      },
      ["▶ running (queued, attempt 2) Ada: a b"],
    ],
    ["turn.started", { ...startedPayload, input: [{ row_seq: 4 }], row }, ["▶ running (message, attempt 2)"]],
    ["turn.settled", { ...settledPayload, activity_count: 7, row }, ["■ completed, 5 ms, 7 events"]],
    ["turn.settled", { ...settledPayload, status: "passed", duration_ms: 61_234, row }, ["■ passed, 61.2 s, 1 event"]],
    [
      "turn.settled",
      { ...settledPayload, status: "failed", reason_code: "runner_error", error: "no\nluck", row },
      ["✗ failed (runner_error), 5 ms, 1 event: no luck"],
    ],
    ["tool.started", { tool_id: "c", name: "read", args: { path: "a" } }, ['⚙ read {"path":"a"}']],
    ["tool.started", { tool_id: "c", name: "read" }, ["⚙ read"]],
    [
      "tool.completed",
      { tool_id: "c", name: "read", outcome: "ok", duration_ms: 5, result: "text" },
      ["✓ read: ok in 5 ms text"],
    ],
    [
      "tool.completed",
      { tool_id: "c", name: "read", outcome: "error", error: "gone", result: "x" },
      ["✗ read: error gone"],
    ],
    ["tool.output_risk", { tool_id: "c", name: "read", risk: "injection" }, ["! read: output at risk injection"]],
    ["message.interim", { text: "so far", already_streamed: false }, ["│ so far"]],
    ["message.interim", { text: "so far", already_streamed: true }, []],
    ["reasoning.delta", { text: "hm", offset: 0 }, []],
    [
      "request.opened",
      { id: "srq-1", method: "approval", command: "rm -rf build", choices: ["once", "deny"], expires_at: null },
      ["? needs input: rm -rf build [once|deny] srq-1"],
    ],
    [
      "request.opened",
      { id: "srq-1", method: "approval", expires_at: null, sizes: { command: 4 } },
      ["? needs input: srq-1"],
    ],
    [
      "request.resolved",
      { id: "s", method: "approval", outcome: "answered", choice: "once", by: { origin: "ada" } },
      ["✓ once (ada)"],
    ],
    [
      "request.resolved",
      { id: "s", method: "approval", outcome: "denied", choice: "deny", reason: "policy", by: null },
      ["✗ deny (policy)"],
    ],
    [
      "request.resolved",
      { id: "s", method: "approval", outcome: "expired", reason: "timeout", by: null },
      ["✗ expired (timeout)"],
    ],
    [
      "request.resolved",
      { id: "s", method: "approval", outcome: "answered", choice: "once", by: null },
      ["✓ once (the host)"],
    ],
    ["turn.error", { message: "disk\tfull" }, ["! disk full"]],
    [
      "gap",
      {
        dropped: 3,
        withheld: 0,
        first_n: 2,
        last_n: 4,
        kinds: { "message.delta": 2, "tool.started": 1 },
        reason: "overflow",
      },
      ["… 3 events lost (2 message.delta, 1 tool.started)"],
    ],
    [
      "gap",
      { dropped: 0, withheld: 2, first_n: 2, last_n: 3, kinds: { "reasoning.delta": 2 }, reason: "not_granted" },
      [],
    ],
  ])("of %s: %j", (kind, payload, lines) => {
    expect(linesOf(eventOf(kind, payload))).toEqual(lines);
  });

  it("of an approval shows all that is asked, on lines of its own", () => {
    const asks = (fields: object, more: object = {}) => ({
      ...eventOf("request.opened", {
        id: "srq-1",
        method: "approval",
        choices: ["once", "deny"],
        expires_at: null,
        ...fields,
      }),
      ...more,
    });
    const long = `rm ${"x".repeat(60_000)} /home`;
    expect(linesOf(asks({ command: long }))).toEqual(["? needs input: [once|deny] srq-1", `? │ ${long}`]);
    expect(linesOf(asks({ command: "ls\n\nrm -rf \u001b[8m/", description: "List" }))).toEqual([
      "? needs input: [once|deny] srq-1",
      "? │ ls",
      "? │ ",
      "? │ rm -rf \u{fffd}[8m/",
      "? │ List",
    ]);
  });

  it("of an approval says where its text was cut", () => {
    const asks = (command: string, more: object) => ({
      ...eventOf("request.opened", { id: "s", method: "approval", command, choices: ["deny"], expires_at: null }),
      ...more,
    });
    const [, shown] = linesOf(asks("y".repeat(65_536), {}));
    expect(shown).toBe(`? │ ${"y".repeat(65_536)}…`);
    expect(linesOf(asks("rm", { truncated: [{ field: "command", bytes: 9 }] }))).toEqual([
      "? needs input: rm… [deny] s",
    ]);
  });

  it("C-072 of an unknown outcome, a stopped and an abandoned turn is neither success nor failure", () => {
    const end = (fields: object) => eventOf("turn.settled", { ...settledPayload, row, ...fields });
    expect(
      linesOf(
        eventOf("tool.completed", { tool_id: "c", name: "read", outcome: "unknown" }),
        end({ status: "cancelled", reason_code: "stopped" }),
        end({ status: "superseded", reason_code: "newer_message" }),
        end({ status: "abandoned", reason_code: "host_lost", activity_count: null, duration_ms: null }),
      ),
    ).toEqual([
      "· read: unknown",
      "□ cancelled (stopped), 5 ms, 1 event",
      "□ superseded (newer_message), 5 ms, 1 event",
      "· abandoned (host_lost), it may have run",
    ]);
  });

  it("of a gap that names no attempt stands alone", () => {
    const gap = {
      dropped: 9,
      withheld: 1,
      first_n: null,
      last_n: null,
      kinds: { "turn.settled": 9 },
      reason: "overflow",
    };
    expect(linesOf(eventOf("gap", gap, null))).toEqual(["… 9 events lost (9 turn.settled)"]);
    expect(linesOf(eventOf("gap", { ...gap, dropped: 0 }, null))).toEqual([]);
  });

  it("begins with the room and the member", () => {
    const lines = new CardLines((id) => `name of ${id}\u001b[2J`);
    expect(lines.of(eventOf("turn.error", { message: "x" }))).toEqual(["r1 @name of m-a\u{fffd}[2J ! x"]);
  });
});

describe("the text of a turn", () => {
  it("is shown in whole lines, and its rest before the next card", () => {
    expect(
      linesOf(
        delta("one\ntw", 0),
        delta("o\r\n\n  three", 6),
        eventOf("turn.error", { message: "x" }),
        delta(" more", 17),
      ),
    ).toEqual(["│ one", "│ two", "│   three", "! x"]);
  });

  it("is shown without a line break when it is long", () => {
    const long = "x".repeat(100);
    expect(linesOf(delta(long, 0), delta(long, 100), delta("y", 200))).toEqual([`│ ${long}${long}`]);
  });

  it("is not shown twice when a snapshot repeats it after a loss", () => {
    const gap = eventOf("gap", {
      dropped: 1,
      withheld: 0,
      first_n: 3,
      last_n: 3,
      kinds: { "message.delta": 1 },
      reason: "overflow",
    });
    expect(
      linesOf(delta("one\ntwo", 0), gap, delta("one\ntwo lost\nfour\n", 0, { snapshot: true }), delta("five\n", 18)),
    ).toEqual(["│ one", "│ two", "… 1 event lost (1 message.delta)", "│  lost", "│ four", "│ five"]);
  });

  it("of a new attempt of the member begins anew", () => {
    const next = makeCoordinates({ ...fields, turn_id: "t2", task_id: "k2" });
    const lines = new CardLines((id) => id);
    lines.of(delta("unfinished", 0));
    const snapshot = eventOf("message.delta", { text: "new\n", offset: 0, snapshot: true }, next);
    expect(lines.of(snapshot)).toEqual(["r1 @m-a │ new"]);
  });
});

describe("what an agent wrote", () => {
  const evil = "\u001b]0;owned\u0007\u001b[2J\u009b31mred\u202egnp.exe\u0000\rover";
  const shown = "\u{fffd}]0;owned\u{fffd}\u{fffd}[2J\u{fffd}31mred\u{fffd}gnp.exe\u{fffd}\u{fffd}over";

  it.each<readonly [string, ActivityEvent]>([
    ["text", delta(`${evil}\n`, 0)],
    ["a tool's name", eventOf("tool.started", { tool_id: "c", name: evil })],
    ["a tool's arguments", eventOf("tool.started", { tool_id: "c", name: "n", args: evil })],
    ["a result", eventOf("tool.completed", { tool_id: "c", name: "n", outcome: "ok", result: evil })],
    ["an error", eventOf("turn.error", { message: evil })],
    [
      "a question",
      eventOf("request.opened", { id: "s", method: "approval", command: evil, choices: ["deny"], expires_at: null }),
    ],
    [
      "an answer's reason",
      eventOf("request.resolved", { id: "s", method: "approval", outcome: "denied", reason: evil, by: null }),
    ],
  ])("is shown and not obeyed: %s", (_, event) => {
    const [line = ""] = linesOf(event);
    expect(line).toContain(shown);
    expect(line).not.toMatch(/(?!\t)[\p{Cc}\u202e]/u);
  });

  it("is one line of a card, cut between two code points", () => {
    const [line = ""] = linesOf(eventOf("tool.started", { tool_id: "c", name: "n", args: `a\n\n${"😀".repeat(60)}` }));
    expect(line.length).toBeLessThanOrEqual("⚙ n ".length + 100);
    expect(line.isWellFormed()).toBe(true);
    expect(line.endsWith("😀…")).toBe(true);
  });
});

describe("the plugin", () => {
  it("writes a line at a time, and awaits each", async () => {
    const bus = openBus();
    const host = new PluginHost({
      observers: bus.observers,
      clock: bus.clock,
      report: (notice) => bus.notices.push(notice),
    });
    const lines: string[] = [];
    const first = gate();
    const write = (line: string): unknown => (lines.push(line) === 1 ? first.opened : undefined);
    await host.load({ plugin: cards({ write }), grants: ["approvals", "reasoning", "full"] });
    const turn = bus.start();
    bus.delta(turn, "a\nb\n");
    bus.settle(turn);
    await bus.idle();
    expect(lines).toEqual(["r1 @m-planner ▶ running (message, attempt 1) ada: hello"]);
    first.open();
    await bus.idle();
    expect(lines.slice(1)).toEqual([
      "r1 @m-planner │ a",
      "r1 @m-planner │ b",
      "r1 @m-planner ■ completed, 5 ms, 3 events",
    ]);
    expect(bus.notices).toEqual([]);
  });
});
