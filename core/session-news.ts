import type { TurnSettled, Usage } from "./activity.ts";
import type { JsonObject } from "./frames.ts";
import type { SessionJournal } from "./session-journal.ts";
import type { Session } from "./sessions.ts";
import type { Tap } from "./tap.ts";

/** What is told of a session beside the frames of its turns: its title, what waits, what it used. */
export class SessionNews {
  readonly #session: Session;
  readonly #journal: SessionJournal;
  readonly #tap: Tap;
  #usage: Usage | null = null;

  constructor(parts: { readonly session: Session; readonly journal: SessionJournal; readonly tap: Tap }) {
    this.#session = parts.session;
    this.#journal = parts.journal;
    this.#tap = parts.tap;
  }

  /** Figures of its turns since it was opened, added up; null when none reported any. */
  get usage(): Usage | null {
    return this.#usage;
  }

  /** The payload of `session.info`. */
  get info(): JsonObject {
    const { title, session_id, visibility, queue, agent_id, model, provider, cwd } = this.#journal.record;
    return {
      running: this.#session.running !== null,
      title,
      stored_session_id: session_id,
      visibility,
      queued: queue.length,
      agent_id,
      // They are stored as they were given, and shown with secrets masked: a reply does not leave by the seam.
      ...(model === undefined ? {} : { model: this.#tap.clean(model) }),
      ...(provider === undefined ? {} : { provider: this.#tap.clean(provider) }),
      ...(cwd === undefined ? {} : { cwd: this.#tap.clean(cwd) }),
      ...(this.#usage === null ? {} : { usage: this.#usage }),
    };
  }

  tellInfo(): void {
    this.#tell("session.info", this.info);
  }

  tellTitle(): void {
    const { session_id, title } = this.#journal.record;
    this.#tell("session.title", { session_id, title });
    this.tellInfo();
  }

  /** Adds what a turn used, and tells the sum. */
  addUsage({ usage }: TurnSettled): void {
    if (usage === null) return;
    const sum: Record<string, number> = { ...this.#usage };
    for (const [name, figure] of Object.entries(usage)) sum[name] = (sum[name] ?? 0) + figure;
    this.#usage = sum;
    this.#tell("session.usage", { usage: sum });
  }

  /** With the mark of the turn that runs; without one while none does. */
  #tell(type: string, payload: JsonObject): void {
    const params = { type, session_id: this.#session.runtimeId, payload };
    this.#tap.seam.writeJson({ jsonrpc: "2.0", method: "event", params });
  }
}
