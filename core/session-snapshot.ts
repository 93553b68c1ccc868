import type { JsonObject } from "./frames.ts";
import { isHidden } from "./prompt.ts";
import type { SessionRecord, StoredMessage, Visibility } from "./session-store.ts";
import type { TranscriptPage } from "./session-journal.ts";

/** What a session is doing. */
export type SessionStatus = "idle" | "starting" | "waiting" | "working" | "streaming" | "resuming";

/** What is said of a turn that runs. */
export interface TurnFacts {
  /** Wall ms. */
  readonly since: number;
  /** What began it, as people may see it; null when they may not, and when nobody typed it. */
  readonly user: string | null;
  /** What it has said so far. */
  readonly assistant: string;
  /** Whether a question of it waits for a person. */
  readonly waits: boolean;
  readonly hasOpenTool: boolean;
  /** Whether text or reasoning has left. */
  readonly streams: boolean;
  /** Whether it carries on what a dead host began. */
  readonly resumes: boolean;
  readonly corrections: readonly { readonly text: string; readonly offset: number }[];
}

/** What a snapshot is made of, all of one instant. */
export interface SnapshotSource {
  readonly runtimeId: string;
  readonly record: SessionRecord;
  readonly turn: TurnFacts | null;
  /** Messages that stand before those of the running turn. */
  readonly page: TranscriptPage;
  readonly info: JsonObject;
  readonly epoch: string;
  /** Number of the last frame. */
  readonly seq: number;
  /** Masks the secrets of a text that did not come through the seam. */
  readonly clean: (text: string) => string;
}

/** What a client is told of a session when it comes. What depends on the client is added by whoever tells it. */
export interface SessionSnapshot {
  readonly session_id: string;
  readonly stored_session_id: string;
  readonly session_key: string;
  readonly resumed: string;
  /** Messages before those of the running turn, those that were left out included. */
  readonly message_count: number;
  readonly messages: readonly JsonObject[];
  readonly messages_omitted: number;
  readonly info: JsonObject;
  readonly running: boolean;
  /** Wall ms. */
  readonly turn_started_at: number | null;
  /** Wall ms. */
  readonly started_at: number;
  readonly status: SessionStatus;
  readonly inflight: {
    readonly user: string;
    readonly assistant: string;
    readonly streaming: boolean;
    readonly corrections: readonly string[];
    readonly correction_offsets: readonly number[];
  } | null;
  /** What runs next. */
  readonly queued: { readonly user: string } | null;
  readonly queue: readonly { readonly input_id: string; readonly origin: string | null; readonly text: string }[];
  readonly last_turn: SessionRecord["last_turn"];
  readonly visibility: Visibility;
  readonly epoch: string;
  /** The snapshot covers the frames up to this number. */
  readonly latest_seq: number;
}

/** The snapshot of a session. Messages of the running turn stand in `inflight` alone, so that nobody shows them twice. */
export function snapshotOf(source: SnapshotSource): SessionSnapshot {
  const { runtimeId, record, turn, page, info, epoch, seq, clean } = source;
  const queue = record.queue.map((prompt) => ({
    input_id: prompt.inputs.at(-1)?.id ?? "",
    origin: prompt.origin,
    text: isHidden(prompt) ? "" : clean(prompt.text),
  }));
  const head = queue[0];
  return {
    session_id: runtimeId,
    stored_session_id: record.session_id,
    session_key: record.session_id,
    resumed: record.session_id,
    message_count: page.first + page.messages.length,
    messages: page.messages.map(shownMessage),
    messages_omitted: page.first,
    info,
    running: turn !== null,
    turn_started_at: turn?.since ?? null,
    started_at: record.created_at,
    status: statusOf(turn),
    inflight: turn === null ? null : inflightOf(turn, clean),
    queued: head === undefined ? null : { user: head.text },
    queue,
    last_turn: record.last_turn,
    visibility: record.visibility,
    epoch,
    latest_seq: seq,
  };
}

/** What a session is doing, from what is said of its turn. */
export function statusOf(turn: TurnFacts | null): SessionStatus {
  if (turn === null) return "idle";
  if (turn.waits) return "waiting";
  if (turn.hasOpenTool) return "working";
  if (turn.streams) return "streaming";
  return turn.resumes ? "resuming" : "starting";
}

/** A message as clients get it: of a hidden one that it stands there, without its words. */
export function shownMessage(message: StoredMessage): JsonObject {
  if (!isHidden(message)) return { ...message };
  const { role, timestamp, display_kind } = message;
  return { role, text: "", ...(timestamp === undefined ? {} : { timestamp }), display_kind };
}

function inflightOf(turn: TurnFacts, clean: (text: string) => string): SessionSnapshot["inflight"] {
  return {
    user: clean(turn.user ?? ""),
    assistant: turn.assistant,
    streaming: true,
    corrections: turn.corrections.map(({ text }) => clean(text)),
    correction_offsets: turn.corrections.map(({ offset }) => offset),
  };
}
