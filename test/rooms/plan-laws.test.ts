import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { turnStatuses, type TurnStatus } from "../../core/index.ts";
import { emptyState, fold, planNext, type FoldState, type PlanSource } from "../../rooms/index.ts";
import { startedPayloadSchema } from "../../rooms/log-row.ts";
import { memberInputs, PlanRoom } from "../support/plan-room.ts";

const memberIds = ["m-a", "m-b", "m-c"] as const;
const threads = ["x", "y"] as const;
const answers = ["done", "ask @b", "@a and @c?", "@all: over", ""] as const;

/** What may happen to a room. */
type Event =
  | { readonly do: "post"; readonly text: string; readonly thread_id: string; readonly by: "person" | "agent" }
  | { readonly do: "settle"; readonly index: number; readonly status: TurnStatus; readonly text: string }
  | { readonly do: "turn"; readonly text: string }
  | { readonly do: "pause" | "resume" | "park" | "unpark"; readonly member: number }
  | { readonly do: "retry" | "due" | "later" | "withdraw"; readonly index: number }
  | { readonly do: "start" | "stop" };

const member = fc.nat(memberIds.length - 1);
const index = fc.nat(7);
const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("post" as const),
      text: fc.constantFrom("@a", "@b @c", "all", "@zz", "@user", "@c @a"),
      thread_id: fc.constantFrom(...threads),
      by: fc.constantFrom("person" as const, "person" as const, "agent" as const),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ do: "start" as const }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant("turn" as const), text: fc.constantFrom(...answers) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("settle" as const),
      index,
      status: fc.constantFrom(...turnStatuses, "completed", "completed", "completed"),
      text: fc.constantFrom(...answers),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("pause", "resume", "park", "unpark"), member }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("retry", "due", "later", "withdraw"), index }) },
  { weight: 1, arbitrary: fc.constant({ do: "stop" as const }) },
);
const events = fc.array(event, { minLength: 1, maxLength: 60, size: "max" });

/** Does what the driver would do, as far as it applies; else nothing. */
function apply(room: PlanRoom, happened: Event): void {
  const memberOf = (at: number): string => memberIds[at] ?? "m-a";
  switch (happened.do) {
    case "post": {
      const { text, thread_id, by } = happened;
      room.post(text, { thread_id, author: { kind: by, id: by } });
      return;
    }
    case "start":
      room.startAll();
      return;
    case "stop":
      room.stop();
      return;
    case "turn":
      for (const memberId of room.startAll()) room.settle(memberId, { text: happened.text });
      return;
    case "settle": {
      const { index: at, status, text } = happened;
      const memberId = room.open[at % room.open.length];
      if (memberId !== undefined) room.settle(memberId, { status, text: status === "passed" ? "" : text });
      return;
    }
    case "pause":
      room.pause(memberOf(happened.member));
      return;
    case "resume":
      room.resume(memberOf(happened.member));
      return;
    case "park":
      if (room.open.includes(memberOf(happened.member))) room.park(memberOf(happened.member));
      return;
    case "unpark":
      room.parked.clear();
      return;
    case "withdraw":
      room.withdraw(room.inbox[happened.index]?.message_id ?? "none");
      return;
    case "retry":
    case "due":
    case "later":
      again(room, happened.do, happened.index);
  }
}

function again(room: PlanRoom, how: "retry" | "due" | "later", at: number): void {
  const tasks = room.state.tasks.filter(
    ({ status }) => status !== null && status !== "completed" && status !== "passed",
  );
  const task = tasks.at(at % Math.max(tasks.length, 1));
  const row = task && room.log.rows[task.started_row - 1];
  if (row?.kind !== "turn.started") return;
  if (how === "retry") room.retry(row);
  else if (how === "due") room.due = { ...room.due, passed: [...new Set([...room.due.passed, row.task_id])] };
  else room.due = { ...room.due, waiting: [...new Set([...room.due.waiting, row.task_id])] };
}

function played(happened: readonly Event[]): PlanRoom {
  const room = new PlanRoom(memberInputs("a", "b", "c"), {});
  for (const one of happened) apply(room, one);
  return room;
}

/** Ends all that is open and lets everybody go on. */
function release(room: PlanRoom): void {
  for (const memberId of room.open) room.settle(memberId, { status: "passed" });
  room.resume(...memberIds);
}

/** The same values, read back from their JSON, the state folded on from a stored one at `cut`. */
function copyOf(room: PlanRoom, cut: number): PlanSource {
  const stored = JSON.parse(JSON.stringify(fold(emptyState("r1"), room.log.rows.slice(0, cut)))) as FoldState;
  const { parked, startedOf, state: _, ...plain } = room.source();
  const copy = JSON.parse(JSON.stringify(plain)) as typeof plain;
  return {
    ...copy,
    state: fold(stored, room.log.rows.slice(cut)),
    parked: new Set([...parked].reverse()),
    startedOf: new Map([...startedOf].reverse()),
  };
}

describe("whatever happened to a room", () => {
  it("R1 equal sources give equal plans, also after folding from a stored state", () => {
    fc.assert(
      fc.property(events, fc.nat(), (happened, cut) => {
        const room = played(happened);
        expect(planNext(copyOf(room, cut % (room.log.rows.length + 1)))).toEqual(room.plan());
      }),
    );
  });

  it("I3 no plan opens two turns of a member or runs two in a thread, and the row of every start folds", () => {
    fc.assert(
      fc.property(events, (happened) => {
        const room = new PlanRoom(memberInputs("a", "b", "c"), {});
        for (const one of happened) {
          apply(room, one);
          const { starts } = room.plan();
          const ids = starts.map(({ coordinates }) => coordinates.member_id);
          expect(new Set([...ids, ...room.open]).size).toBe(ids.length + room.open.length);
          const running = room.state.tasks.filter((task) => task.status === null && !room.parked.has(task.turn_id));
          const places = [...starts.map(({ coordinates }) => coordinates), ...running].map(
            ({ thread_id }) => thread_id,
          );
          expect(
            starts.every(({ coordinates }) => places.filter((id) => id === coordinates.thread_id).length === 1),
          ).toBe(true);
          for (const { payload } of starts) startedPayloadSchema.parse(JSON.parse(JSON.stringify(payload)));
        }
        const turns = new Map<string, string>();
        for (const { turn_id, task_id } of room.log.rows) {
          expect(turns.get(turn_id) ?? task_id).toBe(task_id);
          turns.set(turn_id, task_id);
        }
      }),
    );
  });

  it("the plan tells of every thread, and which of them wait for a place", () => {
    fc.assert(
      fc.property(events, (happened) => {
        const room = played(happened);
        const { starts, threads: told } = room.plan();
        const known = [...room.state.threads, ...room.inbox].map(({ thread_id }) => thread_id);
        expect(told.map(({ thread_id }) => thread_id)).toEqual([...new Set(known)].sort());
        const waiting = told.flatMap(({ thread_id, reason }) => (reason === "slot" ? thread_id : []));
        expect(starts.map(({ coordinates }) => coordinates.thread_id).sort()).toEqual(waiting);
      }),
    );
  });

  it("R43 the room accepts the next post and answers it", () => {
    fc.assert(
      fc.property(events, fc.constantFrom(...threads), (happened, thread_id) => {
        const room = played(happened);
        release(room);
        room.run(() => "");
        const post = room.post("@b and now", { thread_id });
        expect(room.run(() => "")[0]).toBe("m-b");
        const row = room.log.rows.findLast((candidate) => candidate.kind === "turn.started");
        expect(row?.payload.input).toContainEqual(expect.objectContaining({ message_id: post, text: "@b and now" }));
        expect(room.inbox.every(({ owed }) => owed.length === 0)).toBe(true);
      }),
    );
  });

  it("I12 every member that a post addressed is shown it, unless it was stopped or withdrawn", () => {
    const kept = fc.array(
      event.filter((one) => one.do !== "stop" && one.do !== "withdraw"),
      { maxLength: 60, size: "max" },
    );
    fc.assert(
      fc.property(kept, (happened) => {
        const room = played(happened);
        const waiting = room.inbox.map((post) => [post.message_id, post.owed] as const);
        release(room);
        room.run(() => "");
        expect(room.inbox.every(({ owed }) => owed.length === 0)).toBe(true);
        for (const [message_id, owed] of waiting) {
          const shown = room.log.rows.flatMap((row) =>
            row.kind === "turn.started" && JSON.stringify(row.payload.input).includes(message_id) ? row.member_id : [],
          );
          for (const memberId of owed) expect(shown).toContain(memberId);
        }
      }),
    );
  });

  it("members that always answer come to an end within the bounds", () => {
    const policy = fc.record({
      maxRounds: fc.integer({ min: 1, max: 4 }),
      maxMemberMessages: fc.integer({ min: 1, max: 12 }),
      maxOwedPasses: fc.nat(3),
    });
    const lines = fc.array(fc.constantFrom(...answers), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(policy, lines, fc.constantFrom("@a", "@a @b", "all"), (given, texts, post) => {
        const room = new PlanRoom(memberInputs("a", "b", "c"), given);
        room.post(post);
        let turn = 0;
        const ran = room.run(() => texts[turn++ % texts.length] ?? "");
        expect(ran.length).toBeLessThanOrEqual(3 * (given.maxRounds + given.maxOwedPasses));
        const completed = room.state.threads[0]?.discussion.completed ?? 0;
        expect(completed).toBeLessThanOrEqual(Math.max(given.maxMemberMessages, 3));
        expect(["settled", "bounded"]).toContain(room.thread()?.status);
      }),
    );
  });
});
