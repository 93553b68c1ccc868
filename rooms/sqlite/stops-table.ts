import { limits } from "../../core/index.ts";
import type { SqliteDatabase } from "./database.ts";

/** The first answer to a stop. */
export interface StopAnswer {
  readonly post_number: number;
  readonly seq: number;
  readonly cancelled: number;
}

/** Statements over the answers to stops. Each is synchronous; the caller holds the transaction. */
export class StopsTable {
  readonly #answer;
  readonly #insert;
  readonly #trim;

  constructor(database: SqliteDatabase) {
    this.#answer = database.prepare<[string, string], StopAnswer>(
      "SELECT post_number, seq, cancelled FROM stops WHERE room_id = ? AND cancel_id = ?",
    );
    this.#insert = database.prepare<[string, string, number, number, number]>(
      "INSERT INTO stops (room_id, cancel_id, post_number, seq, cancelled) VALUES (?, ?, ?, ?, ?)",
    );
    this.#trim = database.prepare<[{ room_id: string; kept: number }]>(
      "DELETE FROM stops WHERE room_id = @room_id AND number IN (" +
        "SELECT number FROM stops WHERE room_id = @room_id ORDER BY number DESC LIMIT -1 OFFSET @kept)",
    );
  }

  answer(roomId: string, cancelId: string): StopAnswer | undefined {
    return this.#answer.get(roomId, cancelId);
  }

  /** Keeps the last `maxKeptStops`. */
  insert(roomId: string, cancelId: string, { post_number, seq, cancelled }: StopAnswer): void {
    this.#insert.run(roomId, cancelId, post_number, seq, cancelled);
    this.#trim.run({ room_id: roomId, kept: limits.maxKeptStops });
  }
}
