import type { SqliteDatabase } from "./database.ts";

/** What one slice of a read takes at most: a millisecond or so. */
const sliceRows = 128;
const sliceBytes = 131_072;

/** A message as it is stored. */
export interface MessageRow {
  readonly position: number;
  /** Of `message`, in UTF-8. */
  readonly bytes: number;
  /** JSON. */
  readonly message: string;
}

/** Statements over the messages of sessions. Each is synchronous; the caller holds the transaction. */
export class SessionMessagesTable {
  readonly #insert;
  readonly #next;
  readonly #before;
  readonly #sizes;
  readonly #forget;

  constructor(database: SqliteDatabase) {
    this.#insert = database.prepare<[string, number, number, string]>(
      "INSERT INTO session_messages (session_id, position, bytes, message) VALUES (?, ?, ?, ?)",
    );
    this.#next = database
      .prepare<[string], number>("SELECT ifnull(max(position) + 1, 0) FROM session_messages WHERE session_id = ?")
      .pluck();
    this.#before = database.prepare<[string, number], MessageRow>(
      "SELECT position, bytes, message FROM session_messages WHERE session_id = ? AND position < ? ORDER BY position DESC",
    );
    this.#sizes = database.prepare<[string], Pick<MessageRow, "position" | "bytes">>(
      "SELECT position, bytes FROM session_messages WHERE session_id = ? ORDER BY position",
    );
    this.#forget = database.prepare<[string, number]>(
      "DELETE FROM session_messages WHERE session_id = ? AND position < ?",
    );
  }

  /** The position that the next message of the session gets. */
  next(sessionId: string): number {
    return this.#next.get(sessionId) ?? 0;
  }

  insert(sessionId: string, { position, bytes, message }: MessageRow): void {
    this.#insert.run(sessionId, position, bytes, message);
  }

  /** Rows before a position, the last first: at most `maxRows`, and as many as one slice holds, at least one if there is one. */
  slice(sessionId: string, before: number, maxRows: number): MessageRow[] {
    const rows: MessageRow[] = [];
    let bytes = 0;
    for (const row of this.#before.iterate(sessionId, before)) {
      rows.push(row);
      bytes += row.bytes;
      if (rows.length >= Math.min(maxRows, sliceRows) || bytes >= sliceBytes) break;
    }
    return rows;
  }

  /**
   * Forgets the oldest until at most `maxMessages` and `maxBytes` are left, but one.
   * @param bytes of all that are there
   * @returns bytes of those that are left
   */
  trim(sessionId: string, bytes: number, bounds: { readonly maxMessages: number; readonly maxBytes: number }): number {
    const last = this.next(sessionId) - 1;
    let [left, first] = [bytes, 0];
    for (const row of this.#sizes.iterate(sessionId)) {
      const fits = last - row.position < bounds.maxMessages && left <= bounds.maxBytes;
      first = row.position;
      if (fits || row.position === last) break;
      left -= row.bytes;
    }
    if (left < bytes) this.#forget.run(sessionId, first);
    return left;
  }
}
