import {
  RoomtapError,
  type ApprovalRule,
  type ErrorCode,
  type SessionRecord,
  type SessionStore,
  type StoredMessage,
} from "../../core/index.ts";

/** A store of sessions in memory, as the contract has it: what is put is durable, and told to be so in a later turn. */
export class MemorySessions implements SessionStore {
  readonly #rows = new Map<string, string>();
  readonly #transcripts = new Map<string, string[]>();
  readonly #rules: ApprovalRule[] = [];
  readonly #held: (() => void)[] = [];
  /** While it is set every write is refused with this code. */
  refuses: ErrorCode | null = null;
  /** While it is true writes wait for `release`. */
  holds = false;
  /** Writes so far, refused ones not counted. */
  puts = 0;
  /** Reads of rows. */
  reads = 0;

  async put(record: SessionRecord, appended: readonly StoredMessage[] = []): Promise<void> {
    const row = JSON.stringify(record);
    const messages = appended.map((message) => JSON.stringify(message));
    if (this.holds) await new Promise<void>((go) => this.#held.push(go));
    await Promise.resolve();
    if (this.refuses !== null) throw new RoomtapError(this.refuses, "the store refuses");
    this.puts++;
    this.#rows.set(record.session_id, row);
    this.#transcripts.set(record.session_id, [...(this.#transcripts.get(record.session_id) ?? []), ...messages]);
  }

  /** Lets the writes that wait go on. */
  release(): void {
    this.holds = false;
    for (const go of this.#held.splice(0)) go();
  }

  async session(sessionId: string): Promise<SessionRecord | undefined> {
    this.reads++;
    await Promise.resolve();
    const row = this.#rows.get(sessionId);
    return row === undefined ? undefined : recordOf(row);
  }

  async titled(title: string, principal: string): Promise<SessionRecord | undefined> {
    return this.#byActivity().find((record) => record.title === title && record.owner.principal === principal);
  }

  async list({ limit, offset, of }: Parameters<SessionStore["list"]>[0]): Promise<{
    readonly sessions: readonly SessionRecord[];
    readonly next_offset: number | null;
  }> {
    const all = this.#byActivity().filter(
      ({ owner, session_id }) => of === undefined || owner.principal === of.principal || of.others.includes(session_id),
    );
    const next = offset + limit;
    return { sessions: all.slice(offset, next), next_offset: next < all.length ? next : null };
  }

  async messages(
    sessionId: string,
    page: { readonly before?: number | undefined; readonly limit: number; readonly maxBytes: number },
  ): Promise<{ readonly messages: readonly StoredMessage[]; readonly first: number }> {
    const all = this.#transcripts.get(sessionId) ?? [];
    const end = Math.min(page.before ?? all.length, all.length);
    let first = end;
    for (let bytes = 0; first > 0 && end - first < page.limit; first--) {
      bytes += all[first - 1]?.length ?? 0;
      if (bytes > page.maxBytes && first < end) break;
    }
    return { messages: all.slice(first, end).map(messageOf), first };
  }

  async rules(agentId: string): Promise<readonly ApprovalRule[]> {
    return this.#rules.filter(({ agent_id }) => agent_id === agentId);
  }

  async putRule(rule: ApprovalRule): Promise<void> {
    this.#rules.push(rule);
  }

  /** The transcript of a session as `role: text`. */
  transcript(sessionId: string): readonly string[] {
    return (this.#transcripts.get(sessionId) ?? []).map(messageOf).map(({ role, text }) => `${role}: ${text}`);
  }

  /** The stored row. */
  row(sessionId: string): SessionRecord {
    const row = this.#rows.get(sessionId);
    if (row === undefined) throw new RangeError(`no session ${sessionId}`);
    return recordOf(row);
  }

  #byActivity(): readonly SessionRecord[] {
    return [...this.#rows.values()].map(recordOf).toSorted((a, b) => b.last_activity - a.last_activity);
  }
}

function recordOf(row: string): SessionRecord {
  return JSON.parse(row) as SessionRecord;
}

function messageOf(row: string): StoredMessage {
  return JSON.parse(row) as StoredMessage;
}
