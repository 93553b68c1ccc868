import type { TurnSettled, TurnStarted, RowRef } from "./activity.ts";
import type { ActivitySink } from "./activity-sink.ts";
import { Attempt } from "./attempt.ts";
import { cleanPayload, cleanText } from "./clean.ts";
import { cleanReport } from "./clean-report.ts";
import { systemClock, systemIds, type Clock, type IdSource } from "./clock.ts";
import { makeCoordinates, type Coordinates } from "./coordinates.ts";
import { estimateBytes } from "./cut.ts";
import { reportLater, RoomtapError, type Report } from "./errors.ts";
import { Execution } from "./execution.ts";
import { isHostType, type JsonObject, type RunnerFrame } from "./frames.ts";
import { KeptTexts } from "./kept-texts.ts";
import type { CancelWord } from "./open-request.ts";
import { createRedactor, type Redactor } from "./redact.ts";
import type { WriteResult } from "./runner.ts";
import { Seam } from "./seam.ts";
import { ServerRequests } from "./server-requests.ts";
import { SessionRegistry, type Session } from "./sessions.ts";
import type { TurnSource } from "./turn-source.ts";

/** What an execution was when it was sealed: the numbers and the text that its end is told with. */
export interface Sealed {
  /** `n` of the `turn.settled` event to come; 0 outside rooms. */
  readonly activity_count: number;
  /** The text that was streamed, or its first 1,048,576 units. */
  readonly text: string;
  /** Whether anything was streamed beyond what `text` has. */
  readonly cut: boolean;
}

/** What a tap is made of. */
export interface TapOptions {
  readonly clock?: Clock;
  readonly ids?: IdSource;
  /** Default: the default rules, no literals. */
  readonly redactor?: Redactor;
  /** Who gets activity. */
  readonly activity: ActivitySink;
  /** Told of frames, sinks and listeners that threw. */
  readonly report?: Report;
}

/**
 * The tap on hidden turns: sessions, the seam and requests in one hand. A driver binds an attempt to a session, writes
 * its frames through it, and ends it in three steps: seal, append the row, tell.
 */
export class Tap {
  readonly sessions: SessionRegistry;
  readonly seam: Seam;
  readonly requests: ServerRequests;
  readonly #redactor: Redactor;
  readonly #keptTexts = new KeptTexts();

  constructor(options: TapOptions) {
    const clock = options.clock ?? systemClock;
    const ids = options.ids ?? systemIds;
    this.#redactor = options.redactor ?? createRedactor();
    this.sessions = new SessionRegistry(ids);
    const { activity } = options;
    const report = cleanReport(reportLater(options.report ?? (() => undefined), clock), this.#redactor);
    this.seam = new Seam({ clock, sessions: this.sessions, redactor: this.#redactor, activity, report });
    const onSecret = (secret: string): void => learn(secret, this.#redactor);
    this.requests = new ServerRequests({ seam: this.seam, clock, ids, report, onSecret });
  }

  /**
   * Binds an attempt to the hidden session of a member.
   * @throws RoomtapError `session_busy` while another attempt on the session has not been sealed
   */
  begin(coordinates: Coordinates, durableSessionId: string, origin: string | null): Attempt {
    const session = this.sessions.open(durableSessionId, { roomPlumbing: true });
    refuseBusy(session);
    const bound = Object.isFrozen(coordinates) ? coordinates : makeCoordinates(coordinates);
    const attempt = new Attempt(bound, session, origin, this.#redactor);
    session.running = attempt;
    return attempt;
  }

  /**
   * Binds a turn to an ordinary session, in the step that decides that it runs: from here to its last frame every event
   * of the session carries who claimed it.
   * @throws RoomtapError `session_busy` while another turn runs there
   */
  claim(session: Session, turn: { readonly id: string; readonly source: TurnSource }): Execution {
    refuseBusy(session);
    const execution = new Execution(session, turn, this.#redactor);
    session.running = execution;
    return execution;
  }

  /** Tells that the turn began. Call it when the row is durable and before the runner. */
  started(attempt: Attempt, payload: TurnStarted, row: RowRef): void {
    const masked = cleanPayload(payload, this.#redactor);
    const told = { ...(masked.payload as unknown as TurnStarted), row: { ...row } };
    this.seam.publish(attempt, "turn.started", told, { bytes: masked.bytes });
  }

  /** Puts out a frame of the turn's runner. A type that only the host builds is refused. Never throws. */
  emit(execution: Execution, frame: RunnerFrame): WriteResult {
    try {
      if (isHostType(frame.type, !execution.session.roomPlumbing) && !execution.sealed)
        return this.seam.refuse("invalid_frame");
      return this.write(execution, frame);
    } catch {
      // A frame that is none, or whose own getters throw.
      return this.seam.refuse("invalid_frame");
    }
  }

  /** Puts out a frame that the host builds for the turn: how it began, what steered it. Never throws. */
  write(execution: Execution, { type, payload }: RunnerFrame): WriteResult {
    const params = { type, session_id: execution.session.runtimeId, payload };
    return this.seam.writeJson({ jsonrpc: "2.0", method: "event", params }, execution);
  }

  /**
   * Closes the execution: open requests are cancelled, open calls end `interrupted`, held text leaves; every later frame is
   * late. An attempt frees its session for the next one; another turn does so with its last frame. Sealed again, it is only told once more what it was, its text as far as
   * that is still kept.
   */
  seal(execution: Execution, reason: CancelWord): Sealed {
    if (!execution.sealed) {
      this.requests.cancelAll(execution, reason);
      for (const tool of [...execution.openTools]) this.seam.endTool(execution, tool.tool_id, "interrupted");
      this.seam.flush(execution);
      execution.seal();
      if (execution instanceof Attempt) execution.session.running = null;
      this.#keptTexts.add(execution);
    }
    const { text } = execution.message;
    return { activity_count: nextEvent(execution), text, cut: text.length < execution.message.units };
  }

  /** Tells that a turn outside rooms ended, once: its last frame. Call it when the end is stored. */
  complete(execution: Execution, payload: JsonObject): WriteResult {
    return this.seam.complete(execution, payload);
  }

  /** Tells that the turn ended, once. Call it when the row is durable. Its event is the attempt's last. */
  settled(attempt: Attempt, payload: TurnSettled, row: RowRef): void {
    if (attempt.settled) return;
    attempt.settled = true;
    // Of an abandoned attempt nobody knows how many events the dead host had told.
    const numbered = payload.activity_count !== null;
    const counts = numbered ? { ...attempt.counts(), "turn.settled": 1 } : {};
    // Events are frozen, and these objects are their makers' own.
    const usage = payload.usage === null ? null : { ...payload.usage };
    const told = { ...payload, usage, row: { ...row }, counts };
    this.seam.publish(attempt, "turn.settled", told, { bytes: estimateBytes(told), numbered });
  }

  /** An error's text as it may stand in a row; "" when it repeats the turn's reasoning, which not everybody may see. */
  cleanError(execution: Execution, text: string): string {
    const clean = this.clean(text);
    return execution.repeatsReasoning(clean) ? "" : clean;
  }

  /** A text as it may leave: well formed, secrets masked. */
  clean(text: string): string {
    return cleanText(text, this.#redactor);
  }
}

/** Has a secret that a person typed masked from now on. */
function learn(secret: string, redactor: Redactor): void {
  try {
    redactor.addLiterals([secret]);
  } catch {
    // Too short, too long or one too many to be found in texts: it leaves by its key or its prefix at most.
  }
}

function refuseBusy({ durableId, running }: Session): void {
  if (running === null) return;
  throw new RoomtapError("session_busy", `session ${durableId} already runs ${running.turnId}`);
}

function nextEvent(execution: Execution): number {
  if (!(execution instanceof Attempt)) return 0;
  return execution.settled ? execution.n : execution.n + 1;
}
