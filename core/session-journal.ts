import type { Clock } from "./clock.ts";
import { limits } from "./options.ts";
import type { SessionRecord, SessionStore, StoredMessage } from "./session-store.ts";
import { Steps } from "./steps.ts";

/** Messages kept at hand: a turn is shown 24 before its own. */
export const tailLength = limits.maxTranscriptEntries + 1;

/** A part of a transcript. */
export interface TranscriptPage {
  /** Oldest first. */
  readonly messages: readonly StoredMessage[];
  /** How many stand before them. */
  readonly first: number;
}

/**
 * The stored side of a live session: its row as it is durable, and the end of its transcript. All that reads and writes
 * them together does so in a step.
 */
export class SessionJournal {
  readonly steps = new Steps();
  readonly #store: SessionStore;
  readonly #clock: Clock;
  #record: SessionRecord;
  #tail: readonly StoredMessage[];

  /** @param tail the last messages of the transcript, at least 25 where there are as many */
  constructor(parts: {
    readonly store: SessionStore;
    readonly clock: Clock;
    readonly record: SessionRecord;
    readonly tail: readonly StoredMessage[];
  }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#record = parts.record;
    this.#tail = parts.tail;
  }

  /** The row as it was stored last. */
  get record(): SessionRecord {
    return this.#record;
  }

  /** The last 25 messages, oldest first. */
  get tail(): readonly StoredMessage[] {
    return this.#tail;
  }

  /**
   * Inside a step: makes the row and the messages durable, then takes them as they are.
   * @throws RoomtapError what the store throws; nothing has changed then
   */
  async put(next: SessionRecord, appended: readonly StoredMessage[] = []): Promise<void> {
    const message_count = next.message_count + appended.length;
    const record = { ...next, message_count, last_activity: this.#clock.now() };
    await this.#store.put(record, appended);
    this.#record = record;
    this.#tail = [...this.#tail, ...appended].slice(-tailLength);
  }

  /** Inside a step: goes on with a row that cannot be stored. The next host finds what was stored before. */
  goOn(record: SessionRecord): void {
    this.#record = record;
  }

  /** Up to `limit` messages before the position `before`; at most `maxBytes` of JSON, but one. */
  page(page: {
    readonly before?: number | undefined;
    readonly limit: number;
    readonly maxBytes: number;
  }): Promise<TranscriptPage> {
    return this.#store.messages(this.#record.session_id, page);
  }
}
