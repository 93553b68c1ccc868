import { limits } from "../../core/index.ts";
import type { DueRow, RetryRow } from "../inbox-row.ts";
import type { SqliteDatabase } from "./database.ts";

/** Statements over retries and due times. Each is synchronous; the caller holds the transaction. */
export class WaitingTable {
  readonly #retries;
  readonly #putRetry;
  readonly #takeRetry;
  readonly #clearRetries;
  readonly #due;
  readonly #putDue;
  readonly #trimDue;
  readonly #takeDue;
  readonly #clearDue;

  constructor(database: SqliteDatabase) {
    this.#retries = database.prepare<[string], RetryRow>(
      "SELECT room_id, task_id, execution_generation, origin, cause FROM retries WHERE room_id = ? ORDER BY number",
    );
    this.#putRetry = database.prepare<[RetryRow]>(
      "INSERT INTO retries (room_id, task_id, execution_generation, origin, cause)" +
        " VALUES (@room_id, @task_id, @execution_generation, @origin, @cause)" +
        " ON CONFLICT (room_id, task_id) DO UPDATE SET execution_generation = excluded.execution_generation," +
        " origin = excluded.origin, cause = excluded.cause" +
        " WHERE excluded.execution_generation > execution_generation",
    );
    this.#takeRetry = database.prepare<[string, string, number]>(
      "DELETE FROM retries WHERE room_id = ? AND task_id = ? AND execution_generation <= ?",
    );
    this.#clearRetries = database.prepare<[string]>("DELETE FROM retries WHERE room_id = ?");
    this.#due = database.prepare<[string], DueRow>(
      "SELECT room_id, task_id, execution_generation, due_at FROM due_times WHERE room_id = ? ORDER BY due_at, task_id",
    );
    this.#putDue = database.prepare<[DueRow]>(
      "INSERT OR REPLACE INTO due_times (room_id, task_id, execution_generation, due_at)" +
        " VALUES (@room_id, @task_id, @execution_generation, @due_at)",
    );
    this.#trimDue = database.prepare<[{ room_id: string; kept: number }]>(
      "DELETE FROM due_times WHERE room_id = @room_id AND task_id IN (" +
        "SELECT task_id FROM due_times WHERE room_id = @room_id ORDER BY due_at, task_id LIMIT -1 OFFSET @kept)",
    );
    this.#takeDue = database.prepare<[string, string]>("DELETE FROM due_times WHERE room_id = ? AND task_id = ?");
    this.#clearDue = database.prepare<[string]>("DELETE FROM due_times WHERE room_id = ?");
  }

  /** In the order in which they were asked for. */
  retries(roomId: string): RetryRow[] {
    return this.#retries.all(roomId);
  }

  /** One of an earlier attempt makes way. */
  putRetry({ room_id, task_id, execution_generation, origin, cause }: RetryRow): void {
    this.#putRetry.run({ room_id, task_id, execution_generation, origin, cause });
  }

  /** How many were there: 1 or 0. */
  takeRetry(roomId: string, taskId: string, generation: number): number {
    return this.#takeRetry.run(roomId, taskId, generation).changes;
  }

  /** By due time. */
  due(roomId: string): DueRow[] {
    return this.#due.all(roomId);
  }

  /** Keeps the `maxDueTimes` that are due first. */
  putDue(due: DueRow): void {
    this.#putDue.run(due);
    this.#trimDue.run({ room_id: due.room_id, kept: limits.maxDueTimes });
  }

  takeDue(roomId: string, taskId: string): void {
    this.#takeDue.run(roomId, taskId);
  }

  /** Forgets all of a room. How many retries there were. */
  clear(roomId: string): number {
    this.#clearDue.run(roomId);
    return this.#clearRetries.run(roomId).changes;
  }
}
