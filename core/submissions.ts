import type { Agent } from "./agent.ts";
import { correctionOf, stopsTurn, type BusyMode } from "./busy-mode.ts";
import { called, refuse, type Called, type Refused } from "./called.ts";
import type { Clock, IdSource } from "./clock.ts";
import { messageOf, type Report } from "./errors.ts";
import { acceptedPrompt, contentDigest, promptSource, type Prompt } from "./prompt.ts";
import { enqueue } from "./prompt-queue.ts";
import type { Correction } from "./runner.ts";
import type { SessionJournal } from "./session-journal.ts";
import { promptMessage, withKey } from "./session-record.ts";
import type { MessageKey, QueuedPrompt } from "./session-store.ts";
import type { SessionTurn, TakenCorrection } from "./session-turn.ts";
import { Steps } from "./steps.ts";
import type { Tap } from "./tap.ts";
import type { TurnLine } from "./turn-line.ts";

/** What became of a prompt. */
export type SubmitResult = {
  readonly status: "streaming" | "redirected" | "steered" | "queued" | "duplicate";
  /** Of the turn that it began or corrected. */
  readonly turn_id?: string;
  readonly submission: {
    readonly input_id: string;
    readonly ref?: string;
    readonly disposition: "starting" | "redirected" | "steered" | "queued" | "merged";
  };
};

/** A prompt that was not taken leaves no trace. */
export type SubmitRefused = Refused<"unknown_session" | "shutting_down" | "queue_full" | "idempotency_conflict">;

/** What became of a correction. `queued`: a steer that was taken, or a redirect that waits as a prompt. */
export type CorrectionResult = { readonly status: "redirected" | "queued" | "rejected"; readonly text: string };

/** Why a correction was not even offered, or what went wrong with it. */
export type CorrectionRefused = Refused<
  "unknown_session" | "shutting_down" | "empty_text" | "not_supported" | "runner_failed"
>;

/** Why a sender may not send now; null: it may. */
export type MaySend = () => Refused | null;

/** Whoever sends was found fit before. */
export const anybodyMay: MaySend = () => null;

/** What submissions act on. */
export interface SubmissionsParts {
  readonly journal: SessionJournal;
  readonly turns: TurnLine;
  readonly agent: Agent;
  readonly tap: Tap;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly report: Report;
  readonly busyMode: BusyMode;
  /** Why nothing is taken any more; null while it is. */
  readonly closed: () => Refused<"unknown_session" | "shutting_down"> | null;
  /** What waits has changed. */
  readonly onQueue: () => void;
}

/** A prompt on its way in. */
interface Given {
  readonly may: MaySend;
  readonly prompt: Prompt;
  readonly accepted: QueuedPrompt;
}

type Submitted = Called<SubmitResult> | SubmitRefused | Refused;

type Decision =
  | { readonly next: "answer"; readonly answer: Submitted }
  /** The turn has ended, and its end is about to be told: what is decided then is another thing. */
  | { readonly next: "wait"; readonly turn: SessionTurn }
  | { readonly next: "offer"; readonly turn: SessionTurn; readonly kind: Correction["kind"] };

/**
 * What people send to a session. Each prompt starts a turn, corrects the one that runs, or waits; whichever it is, it is
 * durable before it is answered, and decided in a step, so that no turn begins or ends meanwhile. Only a runner's answer
 * to a correction is awaited outside: it may take long, and then holds up nothing but other corrections.
 */
export class Submissions {
  readonly #parts: SubmissionsParts;
  readonly #corrections = new Steps();
  /** Keys that are being decided: a second call of one waits for what the first is answered. */
  readonly #deciding = new Map<string, Promise<unknown>>();

  constructor(parts: SubmissionsParts) {
    this.#parts = parts;
  }

  /**
   * Takes a prompt.
   * @param origin the connection it came by; null when none is named
   * @param may asked in the step that decides
   * @throws RoomtapError what the store throws; nothing was taken then
   */
  async submit(prompt: Prompt, origin: string | null, may: MaySend = anybodyMay): Promise<Submitted> {
    const accepted = acceptedPrompt(prompt, this.#inputId(), origin);
    const key = prompt.message_id;
    if (key === undefined) return this.#decideUntilAnswered({ prompt, accepted, may });
    while (this.#deciding.has(key)) await this.#deciding.get(key);
    const answer = this.#decideUntilAnswered({ prompt, accepted, may });
    const decided = answer.then(
      () => this.#deciding.delete(key),
      () => this.#deciding.delete(key),
    );
    this.#deciding.set(key, decided);
    return answer;
  }

  /** Offers a text to the turn that runs. */
  async correct(
    { kind, text }: Correction,
    origin: string | null,
    may: MaySend = anybodyMay,
  ): Promise<Called<CorrectionResult> | CorrectionRefused | Refused> {
    const { agent, turns, tap, closed } = this.#parts;
    if (text.trim() === "") return refuse("empty_text", "a correction needs a text");
    const refused = closed();
    if (refused !== null) return refused;
    if (agent.built !== null && agent.built.steer === undefined) {
      return refuse("not_supported", `the agent ${agent.agent_id} takes no text while it works`);
    }
    const shown = tap.clean(text);
    const rejected = { status: "rejected", text: shown } as const;
    const turn = turns.current;
    if (turn === null) return this.#called(rejected);
    if (agent.built === null) {
      return kind === "steer" ? this.#called(rejected) : this.#waitInstead(text, shown, origin, may);
    }
    const accepted = acceptedPrompt({ text }, this.#inputId(), origin);
    try {
      const taken = await this.#offer(turn, kind, { accepted, may });
      if (taken === null) return may() ?? this.#called(rejected);
      await this.#parts.journal.steps.run(() => this.#keep(turn, taken, null));
      const status = kind === "steer" ? "queued" : "redirected";
      return this.#called({ status, text: shown }, () => turn.tell(taken));
    } catch (fault) {
      this.#reportRunner(fault);
      return refuse("runner_failed", "the agent failed at the correction");
    }
  }

  /** A redirect of a turn whose agent is being built: it runs next. */
  async #waitInstead(
    text: string,
    shown: string,
    origin: string | null,
    may: MaySend,
  ): Promise<Called<CorrectionResult> | Refused> {
    const submitted = await this.submit({ text, queued: true }, origin, may);
    if ("refused" in submitted) return may() ?? this.#called({ status: "rejected", text: shown });
    return { result: { status: "queued", text: shown }, begin: submitted.begin };
  }

  async #decideUntilAnswered(given: Given): Promise<Submitted> {
    const { journal } = this.#parts;
    const { message_id } = given.prompt;
    const key = message_id === undefined ? null : { message_id, digest: await contentDigest(given.prompt) };
    for (let mayCorrect = true; ;) {
      const decision = await journal.steps.run(() => this.#decide(given, key, mayCorrect));
      if (decision.next === "answer") return decision.answer;
      const { turn } = decision;
      if (decision.next === "wait") {
        await turn.over;
        continue;
      }
      const { kind } = decision;
      const taken = await this.#offer(turn, kind, given).catch((fault: unknown) => {
        this.#reportRunner(fault);
        return null;
      });
      if (taken !== null) return this.#corrected(given, key, turn, taken);
      mayCorrect = false;
    }
  }

  /** A step. */
  async #decide(given: Given, key: Key, mayCorrect: boolean): Promise<Decision> {
    const { journal, turns, busyMode, closed } = this.#parts;
    const answered = closed() ?? given.may() ?? this.#answered(key);
    if (answered !== null) return { next: "answer", answer: answered };
    const turn = turns.current;
    if (turn === null) {
      const isFree = journal.record.queue.length === 0;
      return { next: "answer", answer: await (isFree ? this.#start(given, key) : this.#wait(given, key, null)) };
    }
    if (turn.run.hasEnded && !turn.isOver) return { next: "wait", turn };
    const busy = { mode: busyMode, prompt: given.accepted, waits: given.prompt.queued === true };
    const kind = mayCorrect ? correctionOf(busy) : null;
    if (kind !== null) return { next: "offer", turn, kind };
    return { next: "answer", answer: await this.#wait(given, key, stopsTurn(busy) ? turn : null) };
  }

  /** What a call of this key was answered before. */
  #answered(key: Key): Submitted | null {
    if (key === null) return null;
    const known = this.#parts.journal.record.message_keys.find(({ message_id }) => message_id === key.message_id);
    if (known === undefined) return null;
    if (known.digest !== key.digest) {
      return refuse("idempotency_conflict", "the message_id was used before with other content");
    }
    return this.#called({ ...(known.result as SubmitResult), status: "duplicate" });
  }

  /** A step: the prompt begins a turn. */
  async #start({ accepted }: Given, key: Key): Promise<Submitted> {
    const { turns, journal } = this.#parts;
    const id = turns.newTurnId();
    const result = resultOf(accepted, "streaming", "starting", id);
    const start = { id, prompt: accepted, source: promptSource(accepted) };
    const turn = await turns.start(withKey(journal.record, entryOf(key, result)), start);
    return this.#called(result, () => turns.begin(turn));
  }

  /** A step: the prompt waits. @param stopped the turn that is asked to stop for it */
  async #wait({ accepted }: Given, key: Key, stopped: SessionTurn | null): Promise<Submitted> {
    const { journal, turns, onQueue } = this.#parts;
    const { record } = journal;
    const added = enqueue(record.queue, accepted);
    if (added.status === "queue_full") return refuse("queue_full", "too much waits in the session's queue");
    const result = resultOf(accepted, "queued", added.status);
    await journal.put(withKey({ ...record, queue: added.queue }, entryOf(key, result)));
    return this.#called(result, () => {
      onQueue();
      stopped?.run.stop("interrupted");
      // What waits while no turn runs was left there by a store that refused.
      if (turns.current === null) void journal.steps.run(() => turns.drain()).catch(this.#reportDrain);
    });
  }

  /** What becomes of a prompt that the runner took into its turn. */
  async #corrected(given: Given, key: Key, turn: SessionTurn, taken: TakenCorrection): Promise<Submitted> {
    const word = taken.kind === "steer" ? "steered" : "redirected";
    const result = resultOf(given.accepted, word, word, turn.id);
    await this.#parts.journal.steps.run(() => this.#keep(turn, taken, entryOf(key, result)));
    return this.#called(result, () => turn.tell(taken));
  }

  /** Null when the runner did not take it, or may not be given it any more. Rejects with what the runner throws. */
  #offer(
    turn: SessionTurn,
    kind: Correction["kind"],
    { accepted: prompt, may }: Pick<Given, "accepted" | "may">,
  ): Promise<TakenCorrection | null> {
    const { clock, tap } = this.#parts;
    return this.#corrections.run(async () => {
      if (may() !== null) return null;
      const { offset } = turn;
      const ended = turn.over.then(() => "refused" as const);
      const word = await Promise.race([turn.run.correct({ kind, text: prompt.text }), ended]);
      if (word === "refused") return null;
      const message = promptMessage(prompt, clock.now(), (payload) => tap.seam.clean(payload).payload);
      const taken = { kind, prompt, message, offset };
      turn.take(taken);
      return taken;
    });
  }

  /** A step: puts a correction into the transcript. It has had its effect, whatever the store says. */
  async #keep(turn: SessionTurn, { message }: TakenCorrection, key: MessageKey | null): Promise<void> {
    const { journal, report } = this.#parts;
    const isMissing = turn.unstored.includes(message);
    try {
      await journal.put(withKey(journal.record, key), isMissing ? [message] : []);
      turn.unstored = turn.unstored.filter((other) => other !== message);
    } catch (fault) {
      report({ code: "correction_not_stored", message: messageOf(fault), cause: fault });
    }
  }

  #called<Result>(result: Result, effect = (): void => undefined): Called<Result> {
    return called(this.#parts.clock, result, effect);
  }

  #inputId(): string {
    return `in-${this.#parts.ids.hex(8)}`;
  }

  #reportRunner(fault: unknown): void {
    const { report, agent } = this.#parts;
    const message = `the agent ${agent.agent_id} failed at a correction: ${messageOf(fault)}`;
    report({ code: "runner_failed", message, subject: agent.agent_id, cause: fault });
  }

  readonly #reportDrain = (fault: unknown): void => {
    this.#parts.report({ code: "queue_not_drained", message: messageOf(fault), cause: fault });
  };
}

type Key = Omit<MessageKey, "result"> | null;

function entryOf(key: Key, result: SubmitResult): MessageKey | null {
  return key === null ? null : { ...key, result };
}

function resultOf(
  { inputs }: QueuedPrompt,
  status: SubmitResult["status"],
  disposition: SubmitResult["submission"]["disposition"],
  turnId?: string,
): SubmitResult {
  const [{ id, ref } = { id: "" }] = inputs;
  const submission = { input_id: id, ...(ref === undefined ? {} : { ref }), disposition };
  return { status, ...(turnId === undefined ? {} : { turn_id: turnId }), submission };
}
