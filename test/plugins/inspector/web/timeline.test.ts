import { describe, expect, it } from "vitest";
import { makeCoordinates, type ActivityEvent, type Coordinates } from "../../../../core/index.ts";
import type { LogRow, RunningAttempt } from "../../../../plugins/client/index.ts";
import { barAt, placeBars, wholeSpan, zoomed } from "../../../../plugins/inspector/web/timeline-layout.ts";
import { Timeline, timelineBounds } from "../../../../plugins/inspector/web/timeline-model.ts";

function coordinatesOf(turn: number, member = "m-a", generation = 1): Coordinates {
  return makeCoordinates({
    ...{ room_id: "r1", thread_id: "main", member_id: member, turn_id: `t${turn}`, task_id: `k${turn}` },
    execution_generation: generation,
  });
}

function event(coordinates: Coordinates, kind: string, at: number, payload: object = {}): ActivityEvent {
  return { v: 1, coordinates, kind, n: 1, seq: 1, at, payload } as unknown as ActivityEvent;
}

function row(coordinates: Coordinates, kind: string, at: number, payload: object): LogRow {
  return { ...coordinates, seq: 1, kind, created_at: at, payload } as unknown as LogRow;
}

const one = coordinatesOf(1);

function timelineOf(...events: readonly ActivityEvent[]): Timeline {
  const timeline = new Timeline();
  for (const each of events) timeline.activity(each);
  return timeline;
}

describe("a timeline", () => {
  it("has a bar from the start to the end, tools and marks on it", () => {
    const timeline = timelineOf(
      event(one, "turn.started", 1_000),
      event(one, "message.delta", 1_050, { text: "abc", offset: 0 }),
      event(one, "message.delta", 1_250, { text: "de", offset: 3 }),
      event(one, "tool.started", 1_100, { tool_id: "c", name: "read" }),
      event(one, "request.opened", 1_200, { id: "srq-1", method: "approval", command: "make" }),
      event(one, "request.resolved", 1_300, { id: "srq-1", method: "approval", outcome: "denied", choice: "deny" }),
      event(one, "tool.completed", 1_400, { tool_id: "c", name: "read", outcome: "denied" }),
      event(one, "turn.settled", 1_500, { status: "failed", reason_code: "no_result" }),
    );
    expect(timeline.bars).toEqual([
      {
        ...{
          coordinates: one,
          from: 1_000,
          isWhole: true,
          to: 1_500,
          status: "failed",
          reason: "no_result",
          last: 1_500,
        },
        tools: [{ tool_id: "c", name: "read", from: 1_100, to: 1_400, outcome: "denied" }],
        marks: [
          { kind: "opened", at: 1_200, text: "make" },
          { kind: "resolved", at: 1_300, text: "deny" },
        ],
        ...{ calls: 1, density: [3, 0, 2], lost: 0 },
      },
    ]);
    expect(timeline.events).toBe(8);
  });

  it("has a bar of its own for each generation of a task", () => {
    const timeline = timelineOf(
      event(one, "turn.started", 1_000),
      event(coordinatesOf(1, "m-a", 2), "turn.started", 2_000),
    );
    expect(timeline.bars.map(({ from, to }) => [from, to])).toEqual([
      [1_000, null],
      [2_000, null],
    ]);
  });

  it("says of an attempt that was under way that its start was not seen, until its row comes", () => {
    const timeline = new Timeline();
    const running = {
      coordinates: one,
      n: 4,
      text: "",
      tools: [{ tool_id: "c", name: "read", since: 900 }],
      open_requests: [],
    };
    timeline.seed([running as unknown as RunningAttempt], 2_000);
    expect(timeline.bar(one)).toMatchObject({ from: 900, isWhole: false, tools: [{ from: 900, to: null }] });
    timeline.row(row(one, "turn.started", 500, {}));
    expect(timeline.bar(one)).toMatchObject({ from: 500, isWhole: true });
  });

  it("ends a tool whose end was not seen with its turn, without an outcome: unknown is not shown as known", () => {
    const timeline = timelineOf(event(one, "tool.started", 1_000, { tool_id: "c", name: "read" }));
    timeline.row(row(one, "turn.settled", 1_200, { status: "abandoned", reason_code: "host_lost" }));
    expect(timeline.bar(one)).toMatchObject({
      ...{ to: 1_200, status: "abandoned" },
      tools: [{ to: 1_200, outcome: null }],
    });
  });

  it("counts what was dropped as lost and marks it; what was withheld is no loss and is marked once", () => {
    const gap = (at: number, dropped: number, withheld: number): ActivityEvent =>
      event(one, "gap", at, { dropped, withheld, first_n: 2, last_n: 9, kinds: {}, reason: "overflow" });
    const timeline = timelineOf(
      event(one, "turn.started", 1_000),
      gap(1_100, 0, 3),
      gap(1_150, 0, 2),
      gap(1_200, 7, 0),
    );
    expect([timeline.bar(one)?.lost, timeline.bar(one)?.marks.map(({ kind }) => kind)]).toEqual([
      7,
      ["withheld", "lost"],
    ]);
  });

  it("keeps so many attempts: the first one goes", () => {
    const timeline = new Timeline();
    for (let turn = 0; turn <= timelineBounds.maxAttempts; turn++) {
      timeline.activity(event(coordinatesOf(turn), "turn.started", turn));
    }
    expect([timeline.bars.length, timeline.bar(coordinatesOf(0)), timeline.bar(coordinatesOf(1))?.from]).toEqual([
      timelineBounds.maxAttempts,
      undefined,
      1,
    ]);
  });
});

describe("the layout", () => {
  const lanes = ["m-a", "m-b"];
  const about = { lanes, span: { from: 1_000, to: 2_000 }, width: 100, now: 1_800 };

  it("places a bar that runs up to now, and cuts it at the edges", () => {
    const timeline = timelineOf(
      event(one, "turn.started", 500),
      event(one, "tool.started", 1_200, { tool_id: "c", name: "read" }),
      event(coordinatesOf(2, "m-b"), "turn.started", 1_500),
      event(coordinatesOf(2, "m-b"), "turn.settled", 3_000, { status: "completed", reason_code: null }),
    );
    expect(placeBars(timeline, about).map(({ lane, left, right, tools }) => ({ lane, left, right, tools }))).toEqual([
      { lane: 0, left: 0, right: 80, tools: [{ tool: expect.anything() as object, left: 20, right: 80 }] },
      { lane: 1, left: 50, right: 100, tools: [] },
    ]);
  });

  it("leaves out what is outside the span, and members without a lane", () => {
    const timeline = timelineOf(
      event(one, "turn.started", 100),
      event(one, "turn.settled", 900, { status: "passed", reason_code: null }),
      event(coordinatesOf(2, "m-c"), "turn.started", 1_500),
    );
    expect(placeBars(timeline, about)).toEqual([]);
  });

  it("finds the bar under a point, the later one of two", () => {
    const timeline = timelineOf(event(one, "turn.started", 1_100), event(coordinatesOf(2), "turn.started", 1_200));
    const placed = placeBars(timeline, about);
    expect(barAt(placed, { lane: 0, x: 25 })?.bar.coordinates.turn_id).toBe("t2");
    expect(barAt(placed, { lane: 0, x: 11 })?.bar.coordinates.turn_id).toBe("t1");
    expect(barAt(placed, { lane: 1, x: 25 })).toBeUndefined();
  });

  it.each([
    [0.5, 20_000, { from: 15_000, to: 20_000 }],
    [2, 15_000, { from: 5_000, to: 25_000 }],
    [0.0001, 20_000, { from: 19_000, to: 20_000 }],
  ])("zooms by %d around %d", (factor, around, span) => {
    expect(zoomed({ from: 10_000, to: 20_000 }, factor, around)).toEqual(span);
  });

  it("shows all from the first bar to the last", () => {
    const timeline = timelineOf(
      event(one, "turn.started", 1_000),
      event(one, "turn.settled", 51_000, { status: "passed", reason_code: null }),
    );
    expect(wholeSpan(timeline, 60_000)).toEqual({ from: 1_000, to: 52_000 });
  });
});
