import type { Agent } from "./agent.ts";
import type { Clock } from "./clock.ts";
import type { Execution } from "./execution.ts";
import { shownInput, shownInputs, entryOfPrompt } from "./prompt.ts";
import type { Correction, TranscriptEntry } from "./runner.ts";
import type { TurnFacts } from "./session-snapshot.ts";
import type { QueuedPrompt, StoredMessage } from "./session-store.ts";
import { Signal } from "./signal.ts";
import type { Tap } from "./tap.ts";
import { TurnRun } from "./turn-run.ts";
import type { TurnSource } from "./turn-source.ts";
import { codePointCount } from "./utf8.ts";

/** A text that the runner took into its turn. */
export interface TakenCorrection {
  readonly kind: Correction["kind"];
  readonly prompt: QueuedPrompt;
  readonly message: StoredMessage;
  /** Code points of the turn's text that had left when it was offered. */
  readonly offset: number;
}

/** What a turn of a session is made of; that it was claimed is durable already. */
export interface SessionTurnParts {
  readonly tap: Tap;
  readonly clock: Clock;
  readonly agent: Agent;
  readonly execution: Execution;
  readonly prompt: QueuedPrompt;
  readonly source: TurnSource;
  readonly earlier: readonly TranscriptEntry[];
  /** How many messages of the transcript stand before its own. */
  readonly firstMessage: number;
  readonly stopGraceMs?: number | undefined;
  readonly turnDeadlineMs?: number | undefined;
}

/** One turn of an ordinary session, from its claim to its end: what it was asked, and what steered it. */
export class SessionTurn {
  readonly run: TurnRun;
  /** Corrections that the transcript has not got yet, oldest first. */
  unstored: readonly StoredMessage[] = [];
  readonly #parts: SessionTurnParts;
  readonly #told: { readonly text: string; readonly offset: number }[] = [];
  #untold: readonly TakenCorrection[] = [];
  #hasBegun = false;
  readonly #over = new Signal();
  #isOver = false;

  constructor(parts: SessionTurnParts) {
    this.#parts = parts;
    const { tap, clock, execution, agent, stopGraceMs, turnDeadlineMs } = parts;
    const { agent_id, display_name } = agent;
    this.run = new TurnRun({
      tap,
      clock,
      execution,
      runner: agent.runner,
      turn: {
        coordinates: null,
        member: { member_id: agent_id, handle: agent_id, display_name },
        session: execution.session.durableId,
        unseen: [entryOfPrompt(parts.prompt)],
        earlier: parts.earlier,
      },
      stopGraceMs,
      turnDeadlineMs,
      onChange: () => undefined,
      beforeSeal: () => this.#tellAll(),
    });
  }

  get id(): string {
    return this.execution.turnId;
  }

  get execution(): Execution {
    return this.#parts.execution;
  }

  get source(): TurnSource {
    return this.#parts.source;
  }

  /** How many messages of the transcript stand before its own. */
  get firstMessage(): number {
    return this.#parts.firstMessage;
  }

  /** Whether somebody typed what began it: else its words are shown to nobody. */
  get isTyped(): boolean {
    const { kind } = this.source;
    return kind === "connection" || kind === "unknown";
  }

  /** The words that began it, as they were typed; null when they are not shown. */
  get shownText(): string | null {
    return this.isTyped && shownInput(this.#parts.prompt) !== null ? this.#parts.prompt.text : null;
  }

  /** What is said of it now. Of corrections those that were told; hidden words are "". */
  get facts(): TurnFacts {
    const { message, reasoning, openTools } = this.execution;
    return {
      since: this.run.since,
      user: this.shownText,
      assistant: message.text,
      waits: this.run.waits,
      hasOpenTool: [...openTools].length > 0,
      streams: message.units + reasoning.units > 0,
      resumes: this.source.kind === "auto_continue",
      corrections: [...this.#told],
    };
  }

  /** Code points of the text that has left. What is not kept of it counts by its UTF-16 units. */
  get offset(): number {
    const { text, units } = this.execution.message;
    return codePointCount(text) + units - text.length;
  }

  /** Resolves when its end was told, or could not be stored at once. */
  get over(): Promise<void> {
    return this.#over.fired;
  }

  /** Whether `over` has resolved. One that still runs then waits for the store. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Safe to call twice. */
  markOver(): void {
    this.#isOver = true;
    this.#over.fire();
  }

  /** Tells how it began. False when that was done before. */
  begin(): boolean {
    if (this.#hasBegun) return false;
    this.#hasBegun = true;
    const { tap, execution, prompt } = this.#parts;
    const input = this.isTyped ? shownInput(prompt) : null;
    tap.write(execution, { type: "message.start", payload: { input, ...shownInputs(prompt.inputs) } });
    return true;
  }

  /** The runner took a text. Whatever comes first tells it: `tell`, or the end of the turn. */
  take(taken: TakenCorrection): void {
    this.#untold = [...this.#untold, taken];
    this.unstored = [...this.unstored, taken.message];
  }

  /** Tells what steered the turn; without effect when that was told. */
  tell(taken: TakenCorrection): void {
    if (!this.#untold.includes(taken)) return;
    this.#untold = this.#untold.filter((other) => other !== taken);
    const { tap, execution } = this.#parts;
    // Taken by a runner that ended in that moment: the transcript has it, and its frames have all left.
    if (execution.sealed) return;
    const { kind, prompt, offset } = taken;
    const input = shownInput(prompt);
    const payload = { kind, input, ...shownInputs(prompt.inputs), offset };
    tap.write(execution, { type: "message.input", payload });
    this.#told.push({ text: input === null ? "" : prompt.text, offset });
  }

  #tellAll(): void {
    for (const taken of this.#untold) this.tell(taken);
  }
}
