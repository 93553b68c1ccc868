import type { Usage } from "./activity.ts";
import type { Agent } from "./agent.ts";
import type { BusyMode } from "./busy-mode.ts";
import { called, refuse, type Called, type Refused } from "./called.ts";
import type { Clock, IdSource } from "./clock.ts";
import type { Report } from "./errors.ts";
import type { JsonObject } from "./frames.ts";
import { limits } from "./options.ts";
import type { Prompt } from "./prompt.ts";
import type { Correction } from "./runner.ts";
import { SessionJournal, type TranscriptPage } from "./session-journal.ts";
import { SessionNews } from "./session-news.ts";
import { snapshotOf, statusOf, type SessionSnapshot, type SessionStatus } from "./session-snapshot.ts";
import type { SessionRecord, SessionStore, StoredMessage, Visibility } from "./session-store.ts";
import type { Session } from "./sessions.ts";
import {
  anybodyMay,
  Submissions,
  type CorrectionRefused,
  type CorrectionResult,
  type MaySend,
  type SubmitRefused,
  type SubmitResult,
} from "./submissions.ts";
import type { Tap } from "./tap.ts";
import { TurnLine } from "./turn-line.ts";
import type { HostTurn } from "./turn-source.ts";
import { cutUnits } from "./utf8.ts";

/** Why a session is closed. */
export type SessionEnd = "closed" | "owner_left" | "idle_timeout" | "lru_evict" | "ws_orphan_reap" | "shutdown";

/** What a live session is made of. */
export interface LiveSessionParts {
  readonly session: Session;
  readonly record: SessionRecord;
  /** The end of its transcript, oldest first. */
  readonly tail: readonly StoredMessage[];
  readonly agent: Agent;
  readonly store: SessionStore;
  readonly tap: Tap;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly report: Report;
  readonly busyMode: BusyMode;
  readonly stopGraceMs?: number | undefined;
  readonly turnDeadlineMs?: number | undefined;
  /** Told when no turn follows the one that ended. */
  readonly onIdle: () => void;
}

/**
 * An ordinary session that is open: its row, its prompts, its turns. What it answers is durable; what it tells leaves by
 * the seam. It knows no clients: who may do what is asked before.
 */
export class LiveSession {
  readonly session: Session;
  readonly agent: Agent;
  readonly #parts: LiveSessionParts;
  readonly #journal: SessionJournal;
  readonly #turns: TurnLine;
  readonly #submissions: Submissions;
  /** Its present runtime id when it was opened: older ones belong to a life that is over. */
  readonly #bornAs: string;
  readonly #news: SessionNews;
  #closed: SessionEnd | null = null;

  constructor(parts: LiveSessionParts) {
    this.session = parts.session;
    this.agent = parts.agent;
    this.#parts = parts;
    this.#bornAs = parts.session.runtimeId;
    this.#journal = new SessionJournal(parts);
    this.#news = new SessionNews({ ...parts, journal: this.#journal });
    this.#turns = new TurnLine({
      ...parts,
      journal: this.#journal,
      onBegin: () => this.#news.tellInfo(),
      onEnd: (settled) => this.#news.addUsage(settled),
      onIdle: () => {
        this.#news.tellInfo();
        parts.onIdle();
      },
    });
    this.#submissions = new Submissions({
      ...parts,
      journal: this.#journal,
      turns: this.#turns,
      closed: () => this.#refusedWhenClosed(),
      onQueue: () => this.#news.tellInfo(),
    });
  }

  /** Its row, as it is durable. */
  get record(): SessionRecord {
    return this.#journal.record;
  }

  /** Set as soon as it is being closed: it takes nothing any more. */
  get isClosed(): boolean {
    return this.#closed !== null;
  }

  /** Whether a turn runs, or anything is being decided or stored. */
  get isBusy(): boolean {
    return this.#turns.current !== null || this.#journal.steps.pending > 0;
  }

  /** Id of the turn that runs. */
  get turnId(): string | null {
    return this.#turns.current?.id ?? null;
  }

  /** Wall ms at which the turn that runs was claimed. */
  get turnStartedAt(): number | null {
    return this.#turns.current?.run.since ?? null;
  }

  get status(): SessionStatus {
    return statusOf(this.#turns.current?.facts ?? null);
  }

  /** Figures of its turns since it was opened, added up; null when none reported any. */
  get usage(): Usage | null {
    return this.#news.usage;
  }

  /** The payload of `session.info`. */
  get info(): JsonObject {
    return this.#news.info;
  }

  /** Whether a runtime id names this life of the session: the present one, or an alias of it. */
  answersTo(runtimeId: string): boolean {
    const { runtimeIds } = this.session;
    return runtimeIds.includes(runtimeId) && runtimeIds.indexOf(runtimeId) >= runtimeIds.indexOf(this.#bornAs);
  }

  /** Makes a new session durable. @throws RoomtapError what the store throws */
  async create(messages: readonly StoredMessage[]): Promise<void> {
    await this.#journal.steps.run(() => this.#journal.put(this.record, messages));
  }

  /** Takes up what the last host left, and then runs what waits. @throws RoomtapError what the store throws */
  async takeUp(): Promise<void> {
    await this.#journal.steps.run(() => this.#turns.takeUp());
  }

  /**
   * Takes a prompt: it starts a turn, corrects the one that runs, or waits.
   * @param origin the connection it came by; null when none is named
   * @param may asked in the step that decides what becomes of the prompt
   * @throws RoomtapError what the store throws; nothing was taken then
   */
  submit(
    prompt: Prompt,
    origin: string | null,
    may: MaySend = anybodyMay,
  ): Promise<Called<SubmitResult> | SubmitRefused | Refused> {
    return this.#submissions.submit(prompt, origin, may);
  }

  /** Offers a text to the turn that runs. @param may as of `submit`: asked before the text is offered */
  correct(
    correction: Correction,
    origin: string | null,
    may: MaySend = anybodyMay,
  ): Promise<Called<CorrectionResult> | CorrectionRefused | Refused> {
    return this.#submissions.correct(correction, origin, may);
  }

  /**
   * Starts a turn that nobody typed; its text is shown to the agent alone.
   * @throws RoomtapError what the store throws
   */
  startHostTurn(
    sub: HostTurn,
    text: string,
  ): Promise<{ readonly turn_id: string } | Refused<"session_busy" | "unknown_session" | "shutting_down">> {
    return this.#journal.steps.run(async () => {
      const refused = this.#refusedWhenClosed();
      if (refused !== null) return refused;
      if (this.#turns.current !== null || this.record.queue.length > 0) {
        return refuse("session_busy", "a turn runs, or a prompt waits");
      }
      const prompt = { inputs: [], origin: null, text, display_kind: "hidden" };
      const turn = await this.#turns.start(this.record, { prompt, source: { kind: "host", sub } });
      this.#turns.begin(turn);
      return { turn_id: turn.id };
    });
  }

  /**
   * Asks the turn that runs to stop, and withdraws its questions; what waits runs next.
   * @param expectedTurnId only if it is this one
   */
  interrupt(expectedTurnId?: string): Called<{ readonly status: "interrupted" | "not_interrupted" }> {
    const turn = this.#turns.current;
    const isIt = turn !== null && !turn.run.hasEnded && (expectedTurnId === undefined || turn.id === expectedTurnId);
    const status = isIt ? "interrupted" : "not_interrupted";
    return called(this.#parts.clock, { status }, () => {
      if (isIt) turn.run.stop("interrupted");
    });
  }

  /** Gives it a title of up to 200 UTF-16 units; "" takes it away. @throws RoomtapError what the store throws */
  async setTitle(text: string): Promise<Called<{ readonly title: string | null }>> {
    const title = text === "" ? null : cutUnits(this.#parts.tap.clean(text), limits.maxTitleUnits);
    await this.#journal.steps.run(() => this.#journal.put({ ...this.record, title }));
    return called(this.#parts.clock, { title }, () => this.#news.tellTitle());
  }

  /**
   * Saves who may attach. The same once more does nothing.
   * @param enforce called when the new one is saved, in the step that saves it: nothing is claimed in between
   * @throws RoomtapError what the store throws; nothing has changed then
   */
  async setVisibility(
    visibility: Visibility,
    enforce: () => void = () => undefined,
  ): Promise<Called<{ readonly visibility: Visibility }>> {
    const isNew = await this.#journal.steps.run(async () => {
      if (this.record.visibility === visibility) return false;
      await this.#journal.put({ ...this.record, visibility });
      enforce();
      return true;
    });
    return called(this.#parts.clock, { visibility }, () => {
      if (isNew) this.#news.tellInfo();
    });
  }

  /** While it is held, no prompt that waits follows the turn that runs. */
  hold(isHeld: boolean): void {
    this.#turns.hold(isHeld);
  }

  /**
   * What a client is told when it comes: all of one instant, up to frame `latest_seq`.
   * @param options.onInstant called in that instant
   */
  snapshot(
    options: { readonly omitMessages?: boolean; readonly onInstant?: () => void } = {},
  ): Promise<SessionSnapshot> {
    const { tap } = this.#parts;
    const bounds = { limit: limits.maxSnapshotMessages, maxBytes: limits.maxSnapshotBytes };
    return this.#journal.steps.run(async () => {
      const before = this.#turns.current?.firstMessage ?? this.record.message_count;
      const none = { messages: [], first: before };
      const page = options.omitMessages === true ? none : await this.#journal.page({ before, ...bounds });
      options.onInstant?.();
      return snapshotOf({
        runtimeId: this.session.runtimeId,
        record: this.record,
        turn: this.#turns.current?.facts ?? null,
        page,
        info: this.info,
        epoch: tap.sessions.epoch,
        seq: this.session.seq,
        clean: (text) => tap.clean(text),
      });
    });
  }

  /** Up to `limit` messages before the position `before`, those of the running turn included; at most `maxBytes` of JSON. */
  history(page: {
    readonly before?: number | undefined;
    readonly limit: number;
    readonly maxBytes: number;
  }): Promise<TranscriptPage> {
    return this.#journal.steps.run(() => this.#journal.page(page));
  }

  /** Resolves when no turn runs, and nothing is being decided or stored. */
  async quiet(): Promise<void> {
    while (this.isBusy) {
      await this.#journal.steps.idle();
      await this.#turns.current?.run.done;
    }
  }

  /**
   * Closes it: at once it takes nothing any more, its questions are withdrawn and its turn is asked to stop. Resolves when
   * the turn has ended, its partial text is stored and everything was told. What waits runs when it is resumed.
   * @param graceMs how long the runner may take
   */
  async close(reason: SessionEnd, graceMs?: number): Promise<void> {
    this.#closed ??= reason;
    this.#stop(graceMs);
    await this.#journal.steps.idle();
    // A start that was being stored when it closed has claimed its turn meanwhile.
    this.#stop(graceMs);
    await this.quiet();
  }

  #stop(graceMs: number | undefined): void {
    const isShutdown = this.#closed === "shutdown";
    const turn = this.#turns.current;
    if (turn !== null) {
      this.#parts.tap.requests.cancelAll(turn.execution, isShutdown ? "shutdown" : "session_closed");
    }
    this.#turns.close(isShutdown ? "shutdown" : "interrupted", graceMs);
  }

  #refusedWhenClosed(): Refused<"unknown_session" | "shutting_down"> | null {
    if (this.#closed === null) return null;
    return this.#closed === "shutdown"
      ? refuse("shutting_down", "the host is closing")
      : refuse("unknown_session", "the session was closed");
  }
}
