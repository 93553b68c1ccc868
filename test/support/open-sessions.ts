import { onTestFinished } from "vitest";
import {
  countingIds,
  SessionHost,
  type AgentDefinition,
  type BusyMode,
  type Called,
  type Correction,
  type CreateSession,
  type EventFrame,
  type Frame,
  type LiveSession,
  type Prompt,
  type Refused,
  type Runner,
  type Session,
  type SubmitResult,
  type Turn,
} from "../../core/index.ts";
import { openBus, tapFrames, type Bus } from "./bus.ts";
import { HeldRunner, type HeldTurn } from "./held-runner.ts";
import { MemorySessions } from "./memory-sessions.ts";
import { turnsOfLoop } from "./turns-of-loop.ts";

/** A held runner that takes what it is told to take. */
export class SteeredRunner extends HeldRunner {
  readonly corrections: Correction[] = [];
  /** What it says to a correction. */
  says: (turn: Turn, correction: Correction) => boolean | Promise<boolean> = () => true;

  async steer(turn: Turn, correction: Correction): Promise<boolean> {
    const isTaken = await this.says(turn, correction);
    if (isTaken) this.corrections.push(correction);
    return isTaken;
  }
}

export interface OpenSessionsOptions {
  /** Default: a held runner that takes every correction. */
  readonly runner?: Runner;
  /** Default: one, `default`, with the runner. */
  readonly agents?: readonly AgentDefinition[];
  readonly busyMode?: BusyMode;
  readonly stopGraceMs?: number;
  readonly turnDeadlineMs?: number;
  readonly isAttached?: (session: Session) => boolean;
  /** What a host before this one left. */
  readonly store?: MemorySessions;
}

/** A host of sessions on a clock that stands still, its store in memory. */
export class OpenSessions {
  readonly bus: Bus = openBus();
  readonly store: MemorySessions;
  readonly host: SessionHost;
  readonly held = new SteeredRunner();
  readonly frames: readonly Frame[];

  constructor({ runner = this.held, agents, store = new MemorySessions(), ...options }: OpenSessionsOptions = {}) {
    this.store = store;
    this.frames = tapFrames(this.bus);
    const { tap, clock, notices } = this.bus;
    this.host = new SessionHost({
      store,
      tap,
      clock,
      ids: countingIds(),
      report: (notice) => void notices.push(notice),
      agents: agents ?? [{ agent_id: "default", display_name: "Default", runner }],
      ...options,
    });
  }

  /** A new session of the principal `local`. */
  async create(given: Partial<CreateSession> = {}): Promise<LiveSession> {
    return opened(await this.host.create({ owner: { client_id: null, principal: "local" }, ...given }));
  }

  async resume(id: string): Promise<LiveSession> {
    return opened(await this.host.resume(id, "local"));
  }

  /** Submits a text, or a prompt, and begins at once what it causes. */
  async submit(live: LiveSession, prompt: string | Prompt, origin: string | null = "c-a"): Promise<SubmitResult> {
    const { result, begin } = taken(await live.submit(promptOf(prompt), origin));
    begin();
    return result;
  }

  /** Gives the event loop turns, the clock's deferred work included, until what was begun stands still. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 8; turn++) {
      this.bus.clock.tick();
      await turnsOfLoop(1);
    }
  }

  /** Moves time, and lets what falls due have its effect. */
  async pass(ms: number): Promise<void> {
    await this.settle();
    this.bus.clock.advance(ms);
    await this.settle();
  }

  /** Ends a turn of the held runner with a streamed text. */
  async say(index: number, text: string): Promise<void> {
    (await this.turn(index)).say(text);
    await this.settle();
  }

  turn(index: number): Promise<HeldTurn> {
    return this.held.turn(index);
  }

  /** Params of the events of these types, in order; all types when none is named. */
  events(...types: readonly string[]): readonly EventFrame["params"][] {
    return this.frames
      .flatMap((frame) => ("id" in frame ? [] : frame.params))
      .filter(({ type }) => types.length === 0 || types.includes(type));
  }

  payloads(type: string): readonly EventFrame["params"]["payload"][] {
    return this.events(type).map(({ payload }) => payload);
  }
}

/** A host of sessions whose turns end with the test. */
export function openSessions(options: OpenSessionsOptions = {}): OpenSessions {
  const sessions = new OpenSessions(options);
  onTestFinished(async () => {
    const closed = sessions.host.shutdown(0);
    await sessions.pass(0);
    await closed;
  });
  return sessions;
}

/** An agent whose runner is there once the test says so. */
export function lateAgent(): { readonly agent: AgentDefinition; readonly build: (runner: Runner) => void } {
  let build: (runner: Runner) => void = () => undefined;
  const building = new Promise<Runner>((resolve) => (build = resolve));
  return { agent: { agent_id: "late", runner: () => building }, build };
}

export function promptOf(prompt: string | Prompt): Prompt {
  return typeof prompt === "string" ? { text: prompt } : prompt;
}

/** What a call gave that was not refused. */
export function taken<Result>(answer: Called<Result> | Refused): Called<Result> {
  if ("refused" in answer) throw new Error(`refused: ${answer.refused}: ${answer.message}`);
  return answer;
}

function opened(live: LiveSession | Refused): LiveSession {
  if ("refused" in live) throw new Error(`refused: ${live.refused}: ${live.message}`);
  return live;
}
