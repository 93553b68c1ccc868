import type { TurnSettled } from "./activity.ts";
import type { Agent } from "./agent.ts";
import type { Clock, IdSource } from "./clock.ts";
import { isPassing, messageOf, RoomtapError, type Report } from "./errors.ts";
import { limits } from "./options.ts";
import { entryOfMessage, promptSource } from "./prompt.ts";
import { answerMessages, promptMessage, withEnd, withStart } from "./session-record.ts";
import type { SessionJournal } from "./session-journal.ts";
import type { QueuedPrompt, SessionRecord, StoredMessage } from "./session-store.ts";
import { SessionTurn } from "./session-turn.ts";
import type { Session } from "./sessions.ts";
import { abandoned, type StopReason } from "./settlement.ts";
import { Signal } from "./signal.ts";
import type { Tap } from "./tap.ts";
import { completePayload } from "./turn-complete.ts";
import type { TurnSource } from "./turn-source.ts";

/** Waits between tries to store an end that the store refuses for now: 250 ms, doubling to 5 s. */
const firstRetryMs = 250;
const maxRetryMs = 5_000;

/** What the turns of a session are run with. */
export interface TurnLineParts {
  readonly session: Session;
  readonly journal: SessionJournal;
  readonly agent: Agent;
  readonly tap: Tap;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly report: Report;
  readonly stopGraceMs?: number | undefined;
  readonly turnDeadlineMs?: number | undefined;
  /** `message.start` was told. */
  readonly onBegin: () => void;
  /** `message.complete` was told. */
  readonly onEnd: (settled: TurnSettled) => void;
  /** None follows the one that ended. */
  readonly onIdle: () => void;
}

/** A turn that is to be claimed. */
export interface TurnStart {
  /** Default: a new one. */
  readonly id?: string | undefined;
  readonly prompt: QueuedPrompt;
  readonly source: TurnSource;
  /** How often its prompt was begun before, by hosts that died: it is in the transcript already. Default 0. */
  readonly attempts?: number | undefined;
}

/**
 * The turns of one session, one at a time. Each is durable before it is claimed, is told by one `message.start` and one
 * `message.complete`, and is followed by the prompt that waits longest. What it does to the row it does in steps of the
 * journal.
 */
export class TurnLine {
  readonly #parts: TurnLineParts;
  #current: SessionTurn | null = null;
  #isClosed = false;
  #isHeld = false;
  readonly #closing = new Signal();

  constructor(parts: TurnLineParts) {
    this.#parts = parts;
  }

  /** The turn that runs, from its claim to its last frame. */
  get current(): SessionTurn | null {
    return this.#current;
  }

  newTurnId(): string {
    return `t-${this.#parts.ids.hex(8)}`;
  }

  /**
   * Inside a step, while none runs: makes a turn durable and claims it. Somebody has to `begin` it.
   * @param record the row that the start goes into
   * @throws RoomtapError what the store throws; nothing has changed then
   */
  async start(record: SessionRecord, start: TurnStart): Promise<SessionTurn> {
    return this.#put(record, [], start);
  }

  /**
   * Inside a step, before all else: what the last host left. A turn of it that had not ended is `abandoned`, `host_lost`; it
   * is run again when the runner says that this is safe, until it was begun three times. Then what waits runs.
   * @throws RoomtapError what the store throws; nothing has changed then
   */
  async takeUp(): Promise<void> {
    const { journal, agent } = this.#parts;
    const { unfinished } = journal.record;
    if (unfinished === null) return this.drain();
    const lost = withEnd(journal.record, unfinished.turn_id, abandoned);
    // One that cannot be built says nothing; the next turn tells why.
    const runner = await agent.build().catch(() => null);
    const { prompt, attempts = 1 } = unfinished;
    // What takes its host with it every time is not begun for ever.
    if (runner?.rerun === "safe" && attempts < limits.maxUnaskedAttempts) {
      const again = { prompt, source: { kind: "auto_continue" }, attempts } as const;
      return this.begin(await this.start(lost, again));
    }
    await journal.put(lost);
    return this.drain();
  }

  /** Inside a step: begins the turn of the prompt that waits longest, if none runs. */
  async drain(): Promise<void> {
    const { record } = this.#parts.journal;
    const [head, ...queue] = record.queue;
    if (head === undefined || this.#current !== null || this.#isClosed || this.#isHeld) return;
    this.begin(await this.start({ ...record, queue }, { prompt: head, source: promptSource(head) }));
  }

  /** Tells that the turn began and calls the runner. Without effect the second time. */
  begin(turn: SessionTurn): void {
    if (!turn.begin()) return;
    this.#parts.onBegin();
    void this.#carryOut(turn);
  }

  /** While it is held, what waits does not follow the turn that runs. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
  }

  /**
   * Asks the running turn to stop; nothing follows it any more.
   * @param graceMs how long its runner may take
   */
  close(reason: StopReason, graceMs?: number): void {
    this.#isClosed = true;
    this.#closing.fire();
    const turn = this.#current;
    if (turn === null) return;
    turn.run.stop(reason, graceMs);
    this.begin(turn);
  }

  async #carryOut(turn: SessionTurn): Promise<void> {
    const settled = await turn.run.run();
    const { journal, report, session } = this.#parts;
    for (let waitMs = firstRetryMs; ; waitMs = Math.min(waitMs * 2, maxRetryMs)) {
      try {
        await journal.steps.run(() => this.#end(turn, settled));
        return;
      } catch (fault) {
        if (waitMs === firstRetryMs) {
          const message = `the end of turn ${turn.id} of session ${session.durableId} cannot be stored: ${messageOf(fault)}`;
          report({ code: codeOf(fault), message, subject: session.durableId, cause: fault });
        }
        turn.markOver();
        if (!isPassing(fault) || this.#isClosed) break;
        await this.#pause(waitMs);
      }
    }
    await journal.steps.run(() => {
      journal.goOn(withEnd(journal.record, turn.id, settled));
      this.#tellEnd(turn, settled);
      this.#parts.onIdle();
    });
  }

  /** A step: stores the end together with the start of what follows, and tells both. */
  async #end(turn: SessionTurn, settled: TurnSettled): Promise<void> {
    const { journal, clock } = this.#parts;
    const reasoning = turn.execution.reasoning.text;
    const { unstored } = turn;
    const messages = [...unstored, ...answerMessages(settled.text, reasoning, clock.now())];
    const ended = withEnd(journal.record, turn.id, settled);
    const [head, ...queue] = ended.queue;
    const told = (): void => {
      turn.unstored = turn.unstored.filter((message) => !unstored.includes(message));
      this.#tellEnd(turn, settled);
    };
    if (head === undefined || this.#isClosed || this.#isHeld) {
      await journal.put(ended, messages);
      told();
      this.#parts.onIdle();
      return;
    }
    const next = await this.#put({ ...ended, queue }, messages, { prompt: head, source: promptSource(head) }, told);
    this.begin(next);
  }

  #tellEnd(turn: SessionTurn, settled: TurnSettled): void {
    if (this.#current === turn) this.#current = null;
    this.#parts.tap.complete(turn.execution, completePayload(settled));
    this.#parts.onEnd(settled);
    turn.markOver();
    turn.run.markDone();
  }

  /** @param before what is to be told when it is durable, ahead of the claim */
  async #put(
    record: SessionRecord,
    messages: readonly StoredMessage[],
    start: TurnStart,
    before = (): void => undefined,
  ): Promise<SessionTurn> {
    const { journal, tap, clock } = this.#parts;
    const { id = this.newTurnId(), prompt, attempts = 0 } = start;
    const asked = promptMessage(prompt, clock.now(), (payload) => tap.seam.clean(payload).payload);
    const appended = attempts > 0 ? messages : [...messages, asked];
    const unfinished = { turn_id: id, prompt, ...(attempts > 0 ? { attempts: attempts + 1 } : {}) };
    await journal.put(withStart(record, unfinished, asked.text), appended);
    before();
    return this.#claim(id, start, asked);
  }

  #claim(id: string, { prompt, source, attempts = 0 }: TurnStart, asked: StoredMessage): SessionTurn {
    const { tap, session, journal, clock, agent, stopGraceMs, turnDeadlineMs } = this.#parts;
    const { tail, record } = journal;
    const own = tail.findLastIndex(({ role, text }) => role === "user" && text === asked.text);
    const earlier = (own === -1 ? tail : tail.slice(0, own)).map((message) => entryOfMessage(message, agent.agent_id));
    const turn = new SessionTurn({
      tap,
      clock,
      agent,
      execution: tap.claim(session, { id, source }),
      prompt,
      source,
      earlier,
      firstMessage: record.message_count - (attempts > 0 ? 0 : 1),
      stopGraceMs,
      turnDeadlineMs,
    });
    this.#current = turn;
    return turn;
  }

  /** Ends early when the session closes. */
  async #pause(ms: number): Promise<void> {
    const over = new Signal();
    const stop = this.#parts.clock.after(ms, over.fire);
    await Promise.race([over.fired, this.#closing.fired]);
    stop();
  }
}

function codeOf(fault: unknown): string {
  return fault instanceof RoomtapError ? fault.code : "internal";
}
