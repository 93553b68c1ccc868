import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RoomtapError, limits } from "../../core/index.ts";
import { checkpointOf, emptyState, fold, RoomFold, type FoldState } from "../../rooms/index.ts";
import { zeroHash, type LogRow } from "../../rooms/log-row.ts";
import { logs, TestLog } from "../support/logs.ts";

const digestOf = (state: FoldState): string => checkpointOf(state, zeroHash).digest;
const foldAll = (rows: readonly LogRow[], roomId = "r1"): FoldState => fold(emptyState(roomId), rows);

/** The coded refusal of a log, or undefined when it folds. */
function refusalOf(rows: readonly LogRow[]): RoomtapError | undefined {
  try {
    foldAll(rows);
    return undefined;
  } catch (fault) {
    if (fault instanceof RoomtapError) return fault;
    throw fault;
  }
}

describe("fold", () => {
  it("R11 folds at once, row by row and in random pieces to one digest", () => {
    const cuts = fc.array(fc.nat(120), { maxLength: 6 });
    fc.assert(
      fc.property(logs(), cuts, (rows, places) => {
        const whole = foldAll(rows);
        const pieces = [0, ...places.map((place) => place % rows.length), rows.length].sort((a, b) => a - b);
        let inPieces = emptyState("r1");
        for (const [index, from] of pieces.entries()) inPieces = fold(inPieces, rows.slice(from, pieces[index + 1]));
        const rowByRow = rows.reduce((state, row) => fold(state, [row]), emptyState("r1"));
        expect(inPieces).toEqual(whole);
        expect(digestOf(rowByRow)).toBe(digestOf(whole));
      }),
    );
  });

  it("R11 folds 500 rows at once and from a state at 256 to one digest", () => {
    const log = new TestLog();
    for (let turn = 0; turn < 250; turn++) {
      log.settle(log.start({ member_id: `m${turn % 3}`, post: { message_id: `p${turn}`, text: `@m${turn % 3} go` } }));
    }
    const at256 = foldAll(log.rows.slice(0, 256));
    expect(digestOf(fold(at256, log.rows.slice(256)))).toBe(digestOf(foldAll(log.rows)));
    expect(at256.through_seq).toBe(256);
  });

  it("I4 leaves the state it was given, and the states it gave, as they were", () => {
    fc.assert(
      fc.property(logs(60), fc.nat(59), (rows, place) => {
        const at = place % rows.length;
        const state = foldAll(rows.slice(0, at));
        const text = JSON.stringify(state);
        const folding = new RoomFold(state);
        for (const row of rows.slice(at)) folding.apply(row);
        expect(JSON.stringify(state)).toBe(text);
      }),
    );
  });

  it("I4 is what it is read back from its own JSON", () => {
    fc.assert(
      fc.property(logs(60), fc.nat(59), (rows, place) => {
        const at = place % rows.length;
        const stored = JSON.parse(JSON.stringify(foldAll(rows.slice(0, at)))) as FoldState;
        expect(digestOf(fold(stored, rows.slice(at)))).toBe(digestOf(foldAll(rows)));
      }),
    );
  });

  it("R12 folds one script at two times to one digest and other hashes", () => {
    const write = (createdAt: (seq: number) => number): TestLog => {
      const log = new TestLog("r1", createdAt);
      log.settle(log.start({ member_id: "a", post: { message_id: "p1", text: "@a hi" } }));
      return log;
    };
    const [early, late] = [write(() => 1_000), write((seq) => 9_000 + seq)];
    expect(digestOf(foldAll(early.rows))).toBe(digestOf(foldAll(late.rows)));
    expect(early.rows.at(-1)?.hash).not.toBe(late.rows.at(-1)?.hash);
  });

  it("C-058 orders by seq alone when the clock was set back", () => {
    const minutesAgo = new TestLog("r1", (seq) => 1_764_512_345_678 - (seq - 1) * 600_000);
    const start = minutesAgo.start({ member_id: "a", post: { message_id: "p1", text: "@a" } });
    minutesAgo.settle(start);
    minutesAgo.start({ member_id: "a", post: { message_id: "p2", text: "@a again" }, seen_through_seq: 2 });
    const state = foldAll(minutesAgo.rows);
    expect(state.threads[0]?.last_row).toBe(3);
    expect(state.threads[0]?.transcript.map((shown) => shown.row)).toEqual([1, 2, 3]);
    expect(digestOf(state)).toBe(digestOf(foldAll(minutesAgo.rows.map((row) => ({ ...row, created_at: 0 })))));
  });

  it("tells what a thread, a member and a task have come to", () => {
    const log = new TestLog();
    const first = log.start({ member_id: "a", post: { message_id: "p1", text: "@a hi" } });
    log.settle(first, { text: "ask @B" });
    const second = log.start({ member_id: "b", input: [{ row_seq: 2 }], round: 1, slot: 1, seen_through_seq: 2 });
    expect(foldAll(log.rows)).toEqual({
      room_id: "r1",
      through_seq: 3,
      threads: [
        {
          thread_id: "main",
          last_row: 3,
          discussion: {
            message_id: "p1",
            first_row: 1,
            last_row: 3,
            round: 1,
            turns: [{ member_id: "b", row: 3 }],
            completed: 1,
            spoke: [{ member_id: "a", row: 2 }],
            named: [
              { word: "a", round: 0, row: null },
              { word: "b", round: 1, row: 2 },
            ],
          },
          transcript: [
            { row: 1, member_id: "a", posts: ["p1"] },
            { row: 2, member_id: "a", posts: [] },
          ],
          open_turns: [second.turn_id],
        },
      ],
      members: [
        {
          member_id: "a",
          last_row: 2,
          open: null,
          seen: [{ thread_id: "main", seen_through_seq: 0, started_row: 1 }],
          last: { turn_id: first.turn_id, status: "completed", reason_code: null, settled_row: 2 },
        },
        {
          member_id: "b",
          last_row: 3,
          open: {
            thread_id: "main",
            turn_id: second.turn_id,
            task_id: second.task_id,
            execution_generation: 1,
            started_row: 3,
          },
          seen: [{ thread_id: "main", seen_through_seq: 2, started_row: 3 }],
          last: null,
        },
      ],
      tasks: [
        {
          task_id: first.task_id,
          turn_id: first.turn_id,
          thread_id: "main",
          member_id: "a",
          discussion: { message_id: "p1", round: 0, slot: 0 },
          execution_generation: 1,
          status: "completed",
          reason_code: null,
          started_row: 1,
          settled_row: 2,
        },
        {
          task_id: second.task_id,
          turn_id: second.turn_id,
          thread_id: "main",
          member_id: "b",
          discussion: { message_id: "p1", round: 1, slot: 1 },
          execution_generation: 1,
          status: null,
          reason_code: null,
          started_row: 3,
          settled_row: null,
        },
      ],
    });
  });

  it("tells who had a turn in the present round; a retry has none, a new round begins with none", () => {
    const log = new TestLog();
    const discussion = () => foldAll(log.rows).threads[0]?.discussion;
    const first = log.start({ member_id: "a", post: { message_id: "p1", text: "hi" } });
    log.settle(first, { status: "failed", reason_code: "runner_error" });
    log.settle(log.start({ member_id: "b", slot: 1 }), { text: "one" });
    log.settle(log.retry(first), { text: "two" });
    expect(discussion()?.turns).toEqual([
      { member_id: "a", row: 1 },
      { member_id: "b", row: 3 },
    ]);
    expect(discussion()?.spoke).toEqual([
      { member_id: "b", row: 4 },
      { member_id: "a", row: 6 },
    ]);
    log.settle(log.start({ member_id: "b", round: 1, seen_through_seq: 6 }), { text: "three" });
    expect(discussion()).toMatchObject({ round: 1, turns: [{ member_id: "b", row: 7 }], completed: 3 });
    expect(discussion()?.spoke).toEqual([
      { member_id: "a", row: 6 },
      { member_id: "b", row: 8 },
    ]);
  });

  it("counts a word from the round behind its first text on, and knows the last text that named it", () => {
    const log = new TestLog();
    log.settle(log.start({ member_id: "a", post: { message_id: "p1", text: "@a hi" } }), { text: "ask @b" });
    log.settle(log.start({ member_id: "b", round: 1, seen_through_seq: 2 }), { text: "@a and @b, ask @c" });
    expect(foldAll(log.rows).threads[0]?.discussion.named).toEqual([
      { word: "a", round: 0, row: 4 },
      { word: "b", round: 1, row: 4 },
      { word: "c", round: 2, row: 4 },
    ]);
  });

  it("leaves the discussion that goes on alone when an older one's task is tried again", () => {
    const log = new TestLog();
    const first = log.start({ member_id: "a", post: { message_id: "p1", text: "hi" } });
    log.settle(first, { status: "failed", reason_code: "runner_error" });
    log.settle(log.start({ member_id: "b", post: { message_id: "p2", text: "@b" }, seen_through_seq: 1 }));
    const before = foldAll(log.rows).threads[0]?.discussion;
    log.settle(log.retry(first), { text: "@c late" });
    expect(foldAll(log.rows).threads[0]?.discussion).toEqual(before);
  });

  it("counts a superseded text in no round, shows it to nobody, takes no name from it", () => {
    const log = new TestLog();
    const start = log.start({ member_id: "a", post: { message_id: "p1", text: "hi" } });
    log.settle(start, { status: "superseded", reason_code: "newer_message", text: "ask @c" });
    const [thread] = foldAll(log.rows).threads;
    expect(thread?.discussion).toMatchObject({ completed: 0, spoke: [], named: [], last_row: 2 });
    expect(thread?.transcript.map((shown) => shown.row)).toEqual([1]);
  });

  it("C-049 folds a failed attempt, its retry and the next post to one digest", () => {
    const log = new TestLog();
    const first = log.start({ member_id: "a", post: { message_id: "p1", text: "@a" } });
    log.settle(first, { status: "failed", reason_code: "member_unavailable", text: "" });
    const second = log.retry(first);
    log.settle(second, { text: "late but here" });
    log.start({ member_id: "a", post: { message_id: "p2", text: "@a next" }, seen_through_seq: 4 });
    const state = foldAll(log.rows);
    const rowByRow = log.rows.reduce((at, row) => fold(at, [row]), emptyState("r1"));
    expect(digestOf(rowByRow)).toBe(digestOf(state));
    expect(second).toMatchObject({ task_id: first.task_id, turn_id: first.turn_id, execution_generation: 2 });
    expect(state.tasks[0]).toMatchObject({ execution_generation: 2, status: "completed", started_row: 3 });
    // The post that both attempts were asked stands in the transcript once.
    expect(state.threads[0]?.transcript.map((shown) => shown.posts)).toEqual([["p1"], [], ["p2"]]);
  });

  it("C-080 keeps members and threads with names of the prototype apart", () => {
    const log = new TestLog();
    for (const name of ["constructor", "toString", "hasOwnProperty"]) {
      log.settle(log.start({ member_id: name, thread_id: name, post: { message_id: `p-${name}`, text: `@${name}` } }));
    }
    const state = foldAll(log.rows);
    expect(state.members.map((member) => member.member_id)).toEqual(["constructor", "hasOwnProperty", "toString"]);
    expect(state.threads.map((thread) => thread.discussion.named.map(({ word }) => word))).toEqual([
      ["constructor"],
      ["hasownproperty"],
      ["tostring"],
    ]);
  });
});

describe("a log that contradicts itself", () => {
  const log = new TestLog();
  const start = log.start({ member_id: "a", post: { message_id: "p1", text: "@a" } });
  const settle = log.settle(start);
  const more = (write: (log: TestLog) => LogRow, seq = 3): LogRow => ({ ...write(new TestLog()), seq });
  const open = (row: LogRow, generation: number): LogRow => ({ ...row, execution_generation: generation });

  it.each([
    ["a settle without its start", [{ ...settle, seq: 1 }], 1],
    ["a second start of an open attempt", [start, { ...start, seq: 2 }], 2],
    ["has an open turn since row 1", [start, more((other) => other.start({ member_id: "a", slot: 1 }), 2)], 2],
    ["execution generation 3, expected 2", [start, settle, open({ ...start, seq: 3 }, 3)], 3],
    ["execution generation 1, expected 2", [start, settle, { ...start, seq: 3 }], 3],
    ["execution generation 2, expected 1", [open(start, 2)], 1],
    ["a second settle", [start, settle, { ...settle, seq: 3 }], 3],
    ["a settle without its start", [start, open({ ...settle, seq: 2 }, 2)], 2],
    ["a settle without its start", [start, { ...settle, thread_id: "other" }], 2],
    ["belongs to another turn", [start, settle, open({ ...start, seq: 3, member_id: "b" }, 2)], 3],
    ["expected row 2", [start, { ...settle, seq: 3 }], 3],
    ["belongs to room r2", [start, { ...settle, room_id: "r2" }], 2],
  ])("R14 is corrupt: %s", (problem, rows, seq) => {
    const refusal = refusalOf(rows);
    expect(refusal?.code).toBe("log_corrupt");
    expect(refusal?.message).toContain(`room r1, row ${seq}`);
    expect(refusal?.message).toContain(problem);
  });

  it("R14 leaves the fold as it was before the refused row", () => {
    const folding = new RoomFold(foldAll([start]));
    const before = folding.state();
    expect(() => folding.apply({ ...start, seq: 2 })).toThrow(/second start/);
    expect(folding.state()).toEqual(before);
    folding.apply(settle);
    expect(folding.throughSeq).toBe(2);
  });
});

describe("bounds of the fold", () => {
  it("R15 keeps the last 256 of 300 settled tasks and 300 threads, in pieces or at once", () => {
    const log = new TestLog();
    for (let turn = 1; turn <= 300; turn++) {
      const post = { message_id: `p${turn}`, text: "@a" };
      log.settle(log.start({ member_id: "a", thread_id: `thread-${turn}`, post }));
    }
    const state = foldAll(log.rows);
    const rowByRow = log.rows.reduce((at, row) => fold(at, [row]), emptyState("r1"));
    expect(digestOf(rowByRow)).toBe(digestOf(state));
    expect(state.tasks.map((task) => task.started_row)).toEqual(Array.from({ length: 256 }, (_, k) => 89 + 2 * k));
    expect(new Set(state.threads.map((thread) => thread.discussion.first_row))).toEqual(
      new Set(state.tasks.map((task) => task.started_row)),
    );
    // What a member saw of a thread goes with the thread.
    expect(state.members[0]?.seen).toHaveLength(limits.maxFoldThreads);
  });

  it("R15 never lets an open task or the thread of an open turn go", () => {
    const log = new TestLog();
    const open = log.start({ member_id: "slow", thread_id: "first", post: { message_id: "p0", text: "@slow" } });
    for (let turn = 1; turn <= 260; turn++) {
      const post = { message_id: `p${turn}`, text: "@a" };
      log.settle(log.start({ member_id: "a", thread_id: `thread-${turn}`, post }));
    }
    const state = foldAll(log.rows);
    expect(state.tasks[0]?.task_id).toBe(open.task_id);
    expect(state.threads.find((thread) => thread.thread_id === "first")?.open_turns).toEqual([open.turn_id]);
    expect(state.tasks).toHaveLength(257);
    expect(state.threads).toHaveLength(256);
  });

  it("keeps the last 64 turns of a round, and the last 64 members that spoke in a discussion", () => {
    const log = new TestLog();
    log.settle(log.start({ member_id: "m0", post: { message_id: "p", text: "hi" } }));
    for (let turn = 1; turn < 70; turn++) log.settle(log.start({ member_id: `m${turn}`, slot: turn }));
    const discussion = foldAll(log.rows).threads[0]?.discussion;
    const kept = Array.from({ length: limits.maxDiscussionMembers }, (_, k) => k + 6);
    expect(discussion?.turns).toEqual(kept.map((k) => ({ member_id: `m${k}`, row: 2 * k + 1 })));
    expect(discussion?.spoke).toEqual(kept.map((k) => ({ member_id: `m${k}`, row: 2 * k + 2 })));
    expect(discussion?.completed).toBe(70);
  });

  it("keeps the last 24 shown rows, 256 members and 64 named words", () => {
    const log = new TestLog();
    const names = Array.from({ length: 70 }, (_, k) => `@w${k}`).join(" ");
    for (let turn = 0; turn < 260; turn++) {
      log.settle(log.start({ member_id: `m${turn}`, post: { message_id: `p${turn}`, text: names } }));
    }
    const state = foldAll(log.rows);
    expect(state.threads[0]?.transcript.map((shown) => shown.row)).toEqual(
      Array.from({ length: 24 }, (_, k) => 497 + k),
    );
    expect(state.members).toHaveLength(limits.maxFoldMembers);
    expect(state.members.some((member) => member.member_id === "m3")).toBe(false);
    expect(state.threads[0]?.discussion.named.map(({ word }) => word)).toEqual(
      Array.from({ length: 64 }, (_, k) => `w${k + 6}`),
    );
  });
});
