import { z } from "zod";
import {
  limits,
  RoomtapError,
  type ApprovalRule,
  type Report,
  type SessionRecord,
  type SessionsOf,
  type SessionStore,
  type SessionSummary,
  type StoredMessage,
} from "../../core/index.ts";
import { fromSnapshot, messageSchema, summaryOf, type SessionReading } from "../stored-session.ts";
import type { SqliteDatabase } from "./database.ts";
import type { GroupCommit } from "./group-commit.ts";
import { prepareSession, putSession, type SessionQuota } from "./put-session.ts";
import { parseStored } from "./stored-json.ts";
import type { Tables } from "./tables.ts";

/** JSON of n messages in an array takes this, their own bytes, and a comma each. */
const emptyArrayBytes = 1;
const commaBytes = 1;

const anyObject = z.looseObject({});

/** Sessions of a list in one slice. */
const sliceSummaries = 64;

/** Sessions whose odd visibility was reported; of more, some are reported again. */
const maxTold = 1_024;

/** What a store works on; all of it belongs to the log of the same file. */
export interface SessionStoreParts {
  readonly database: SqliteDatabase;
  readonly tables: Tables;
  readonly commits: GroupCommit;
  readonly report: Report;
  readonly quota: SessionQuota;
}

/** A message that was read, and what its JSON takes. */
interface ReadMessage {
  readonly position: number;
  readonly bytes: number;
  readonly message: StoredMessage;
}

/**
 * Ordinary sessions in the database of a room log. Writes go into the commits of the log; reads are done in slices, one
 * in each turn of the event loop, however many there are. Like the log it keeps nothing in memory between calls.
 */
export class SqliteSessionStore implements SessionStore {
  readonly #database: SqliteDatabase;
  readonly #tables: Tables;
  readonly #commits: GroupCommit;
  readonly #report: Report;
  readonly #quota: SessionQuota;
  readonly #told = new Set<string>();

  constructor({ database, tables, commits, report, quota }: SessionStoreParts) {
    this.#tables = tables;
    this.#commits = commits;
    this.#database = database;
    this.#report = report;
    this.#quota = quota;
  }

  async put(record: SessionRecord, appended: readonly StoredMessage[] = []): Promise<void> {
    const prepared = prepareSession(record, appended);
    await this.#commits.run(() => putSession(this.#tables, prepared, this.#quota));
  }

  session(sessionId: string): Promise<SessionRecord | undefined> {
    return this.#read(() => this.#session(sessionId));
  }

  titled(title: string, principal: string): Promise<SessionRecord | undefined> {
    return this.#read(() => {
      const sessionId = this.#tables.sessions.titled(title, principal);
      return sessionId === undefined ? undefined : this.#session(sessionId);
    });
  }

  async list(page: {
    readonly limit: number;
    readonly offset: number;
    readonly of?: SessionsOf | undefined;
  }): Promise<{ sessions: SessionSummary[]; next_offset: number | null }> {
    const limit = Math.min(Math.max(page.limit, 1), limits.maxListedSessions);
    const ids = await this.#read(() => this.#tables.sessions.latest(limit + 1, page.offset, page.of));
    const listed = ids.slice(0, limit);
    const sessions: SessionSummary[] = [];
    for (let start = 0; start < listed.length; start += sliceSummaries) {
      const slice = listed.slice(start, start + sliceSummaries);
      sessions.push(...(await this.#read(() => slice.flatMap((id) => this.#summary(id) ?? []))));
    }
    return { sessions, next_offset: ids.length > limit ? page.offset + limit : null };
  }

  async messages(
    sessionId: string,
    page: { readonly before?: number | undefined; readonly limit: number; readonly maxBytes: number },
  ): Promise<{ messages: StoredMessage[]; first: number }> {
    const next = await this.#read(() => this.#tables.sessionMessages.next(sessionId));
    let first = Math.min(page.before ?? next, next);
    let bytes = emptyArrayBytes;
    const latest: StoredMessage[] = [];
    while (latest.length < page.limit && first > 0) {
      const before = first;
      const slice = await this.#read(() => this.#slice(sessionId, before, page.limit - latest.length));
      for (const read of slice) {
        bytes += read.bytes + commaBytes;
        if (bytes > page.maxBytes && latest.length > 0) return { messages: latest.reverse(), first };
        latest.push(read.message);
        first = read.position;
      }
      if (slice.length === 0) break;
    }
    return { messages: latest.reverse(), first };
  }

  async rules(agentId: string): Promise<readonly ApprovalRule[]> {
    const rules: ApprovalRule[] = [];
    for (let last: number | undefined = 0; last !== undefined;) {
      const after: number = last;
      const slice = await this.#read(() => this.#tables.approvalRules.slice(agentId, after));
      rules.push(...slice.map(({ agent_id, tool_name, command }) => ({ agent_id, tool_name, command })));
      last = slice.at(-1)?.number;
    }
    return rules;
  }

  async putRule(rule: ApprovalRule): Promise<void> {
    const taken = { ...rule };
    await this.#commits.run(() => this.#tables.approvalRules.put(taken, limits.maxRulesPerAgent));
  }

  /** One slice of a read, in a turn of the event loop of its own. */
  async #read<Result>(read: () => Result): Promise<Result> {
    await this.#database.turns.next();
    return this.#database.attempt(read);
  }

  #session(sessionId: string): SessionRecord | undefined {
    const texts = this.#tables.sessions.texts(sessionId);
    if (texts === undefined) return undefined;
    const what = `session ${sessionId}`;
    const snapshot = { ...parseObject(texts.summary, what), ...parseObject(texts.work, what) };
    return this.#recordOf(fromSnapshot(snapshot, what));
  }

  /** undefined also for one that cannot be read: `session` tells what is wrong with it. */
  #summary(sessionId: string): SessionSummary | undefined {
    const text = this.#tables.sessions.summary(sessionId);
    if (text === undefined) return undefined;
    try {
      const what = `session ${sessionId}`;
      return this.#recordOf(summaryOf(parseObject(text, what), what));
    } catch (fault) {
      if (fault instanceof RoomtapError && fault.code === "log_corrupt") return undefined;
      throw fault;
    }
  }

  /** Reports what is to be told, once for a session. */
  #recordOf<Kind extends SessionSummary>({ record, problem }: SessionReading<Kind>): Kind {
    const { session_id } = record;
    if (problem !== null && !this.#told.has(session_id)) {
      if (this.#told.size >= maxTold) this.#told.clear();
      this.#told.add(session_id);
      this.#report({ code: "unknown_visibility", message: problem, subject: session_id });
    }
    return record;
  }

  #slice(sessionId: string, before: number, maxRows: number): ReadMessage[] {
    const rows = this.#tables.sessionMessages.slice(sessionId, before, maxRows);
    return rows.map(({ position, bytes, message }, index) => {
      const what = `message ${position} of session ${sessionId}`;
      if (position !== before - 1 - index) {
        throw new RoomtapError("log_corrupt", `${what} is followed by one that is missing`);
      }
      return { position, bytes, message: parseStored(messageSchema, message, what) };
    });
  }
}

function parseObject(text: string, what: string): object {
  return parseStored(anyObject, text, what);
}
