import type { Answered, Correction, Question, RunnerFrame, Turn, TurnEnd } from "../../core/index.ts";
import { parseFromChild, type FromChild } from "./child-messages.ts";
import { startRunnerProcess, type RunnerProcess } from "./child-process.ts";
import type { RunnerConfig } from "./config.ts";
import { OpenCorrections } from "./open-corrections.ts";
import { processDefaults, type ProcessOptions } from "./process-options.ts";
import { untilStopped, within } from "./waiting.ts";

/** How the child's part of a turn ended. */
export type ChildTurnEnd =
  | { readonly kind: "ended"; readonly end: TurnEnd }
  | { readonly kind: "stopped" }
  /** The child never got it: nothing ran. */
  | { readonly kind: "not_started"; readonly problem: string }
  | { readonly kind: "lost"; readonly problem: string };

interface OpenTurn {
  readonly turn: Turn;
  readonly settle: (end: ChildTurnEnd) => void;
  /** Undoes what waits for its stop. */
  release: () => void;
}

/** One child process with a runner in it. Several turns may run there side by side. */
export class RunnerChild {
  readonly #name: string;
  readonly #options: ProcessOptions;
  readonly #limits: Record<keyof typeof processDefaults, number>;
  readonly #process: RunnerProcess;
  readonly #sessions = new Set<string>();
  /** By their keys. */
  readonly #open = new Map<number, OpenTurn>();
  readonly #ended = new Map<number, Turn>();
  readonly #keys = new WeakMap<Turn, number>();
  readonly #corrections: OpenCorrections;
  #lastKey = 0;
  #notices = 0;
  #tellLoaded: (problem: string | null) => void = () => undefined;
  /** null once the runner is there, or why it is not. */
  readonly #ready: Promise<string | null>;
  #isReady = false;
  #retired = false;
  #closing: Promise<void> | undefined;
  /** Why it was killed. */
  #verdict: string | undefined;
  /** What became of it. */
  #loss: string | undefined;
  /** Settles when it is gone and its turns have settled. */
  readonly gone: Promise<void>;

  /**
   * Starts the process.
   * @param name of the runner in texts
   * @throws what the system says when it cannot even be tried
   */
  constructor(config: RunnerConfig, name: string, options: ProcessOptions) {
    this.#name = name;
    this.#options = options;
    this.#limits = { ...processDefaults, ...options.limits };
    const { maxLineBytes, maxCorrections } = this.#limits;
    const { clock } = options;
    this.#corrections = new OpenCorrections(maxCorrections);
    this.#process = startRunnerProcess({
      ...(config.kind === "module" && { cwd: config.cwd, env: config.env }),
      ...{ clock, maxLineBytes, onLine: (line) => this.#onLine(line) },
    });
    this.#ready = this.#start();
    this.gone = this.#process.ended.then((how) => this.#onEnded(how));
    this.#process.tell({ type: "load", config, max_line_bytes: maxLineBytes });
  }

  /** Whether a turn of a member's session may be given to it: not while an earlier one there has not ended yet. */
  admits(session: string): boolean {
    return !this.#retired && !this.#sessions.has(session);
  }

  /** Gives it no more turns; it ends with the last of those it has. */
  retire(): void {
    this.#retired = true;
    if (this.#sessions.size === 0) void this.close();
  }

  /** Runs one turn. Never rejects. */
  async run(turn: Turn): Promise<ChildTurnEnd> {
    this.#sessions.add(turn.session);
    try {
      const problem = await untilStopped(this.#ready, turn.signal);
      if (problem === undefined || turn.signal.aborted) return { kind: "stopped" };
      return problem === null ? await this.#relay(turn) : { kind: "not_started", problem };
    } finally {
      this.#sessions.delete(turn.session);
      if (this.#retired) this.retire();
    }
  }

  /**
   * Hands a text to a turn, and says whether its runner took it.
   * @throws Error with the text of what the runner threw
   */
  steer(turn: Turn, correction: Correction): Promise<boolean> {
    const key = this.#keys.get(turn);
    const isBehind = this.#corrections.isFull || this.#process.backlogBytes > this.#limits.maxBacklogBytes;
    if (key === undefined || !this.#open.has(key) || isBehind) return Promise.resolve(false);
    return this.#corrections.add((steer) => this.#process.tell({ type: "steer", key, steer, correction }));
  }

  /** Has it close its runner and end; turns that run are lost. Safe to call twice. */
  close(): Promise<void> {
    this.#retired = true;
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { closeGraceMs } = this.#limits;
    if (this.#isReady) {
      this.#process.tell({ type: "close" });
      const isGone = this.gone.then(() => true);
      if ((await within(this.#options.clock, closeGraceMs, isGone)) === true) return;
    }
    this.#process.kill();
    await this.gone;
  }

  async #start(): Promise<string | null> {
    const { startTimeoutMs } = this.#limits;
    const loaded = new Promise<string | null>((resolve) => {
      this.#tellLoaded = resolve;
    });
    const word = await within(this.#options.clock, startTimeoutMs, loaded);
    this.#isReady = word === null;
    if (word === null) return null;
    const problem = word ?? `did not have its runner within ${startTimeoutMs} ms`;
    this.#kill(problem);
    return problem;
  }

  #relay(turn: Turn): Promise<ChildTurnEnd> {
    if (this.#loss !== undefined) return Promise.resolve({ kind: "lost", problem: this.#loss });
    const key = ++this.#lastKey;
    this.#keys.set(turn, key);
    return new Promise((settle) => {
      const onStop = (): void => this.#stop(key);
      const release = (): void => turn.signal.removeEventListener("abort", onStop);
      this.#open.set(key, { turn, settle, release });
      turn.signal.addEventListener("abort", onStop, { once: true });
      const { turn_id, coordinates, member, session, unseen, earlier } = turn;
      const told = { turn_id, coordinates, member, session, unseen, earlier };
      this.#process.tell({ type: "run", key, turn: told });
    });
  }

  #settle(key: number, end: ChildTurnEnd): void {
    const open = this.#open.get(key);
    if (open === undefined) return;
    this.#open.delete(key);
    open.release();
    this.#ended.set(key, open.turn);
    const [oldest] = this.#ended.keys();
    if (oldest !== undefined && this.#ended.size > this.#limits.maxEndedTurns) this.#ended.delete(oldest);
    open.settle(end);
  }

  #stop(key: number): void {
    const open = this.#open.get(key);
    if (open === undefined) return;
    const { clock, report } = this.#options;
    const { stopGraceMs } = this.#limits;
    const reason = String(open.turn.signal.reason);
    this.#process.tell({ type: "stop", key, reason });
    open.release = clock.after(stopGraceMs, () => {
      const problem = `went on for ${stopGraceMs} ms after it was asked to stop`;
      const message = `${this.#name} ${problem}: its process is killed, and the next turn starts a new one`;
      report({ code: "agent_ignored_stop", message, subject: this.#name });
      this.#settle(key, { kind: "stopped" });
      this.#kill(`was killed because another turn ${problem}`);
    });
  }

  /** Takes nothing more from it, and ends it. */
  #kill(verdict: string): void {
    this.#retired = true;
    this.#verdict ??= verdict;
    this.#process.deafen();
    this.#process.kill();
  }

  #onEnded(how: string): void {
    this.#retired = true;
    const loss = this.#verdict ?? (this.#closing === undefined ? how : "was closed");
    this.#loss = loss;
    this.#tellLoaded(loss);
    const { report } = this.#options;
    // One that was never ready is told of by the turns that wanted it.
    if (this.#isReady && this.#closing === undefined) {
      report({ code: "agent_lost", message: `${this.#name} ${loss}`, subject: this.#name });
    }
    for (const key of [...this.#open.keys()]) this.#settle(key, { kind: "lost", problem: loss });
    this.#corrections.close();
  }

  #onLine(line: string | undefined): void {
    if (line === undefined) {
      return this.#kill(`was killed because it wrote a line of more than ${this.#limits.maxLineBytes} bytes`);
    }
    const parsed = parseFromChild(line);
    if (parsed.ok) this.#hear(parsed.message);
    else this.#kill(`was killed because it wrote a line that is no message: ${parsed.problem}`);
  }

  #hear(message: FromChild): void {
    switch (message.type) {
      case "ready":
        return this.#tellLoaded(null);
      case "broken":
        return this.#tellLoaded(`has no runner: ${message.problem}`);
      case "frame":
        return this.#emit(message.key, message.frame);
      case "ask":
        return void this.#ask(message);
      case "end":
        // Read by the host as the end of any runner.
        return this.#settle(message.key, { kind: "ended", end: message.end as TurnEnd });
      case "steered":
        return this.#corrections.answer(message.steer, message.taken, message.problem);
      case "notice":
        return this.#onNotice(message);
      case "groups":
        this.#process.groups = message.pids;
    }
  }

  /** Type and payload alone are a runner's to say: where a frame belongs, and its number, the host knows by itself. */
  #emit(key: number, frame: Extract<FromChild, { type: "frame" }>["frame"]): void {
    const turn = this.#turnOf(key);
    if (turn === undefined) return;
    if (frame === null) turn.emit(noFrame);
    else turn.emit({ type: frame.type, payload: frame.payload });
  }

  async #ask({ key, ask, question }: Extract<FromChild, { type: "ask" }>): Promise<void> {
    const { maxBacklogBytes } = this.#limits;
    if (this.#process.backlogBytes > maxBacklogBytes) {
      return this.#kill(`was killed because it asked on and left ${maxBacklogBytes} bytes of answers unread`);
    }
    const asked = question === null ? noQuestion : { method: question.method, params: question.params };
    const answered = await (this.#turnOf(key)?.ask(asked) ?? interrupted);
    this.#process.tell({ type: "answer", ask, answered });
  }

  #onNotice({ code, message, subject }: Extract<FromChild, { type: "notice" }>): void {
    if (++this.#notices > this.#limits.maxNotices) return;
    this.#options.report({ code, message, ...(subject !== undefined && { subject }) });
  }

  /** A turn that runs, or one that has ended of late: what still comes of it is refused there, and counted. */
  #turnOf(key: number): Turn | undefined {
    return this.#open.get(key)?.turn ?? this.#ended.get(key);
  }
}

/** It has neither type nor payload: wherever it is put it is refused. */
const noFrame = {} as RunnerFrame;
/** Nobody is asked by this method. */
const noQuestion: Question = { method: "", params: {} };
const interrupted: Answered = { outcome: "cancelled", reason: "interrupted", by: null };
