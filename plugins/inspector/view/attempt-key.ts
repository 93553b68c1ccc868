import type { Coordinates } from "../../../core/index.ts";

/** Names one attempt at a task, for maps and lists. */
export function attemptKey({
  task_id,
  execution_generation,
}: Pick<Coordinates, "task_id" | "execution_generation">): string {
  return `${task_id}#${execution_generation}`;
}
