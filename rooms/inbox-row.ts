import type { Author } from "../core/index.ts";

/** An accepted post whose turns have not all started, or that waits to be carried as context. */
export interface InboxRow {
  readonly room_id: string;
  /** Gapless per room, from 1, never used twice. */
  readonly number: number;
  readonly message_id: string;
  readonly thread_id: string;
  readonly author: Author;
  readonly origin: string | null;
  readonly text: string;
  readonly attachments: readonly string[];
  /** Members it addressed that have not started, in roster order. Empty and not carried: `closed`, it is context only. */
  readonly owed: readonly string[];
  /** Members that it named by handle. Empty when it addressed all by naming nobody, or by `@all`. */
  readonly named: readonly string[];
  /** The `turn.started` row that holds its text, once one does. */
  readonly row_seq: number | null;
  /** The log's head when it was accepted: what came later waited. */
  readonly after_seq: number;
  readonly accepted_at: number;
}

/** A checked post on its way to the inbox. */
export interface NewPost {
  readonly room_id: string;
  /** A digest: see ids. Without an event id of the caller, null: the log makes it from the post's number. */
  readonly message_id: string | null;
  readonly thread_id: string;
  readonly author: Author;
  readonly origin: string | null;
  readonly text: string;
  readonly attachments: readonly string[];
  readonly owed: readonly string[];
  readonly named: readonly string[];
}

/** What became of a post. A refusal stored nothing. */
export type AcceptResult =
  | { readonly status: "accepted"; readonly post: InboxRow }
  /** The same event id with the same content came before; nothing was stored. */
  | { readonly status: "duplicate"; readonly message_id: string }
  | {
      readonly status: "idempotency_conflict" | "inbox_full" | "room_full" | "room_disbanded" | "unknown_room";
      readonly message: string;
    };

/** A member was shown a post that stands in the inbox, by the first row of the same append. */
export interface InboxChange {
  readonly message_id: string;
  readonly member_id: string;
}

/** A retry that was asked for and has not started. */
export interface RetryRow {
  readonly room_id: string;
  readonly task_id: string;
  /** Of the last attempt; the retry is the next one. */
  readonly execution_generation: number;
  /** Of who asked; null when nobody is named. */
  readonly origin: string | null;
  /** `retry`: somebody asked. `auto_continue`: the runner said that it may run again after a crash. */
  readonly cause: "retry" | "auto_continue";
}

/** An attempt that is to begin by itself later, because its runner proved that nothing ran. */
export interface DueRow {
  readonly room_id: string;
  readonly task_id: string;
  /** Of the last attempt. */
  readonly execution_generation: number;
  /** Wall ms: it has to outlive a restart. */
  readonly due_at: number;
}
