import type { JsonObject } from "./frames.ts";
import type { ReasonCode, TruncatedField, TurnStatus } from "./activity.ts";

/** Whether others than its owner may attach to a session. */
export const visibilities = ["private", "shared", "read_only"] as const;
/** A word of `visibilities`. */
export type Visibility = (typeof visibilities)[number];

/** One entry of a session's transcript. Texts are stored as they left the seam: well formed and without secrets. */
export interface StoredMessage {
  readonly role: "user" | "assistant" | "system" | "tool";
  readonly text: string;
  /** Wall ms, for display. */
  readonly timestamp?: number | undefined;
  /** `hidden`: it is not shown to people. */
  readonly display_kind?: string | undefined;
  readonly name?: string | undefined;
  readonly context?: string | undefined;
  readonly args?: unknown;
  readonly reasoning?: string | undefined;
  readonly attachments?: readonly unknown[] | undefined;
  /** Set by the store on a message above 2 MiB of JSON: fields of which it keeps the beginning. */
  readonly truncated?: readonly TruncatedField[] | undefined;
}

/** A prompt's own id, and the word by which its sender knows it. */
export interface InputRef {
  readonly id: string;
  readonly ref?: string | undefined;
}

/** A prompt that was accepted and waits for the turn before it to end. */
export interface QueuedPrompt {
  /** Of the first prompt in it, and of those that were merged into it. */
  readonly inputs: readonly InputRef[];
  /** The connection that queued it: its turn runs under this id, whether it is connected then or not. */
  readonly origin: string | null;
  readonly text: string;
  /** The text as parts, where it was given so. */
  readonly parts?: readonly JsonObject[] | undefined;
  readonly attachments?: readonly unknown[] | undefined;
  readonly display_kind?: string | undefined;
}

/** A turn that was claimed and has not ended: after a crash it tells what may have run. */
export interface UnfinishedTurn {
  readonly turn_id: string;
  readonly prompt: QueuedPrompt;
  /** How often its prompt was begun; absent: once. */
  readonly attempts?: number | undefined;
}

/** An idempotency key and what its first call was answered. */
export interface MessageKey {
  readonly message_id: string;
  /** SHA-256 of the content, in hex. */
  readonly digest: string;
  readonly result: JsonObject;
}

/** All of an ordinary session but its messages. One row, replaced as a whole. */
export interface SessionRecord {
  readonly v: 1;
  readonly session_id: string;
  readonly agent_id: string;
  readonly title: string | null;
  readonly owner: { readonly client_id: string | null; readonly principal: string };
  readonly visibility: Visibility;
  readonly close_on_disconnect: boolean;
  readonly cwd?: string | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  /** Wall ms. */
  readonly created_at: number;
  /** Wall ms. */
  readonly last_activity: number;
  /** Oldest first; at most 32. */
  readonly queue: readonly QueuedPrompt[];
  /** Oldest first; at most 256. */
  readonly message_keys: readonly MessageKey[];
  readonly unfinished: UnfinishedTurn | null;
  readonly last_turn: {
    readonly turn_id: string;
    readonly status: TurnStatus;
    readonly reason_code: ReasonCode | null;
  } | null;
  readonly message_count: number;
  /** The beginning of its first prompt that people see; "" before there is one. */
  readonly preview: string;
}

/** What lists show of a session: a page of them costs the same however much waits in their queues. */
export type SessionSummary = Omit<SessionRecord, "queue" | "message_keys" | "unfinished">;

/** Some of the stored sessions. */
export interface SessionsOf {
  /** All of this principal. */
  readonly principal: string;
  /** And these of others, by stored id. */
  readonly others: readonly string[];
}

/** What `approve: always` leaves behind: from then on the agent's equal calls are approved. */
export interface ApprovalRule {
  readonly agent_id: string;
  readonly tool_name: string;
  readonly command: string;
}

/**
 * Where ordinary sessions are kept. What a promise says is durable when it resolves; faults are `log_busy`, `log_full`,
 * `log_read_only`, `log_corrupt`, `log_unavailable`, `closed`. Reads give way to the event loop between their pieces.
 */
export interface SessionStore {
  /**
   * Replaces the session's row and appends messages to its transcript, together or not at all. Both are taken as they are
   * at the call. Of a transcript the last 100,000 messages and 256 MiB are kept.
   * @throws RoomtapError `too_many_sessions` for a new one beyond 65,536
   */
  put(record: SessionRecord, appended?: readonly StoredMessage[]): Promise<void>;
  /**
   * One whose visibility is missing or none of the three loads as private; the latter is reported, once.
   * @throws RoomtapError `log_corrupt` when the rest of it cannot be read
   */
  session(sessionId: string): Promise<SessionRecord | undefined>;
  /** The session of exactly this title that was active last, of one principal. */
  titled(title: string, principal: string): Promise<SessionRecord | undefined>;
  /**
   * Sessions by last activity, the latest first; the order is that of one instant. A damaged one is left out, so a page may
   * be shorter than `limit` and yet not the last.
   * @param page.limit brought into 1 .. 1,000
   * @param page.of only those; default all
   */
  list(page: {
    readonly limit: number;
    readonly offset: number;
    readonly of?: SessionsOf | undefined;
  }): Promise<{ readonly sessions: readonly SessionSummary[]; readonly next_offset: number | null }>;
  /**
   * The last messages before the given position, oldest first: at most `limit`, and at most `maxBytes` of JSON, but one.
   * Positions count from 0 and never change: `first`, that of the first message given, is how many stand or stood before it.
   * @param page.before default behind the last
   */
  messages(
    sessionId: string,
    page: { readonly before?: number | undefined; readonly limit: number; readonly maxBytes: number },
  ): Promise<{ readonly messages: readonly StoredMessage[]; readonly first: number }>;
  /** Rules of an agent, oldest first; the last 1,024 are kept. */
  rules(agentId: string): Promise<readonly ApprovalRule[]>;
  /** One that is there already becomes the newest. */
  putRule(rule: ApprovalRule): Promise<void>;
}
