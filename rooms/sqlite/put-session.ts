import { cutPayload, limits, RoomtapError, type SessionRecord, type StoredMessage } from "../../core/index.ts";
import { toSnapshot } from "../stored-session.ts";
import type { MessageRow } from "./session-messages-table.ts";
import type { SessionRow } from "./sessions-table.ts";
import type { Tables } from "./tables.ts";

/** What ordinary sessions may take. */
export interface SessionQuota {
  /** A new one beyond it is refused. Default 65,536. */
  readonly maxStoredSessions: number;
  /** Of one transcript; its oldest messages are forgotten. Default 100,000. */
  readonly maxSessionMessages: number;
  /** As JSON; the same happens. Default 256 MiB. */
  readonly maxTranscriptBytes: number;
}

export const defaultSessionQuota: SessionQuota = {
  maxStoredSessions: limits.maxStoredSessions,
  maxSessionMessages: limits.maxSessionMessages,
  maxTranscriptBytes: limits.maxTranscriptBytes,
};

/** A put with all its texts, which do not change any more. */
export interface PreparedSession {
  readonly row: SessionRow;
  readonly appended: readonly Omit<MessageRow, "position">[];
}

/** Takes the record and the messages as they are now. */
export function prepareSession(record: SessionRecord, appended: readonly StoredMessage[]): PreparedSession {
  const { queue, message_keys, unfinished, ...summary } = toSnapshot(record);
  return {
    row: {
      session_id: record.session_id,
      principal: record.owner.principal,
      title: record.title,
      last_activity: Math.trunc(record.last_activity),
      summary: JSON.stringify(summary),
      work: JSON.stringify({ queue, message_keys, unfinished }),
    },
    appended: appended.map(prepareMessage),
  };
}

// JSON may write one character as six: at an eighth of the bound a text surely fits.
const cuts = [1, 1 / 2, 1 / 4, 1 / 8];

function prepareMessage(given: StoredMessage): Omit<MessageRow, "position"> {
  let message = JSON.stringify(given);
  for (const cut of cuts) {
    if (Buffer.byteLength(message) <= limits.maxMessageBytes) break;
    message = JSON.stringify(cutMessage(given, limits.maxMessageBytes * cut));
  }
  return { message, bytes: Buffer.byteLength(message) };
}

/** A field that does not fit at all is left out; what was cut is told in `truncated`. */
function cutMessage(message: StoredMessage, maxBytes: number): object {
  const { payload, truncated } = cutPayload({ ...message }, maxBytes);
  const kept = Object.entries(payload).filter(([, value]) => value !== null);
  return { ...Object.fromEntries(kept), truncated };
}

/**
 * Carries out one put inside a transaction.
 * @throws RoomtapError `too_many_sessions` before the first write
 */
export function putSession(tables: Tables, { row, appended }: PreparedSession, quota: SessionQuota): void {
  const { sessions, sessionMessages: messages } = tables;
  const { session_id } = row;
  if (!sessions.isThere(session_id) && sessions.count() >= quota.maxStoredSessions) {
    throw new RoomtapError("too_many_sessions", `${quota.maxStoredSessions} sessions are stored, and no more can be`);
  }
  sessions.put(row);
  if (appended.length === 0) return;
  let position = messages.next(session_id);
  let bytes = sessions.messageBytes(session_id);
  for (const message of appended) {
    messages.insert(session_id, { ...message, position });
    position += 1;
    bytes += message.bytes;
  }
  const bounds = { maxMessages: quota.maxSessionMessages, maxBytes: quota.maxTranscriptBytes };
  sessions.setMessageBytes(session_id, messages.trim(session_id, bytes, bounds));
}
