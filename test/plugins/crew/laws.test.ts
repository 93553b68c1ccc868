import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ActivityEvent } from "../../../core/index.ts";
import { emptyBoard, reduceEvent, seed, type Board, type BoardTurn } from "../../../plugins/index.ts";
import { CrewModel, delivered, handlings, scripts } from "../../support/crew-model.ts";

const boardOf = (events: readonly unknown[], start = emptyBoard("r1")): Board => events.reduce(reduceEvent, start);

/** Another order of the same events, each member's in its own. */
function reordered(events: readonly ActivityEvent[], choices: readonly number[]): readonly ActivityEvent[] {
  const members = new Set(events.map(({ coordinates }) => coordinates?.member_id));
  const waiting = [...members].map((id) => events.filter(({ coordinates }) => coordinates?.member_id === id));
  const out: ActivityEvent[] = [];
  for (let step = 0; waiting.some((each) => each.length > 0); step++) {
    const left = waiting.filter((each) => each.length > 0);
    const next = left[(choices[(step * 7) % choices.length] ?? 0) % left.length]?.shift();
    if (next !== undefined) out.push(next);
  }
  return out;
}

/** Members by id: the order in which they were first heard of is no matter of content. */
function content({ members, ...board }: Board): unknown {
  return { ...board, members: members.toSorted((a, b) => (a.member_id < b.member_id ? -1 : 1)) };
}

const turnsOf = (board: Board): readonly BoardTurn[] => board.members.flatMap(({ turns }) => turns);

/** What one board claims of a turn is so on the board that saw everything. */
function expectTrue(claimed: BoardTurn, whole: BoardTurn): void {
  for (const field of ["tool_calls", "requests_asked"] as const) {
    const { count, certainty } = claimed[field];
    if (certainty === "exact") expect(claimed[field]).toEqual(whole[field]);
    else expect(count).toBeLessThanOrEqual(whole[field].count);
  }
  for (const field of ["streamed", "reasoning"] as const) {
    const { lacks_start, lacks_end, text } = claimed[field];
    if (!lacks_start && !lacks_end) expect(claimed[field]).toEqual(whole[field]);
    else expect(whole[field].text).toContain(text);
  }
  if (claimed.status !== "unknown") expect([claimed.status, claimed.answer]).toEqual([whole.status, whole.answer]);
  expect([claimed.n, claimed.execution_generation]).toEqual([whole.n, whole.execution_generation]);
  for (const card of claimed.tools) {
    const same = whole.tools.find(({ tool_id }) => tool_id === card.tool_id);
    if (card.state !== "lost") expect([card.state, card.outcome]).toEqual([same?.state, same?.outcome]);
    else expect(card.outcome).toBeNull();
  }
  for (const card of claimed.requests) {
    const same = whole.requests.find(({ id }) => id === card.id);
    if (card.state !== "lost") expect([card.state, card.outcome]).toEqual([same?.state, same?.outcome]);
  }
}

describe("a board", () => {
  it("is the same however deltas were merged and members interleaved", () => {
    fc.assert(
      fc.property(scripts, handlings, (room, plan) => {
        const { events } = new CrewModel(room);
        const merged = delivered(
          events,
          plan.map((each) => (each === "drop" ? "merge" : each)),
        );
        expect(content(boardOf(reordered(merged, room.choices)))).toEqual(content(boardOf(events)));
      }),
    );
  });

  it("claims nothing that is not so, whatever was lost", () => {
    fc.assert(
      fc.property(scripts, handlings, (room, plan) => {
        const { events } = new CrewModel(room);
        const whole = new Map(turnsOf(boardOf(events)).map((turn) => [turn.task_id, turn]));
        const seen = turnsOf(boardOf(delivered(events, plan)));
        expect(seen.map(({ task_id }) => task_id).toSorted()).toEqual([...whole.keys()].toSorted());
        for (const turn of seen) expectTrue(turn, whole.get(turn.task_id) ?? turn);
      }),
    );
  });

  it("built late is the one built from the beginning, but for what is unseen", () => {
    fc.assert(
      fc.property(scripts, handlings, fc.nat(), fc.nat(), (room, plan, instant, lag) => {
        const model = new CrewModel(room);
        const at = instant % (model.events.length + 1);
        const from = Math.max(0, at - (lag % 12));
        const given = model.seedAt(at);
        const start = seed(emptyBoard("r1"), given, { rows: model.rows });
        const merged = delivered(
          model.events.slice(from),
          plan.map((each) => (each === "drop" ? "pass" : each)),
        );
        const [late, live] = [boardOf(merged, start), boardOf(model.events)];
        const whole = new Map(turnsOf(live).map((turn) => [turn.task_id, turn]));
        expect(
          turnsOf(late)
            .map(({ task_id }) => task_id)
            .toSorted(),
        ).toEqual([...whole.keys()].toSorted());
        const began = new Set(
          model.events
            .slice(at)
            .flatMap(({ kind, coordinates }) => (kind === "turn.started" ? [coordinates?.task_id] : [])),
        );
        for (const turn of turnsOf(late)) {
          const same = whole.get(turn.task_id) ?? turn;
          if (began.has(turn.task_id)) expect({ ...turn, earlier: [] }).toEqual({ ...same, earlier: [] });
          else if (turn.is_closed) expectTrue(turn, same);
          else expect([turn.status, turn.answer, turn.activity_count]).toEqual([same.status, same.answer, same.n]);
        }
        const states = ({ members }: Board) =>
          members.map(({ member_id, state, last, tool, turn_id }) => ({ member_id, state, last, tool, turn_id }));
        expect(states(late)).toEqual(
          states({
            ...live,
            members: late.members
              .map(({ member_id }) => live.members.find((each) => each.member_id === member_id))
              .flatMap((each) => each ?? []),
          }),
        );
      }),
    );
  });

  it("shows at an instant what one that was seeded then shows", () => {
    fc.assert(
      fc.property(scripts, fc.nat(), (room, instant) => {
        const model = new CrewModel(room);
        const at = instant % (model.events.length + 1);
        const late = seed(emptyBoard("r1"), model.seedAt(at), { rows: model.rows });
        const live = boardOf(model.events.slice(0, at));
        for (const member of live.members) {
          const same = late.members.find(({ member_id }) => member_id === member.member_id);
          const { state, turn_id, tool, last } = member;
          expect(same).toMatchObject({ state, turn_id, tool, last });
          const [open, seeded] = [member.turns, same?.turns ?? []].map((turns) =>
            turns.find(({ status }) => status === "running"),
          );
          expect(seeded?.streamed).toEqual(open?.streamed);
          const openRequests = (turn?: BoardTurn) =>
            turn?.requests.filter((each) => each.state === "open").map(({ id, choices }) => ({ id, choices }));
          expect(openRequests(seeded)).toEqual(openRequests(open));
          const running = (turn?: BoardTurn) =>
            turn?.tools.filter((each) => each.state === "running").map((each) => each.tool_id);
          expect(running(seeded)).toEqual(running(open));
        }
      }),
    );
  });

  it("takes no event twice: the second one gives the same board", () => {
    fc.assert(
      fc.property(scripts, handlings, (room, plan) => {
        let board = emptyBoard("r1");
        const past: ActivityEvent[] = [];
        for (const [index, event] of delivered(new CrewModel(room).events, plan).entries()) {
          board = reduceEvent(board, event);
          past.push(event);
          expect(reduceEvent(board, event)).toBe(board);
          const again = past[(index * 13) % past.length];
          // A gap has no number of its own, so that of a turn that is kept no more begins one.
          const isKept = turnsOf(board).some(({ task_id }) => task_id === again?.coordinates?.task_id);
          if (isKept || again?.kind !== "gap") expect(reduceEvent(board, again)).toBe(board);
        }
      }),
    );
  });

  it("is not changed by what is no event, and nothing is thrown", () => {
    const thrower = {
      get v(): never {
        throw new Error("mine");
      },
    };
    const endless: Record<string, unknown> = {};
    endless["self"] = endless;
    fc.assert(
      fc.property(
        scripts,
        fc.nat(),
        fc.anything(),
        fc.constantFrom("n", "kind", "payload", "coordinates", "v", "at"),
        (room, which, junk, field) => {
          const { events } = new CrewModel(room);
          const board = boardOf(events.slice(0, 5));
          expect(reduceEvent(board, junk)).toBe(board);
          const next = events[5 + (which % Math.max(1, events.length - 5))];
          if (next === undefined) return;
          expect(() => JSON.stringify(reduceEvent(board, { ...next, [field]: junk }))).not.toThrow();
        },
      ),
    );
    const board = boardOf([]);
    for (const junk of [thrower, endless, null, 1n, Symbol("x")]) expect(reduceEvent(board, junk)).toBe(board);
  });
});
