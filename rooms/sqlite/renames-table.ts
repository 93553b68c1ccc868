import { limits } from "../../core/index.ts";
import type { SqliteDatabase } from "./database.ts";

/** The first answer to a rename: the room had this name and this revision then. */
export interface RenameAnswer {
  readonly name: string;
  readonly revision: number;
}

/** Statements over the answers to renames. Each is synchronous; the caller holds the transaction. */
export class RenamesTable {
  readonly #answer;
  readonly #insert;
  readonly #expire;
  readonly #trim;

  constructor(database: SqliteDatabase) {
    this.#answer = database.prepare<[string, string], RenameAnswer>(
      "SELECT name, revision FROM renames WHERE room_id = ? AND event_id = ?",
    );
    this.#insert = database.prepare<[string, string, string, number, number]>(
      "INSERT INTO renames (room_id, event_id, name, revision, renamed_at) VALUES (?, ?, ?, ?, ?)",
    );
    this.#expire = database.prepare<[string, number]>("DELETE FROM renames WHERE room_id = ? AND renamed_at < ?");
    this.#trim = database.prepare<[{ room_id: string; kept: number }]>(
      "DELETE FROM renames WHERE room_id = @room_id AND number IN (" +
        "SELECT number FROM renames WHERE room_id = @room_id ORDER BY number DESC LIMIT -1 OFFSET @kept)",
    );
  }

  answer(roomId: string, eventId: string): RenameAnswer | undefined {
    return this.#answer.get(roomId, eventId);
  }

  /** Keeps as many as there may be receipts, none older than they may be. */
  insert(
    roomId: string,
    { event_id, name, revision, renamed_at }: RenameAnswer & { readonly event_id: string; readonly renamed_at: number },
  ): void {
    this.#insert.run(roomId, event_id, name, revision, renamed_at);
    this.#expire.run(roomId, renamed_at - limits.receiptMs);
    this.#trim.run({ room_id: roomId, kept: limits.maxReceiptsPerRoom });
  }
}
