import type { TurnSettled } from "./activity.ts";
import type { JsonObject } from "./frames.ts";
import { limits } from "./options.ts";
import { isHidden } from "./prompt.ts";
import type {
  MessageKey,
  QueuedPrompt,
  SessionRecord,
  StoredMessage,
  UnfinishedTurn,
  Visibility,
} from "./session-store.ts";
import { cutUnits, cutUtf8 } from "./utf8.ts";

/** What a session is made with. */
export interface NewSession {
  readonly agent_id: string;
  readonly owner: SessionRecord["owner"];
  readonly title?: string | null | undefined;
  /** Default `private`. */
  readonly visibility?: Visibility | undefined;
  readonly close_on_disconnect?: boolean | undefined;
  readonly cwd?: string | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
}

/** The row of a session in which nothing has happened. @param now wall ms */
export function newRecord(sessionId: string, given: NewSession, now: number): SessionRecord {
  const { agent_id, owner, title = null, visibility = "private", close_on_disconnect = false } = given;
  const { cwd, model, provider } = given;
  return {
    v: 1,
    session_id: sessionId,
    agent_id,
    title,
    owner,
    visibility,
    close_on_disconnect,
    ...(cwd === undefined ? {} : { cwd }),
    ...(model === undefined ? {} : { model }),
    ...(provider === undefined ? {} : { provider }),
    created_at: now,
    last_activity: now,
    queue: [],
    message_keys: [],
    unfinished: null,
    last_turn: null,
    message_count: 0,
    preview: "",
  };
}

/** The row once a turn is claimed. @param shown the prompt's text as people may see it */
export function withStart(record: SessionRecord, unfinished: UnfinishedTurn, shown: string): SessionRecord {
  const isFirst = record.preview === "" && !isHidden(unfinished.prompt);
  const preview = isFirst ? cutUnits(shown, limits.maxPreviewUnits) : record.preview;
  return { ...record, unfinished, preview };
}

/** The row once its turn has ended. */
export function withEnd(
  record: SessionRecord,
  turn_id: string,
  { status, reason_code }: Pick<TurnSettled, "status" | "reason_code">,
): SessionRecord {
  return { ...record, unfinished: null, last_turn: { turn_id, status, reason_code } };
}

/** The row with an idempotency key; the last 256 are kept. Without a key it is the same. */
export function withKey(record: SessionRecord, key: MessageKey | null): SessionRecord {
  if (key === null) return record;
  return { ...record, message_keys: [...record.message_keys, key].slice(-limits.maxMessageKeys) };
}

/** A prompt as the transcript has it. @param clean gives a payload as it may leave */
export function promptMessage(
  prompt: QueuedPrompt,
  timestamp: number,
  clean: (payload: JsonObject) => JsonObject,
): StoredMessage {
  const { text, display_kind, attachments } = prompt;
  const shown = clean({ text, ...(attachments === undefined ? {} : { attachments }) });
  return {
    role: "user",
    text: String(shown["text"]),
    timestamp,
    ...(display_kind === undefined ? {} : { display_kind }),
    ...(Array.isArray(shown["attachments"]) ? { attachments: shown["attachments"] } : {}),
  };
}

/** An answer as the transcript has it, a partial one as well; none when nothing was said. */
export function answerMessages(text: string, reasoning: string, timestamp: number): readonly StoredMessage[] {
  if (text === "") return [];
  const thoughts = cutUtf8(reasoning, limits.maxReasoningBytes);
  return [{ role: "assistant", text, timestamp, ...(thoughts === "" ? {} : { reasoning: thoughts }) }];
}
