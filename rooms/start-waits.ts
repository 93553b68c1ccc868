import type { InboxRow } from "./inbox-row.ts";
import type { PlannedStart } from "./plan.ts";

interface Waiting {
  readonly owed: readonly string[];
  readonly tell: (starts: boolean) => void;
}

/** Those who want to know whether a turn for their post starts now. Each is told once, and never by a guess. */
export class StartWaits {
  /** By message id. */
  readonly #waiting = new Map<string, Waiting>();

  /** True when a turn of somebody whom the post addresses is durable; false when nothing is left to start before. */
  add({ message_id, owed }: Pick<InboxRow, "message_id" | "owed">): Promise<boolean> {
    if (owed.length === 0) return Promise.resolve(false);
    return new Promise((tell) => void this.#waiting.set(message_id, { owed, tell }));
  }

  /** A turn is durable: the posts that it answers start. */
  started({ inbox, coordinates }: Pick<PlannedStart, "inbox" | "coordinates">): void {
    for (const { message_id } of inbox) {
      if (this.#waiting.get(message_id)?.owed.includes(coordinates.member_id)) this.#tell(message_id, true);
    }
  }

  /** Nothing starts now. */
  none(): void {
    for (const messageId of [...this.#waiting.keys()]) this.#tell(messageId, false);
  }

  #tell(messageId: string, starts: boolean): void {
    const waiting = this.#waiting.get(messageId);
    this.#waiting.delete(messageId);
    waiting?.tell(starts);
  }
}
