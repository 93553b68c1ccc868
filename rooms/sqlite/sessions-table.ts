import type { SessionsOf } from "../../core/index.ts";
import type { SqliteDatabase } from "./database.ts";

/** A session as the table has it; times and texts as they are searched and ordered. */
export interface SessionRow {
  readonly session_id: string;
  readonly principal: string;
  readonly title: string | null;
  /** Whole ms. */
  readonly last_activity: number;
  /** JSON of what lists show. */
  readonly summary: string;
  /** JSON of the rest. */
  readonly work: string;
}

/** Statements over sessions. Each is synchronous; the caller holds the transaction. */
export class SessionsTable {
  readonly #put;
  readonly #isThere;
  readonly #count;
  readonly #texts;
  readonly #summary;
  readonly #titled;
  readonly #latest;
  readonly #latestOf;
  readonly #messageBytes;
  readonly #setMessageBytes;

  constructor(database: SqliteDatabase) {
    this.#put = database.prepare<[SessionRow]>(
      "INSERT INTO sessions (session_id, principal, title, last_activity, summary, work)" +
        " VALUES (@session_id, @principal, @title, @last_activity, @summary, @work)" +
        " ON CONFLICT (session_id) DO UPDATE SET principal = excluded.principal, title = excluded.title," +
        " last_activity = excluded.last_activity, summary = excluded.summary, work = excluded.work",
    );
    this.#isThere = database.prepare<[string], 1>("SELECT 1 FROM sessions WHERE session_id = ?").pluck();
    this.#count = database.prepare<[], number>("SELECT count(*) FROM sessions").pluck();
    this.#texts = database.prepare<[string], Pick<SessionRow, "summary" | "work">>(
      "SELECT summary, work FROM sessions WHERE session_id = ?",
    );
    this.#summary = database.prepare<[string], string>("SELECT summary FROM sessions WHERE session_id = ?").pluck();
    this.#titled = database
      .prepare<[string, string], string>(
        "SELECT session_id FROM sessions WHERE principal = ? AND title = ? ORDER BY last_activity DESC LIMIT 1",
      )
      .pluck();
    this.#latest = database
      .prepare<[number, number], string>(
        "SELECT session_id FROM sessions ORDER BY last_activity DESC, session_id DESC LIMIT ? OFFSET ?",
      )
      .pluck();
    this.#latestOf = database
      .prepare<[string, string, number, number], string>(
        "SELECT session_id FROM sessions WHERE principal = ? OR session_id IN (SELECT value FROM json_each(?))" +
          " ORDER BY last_activity DESC, session_id DESC LIMIT ? OFFSET ?",
      )
      .pluck();
    this.#messageBytes = database
      .prepare<[string], number>("SELECT message_bytes FROM sessions WHERE session_id = ?")
      .pluck();
    this.#setMessageBytes = database.prepare<[number, string]>(
      "UPDATE sessions SET message_bytes = ? WHERE session_id = ?",
    );
  }

  /** Replaces all of the row but how much its transcript takes. */
  put(row: SessionRow): void {
    this.#put.run(row);
  }

  isThere(sessionId: string): boolean {
    return this.#isThere.get(sessionId) === 1;
  }

  /** Counts them: only for what happens once per session. */
  count(): number {
    return this.#count.get() ?? 0;
  }

  texts(sessionId: string): Pick<SessionRow, "summary" | "work"> | undefined {
    return this.#texts.get(sessionId);
  }

  /** Reads no page of `work`. */
  summary(sessionId: string): string | undefined {
    return this.#summary.get(sessionId);
  }

  /** Id of the one of this title that was active last. */
  titled(title: string, principal: string): string | undefined {
    return this.#titled.get(principal, title);
  }

  /** Ids by last activity, the latest first; of all they are read from the index alone. */
  latest(limit: number, offset: number, of?: SessionsOf): string[] {
    if (of === undefined) return this.#latest.all(limit, offset);
    return this.#latestOf.all(of.principal, JSON.stringify(of.others), limit, offset);
  }

  /** JSON of its transcript, in bytes. */
  messageBytes(sessionId: string): number {
    return this.#messageBytes.get(sessionId) ?? 0;
  }

  setMessageBytes(sessionId: string, bytes: number): void {
    this.#setMessageBytes.run(bytes, sessionId);
  }
}
