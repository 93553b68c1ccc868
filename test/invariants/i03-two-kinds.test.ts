import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rowKinds } from "../../rooms/index.ts";
import { roomOf, TestHost } from "../support/open-room.ts";
import { conduct, randomRunner } from "../support/random-runner.ts";

describe("I3 two kinds of row", () => {
  it("I3 are all there are", () => {
    expect(rowKinds).toEqual(["turn.started", "turn.settled"]);
  });

  it("I3 each attempt has one of each, and is told so, whatever its runner does", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(conduct, { minLength: 1, maxLength: 6 }),
        fc.array(fc.constantFrom("@a hi", "@b hi", "hi"), { minLength: 1, maxLength: 5 }),
        fc.nat(200),
        async (conducts, posts, closeAfterMs) => {
          const runner = randomRunner(conducts);
          const rooms = ["r1", "r2"].map((roomId) => roomOf(runner, ["a", "b"], roomId));
          const test = await TestHost.open({ rooms, maxConcurrentTurns: 2 });
          for (const [index, text] of posts.entries()) {
            await test.host.rooms[index % 2]?.post({ text, thread_id: `t${index % 3}` });
          }
          await test.pass(closeAfterMs);
          const closing = test.host.close(50);
          await test.pass(100);
          await closing;
          await test.delivered();
          for (const roomId of ["r1", "r2"]) expect(await unpaired(test, roomId)).toEqual([]);
          checkEvents(test);
          await test.close();
        },
      ),
      { numRuns: 100 },
    );
  });
});

/** Attempts of a room that have not exactly one start, and behind it one settle; at most one of a member is open at a time. */
async function unpaired(test: TestHost, roomId: string): Promise<readonly string[]> {
  const open = new Map<string, string>();
  const settled = new Set<string>();
  const wrong: string[] = [];
  for (const { kind, task_id, execution_generation, member_id, seq } of await test.rows(roomId)) {
    const attempt = `${task_id} ${execution_generation}`;
    if (kind === "turn.started") {
      if (open.has(member_id) || settled.has(attempt)) wrong.push(`row ${seq}: a start of ${attempt}`);
      open.set(member_id, attempt);
    } else {
      if (open.get(member_id) !== attempt) wrong.push(`row ${seq}: a settle of ${attempt}`);
      open.delete(member_id);
      settled.add(attempt);
    }
  }
  return [...wrong, ...open.values()];
}

function checkEvents(test: TestHost): void {
  for (const events of attemptsOf(test).values()) {
    expect(events.map(({ n }) => n)).toEqual(events.map((_, index) => index + 1));
    expect(events.filter(({ kind }) => kind === "turn.started")).toEqual([events[0]]);
    expect(events.filter(({ kind }) => kind === "turn.settled")).toEqual([events.at(-1)]);
    expect(events.at(-1)?.payload).toMatchObject({ activity_count: events.length });
    const count = (kind: string): number => events.filter((event) => event.kind === kind).length;
    expect(count("tool.completed")).toBe(count("tool.started"));
    expect(count("request.resolved")).toBe(count("request.opened"));
  }
}

/** Events by attempt: all of one bear the same object. */
function attemptsOf(test: TestHost): ReadonlyMap<unknown, TestHost["events"]> {
  const found = new Map<unknown, TestHost["events"]>();
  for (const event of test.events) {
    const events = found.get(event.coordinates) ?? [];
    found.set(event.coordinates, [...events, event]);
  }
  return found;
}
