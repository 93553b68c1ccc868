import { expect } from "vitest";
import { activityEventSchema, type ActivityEvent } from "../../core/index.ts";

/** Checks what every whole stream of events keeps to: coordinates, numbers without holes, tools that end. */
export function checkEvents(events: readonly ActivityEvent[]): void {
  const attempts = new Map<string, ActivityEvent[]>();
  for (const event of events) {
    const key = JSON.stringify(event.coordinates);
    attempts.set(key, [...(attempts.get(key) ?? []), event]);
  }
  for (const event of events) expect(activityEventSchema.parse(event).coordinates).not.toBeNull();
  for (const [coordinates, own] of attempts) {
    expect(Object.keys(JSON.parse(coordinates) as object)).toEqual([
      "room_id",
      "thread_id",
      "member_id",
      "turn_id",
      "task_id",
      "execution_generation",
    ]);
    checkAttempt(own);
  }
}

function checkAttempt(events: readonly ActivityEvent[]): void {
  const numbers = events.flatMap(({ n, n_from }) => {
    const last = n ?? 0;
    const first = n_from ?? last;
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
  expect(numbers).toEqual(Array.from(numbers, (_, index) => index + 1));
  const open = new Set<string>();
  for (const event of events) {
    if (event.kind === "tool.started") open.add(event.payload.tool_id);
    if (event.kind === "tool.completed") {
      expect(event.payload.outcome).toEqual(expect.any(String));
      expect(open.delete(event.payload.tool_id)).toBe(true);
    }
    if (event.kind === "turn.settled") expect([...open]).toEqual([]);
  }
  const end = events.at(-1);
  expect(end?.kind).toBe("turn.settled");
  expect(end?.payload).toMatchObject({ activity_count: numbers.at(-1) });
}
