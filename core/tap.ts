import type { TurnSettled, TurnStarted, RowRef } from "./activity.ts";
import type { ActivitySink } from "./activity-sink.ts";
import { Attempt } from "./attempt.ts";
import { cleanPayload, cleanText } from "./clean.ts";
import { cleanReport } from "./clean-report.ts";
import { systemClock, systemIds, type Clock, type IdSource } from "./clock.ts";
import { makeCoordinates, type Coordinates } from "./coordinates.ts";
import { estimateBytes } from "./cut.ts";
import { reportLater, RoomtapError, type Report } from "./errors.ts";
import { isHostType, type RunnerFrame } from "./frames.ts";
import { KeptTexts } from "./kept-texts.ts";
import { createRedactor, type Redactor } from "./redact.ts";
import type { WriteResult } from "./runner.ts";
import { Seam } from "./seam.ts";
import { ServerRequests, type CancelWord } from "./server-requests.ts";
import { SessionRegistry } from "./sessions.ts";

/** What an attempt was when it was sealed: the numbers and the text that its settled row needs. */
export interface Sealed {
  /** `n` of the `turn.settled` event to come. */
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
    this.requests = new ServerRequests({ seam: this.seam, clock, ids, report });
  }

  /**
   * Binds an attempt to the hidden session of a member.
   * @throws RoomtapError `session_busy` while another attempt on the session has not been sealed
   */
  begin(coordinates: Coordinates, durableSessionId: string, origin: string | null): Attempt {
    const session = this.sessions.open(durableSessionId, { roomPlumbing: true });
    if (session.attempt !== null) {
      throw new RoomtapError(
        "session_busy",
        `session ${durableSessionId} already runs ${session.attempt.coordinates.turn_id}`,
      );
    }
    const bound = Object.isFrozen(coordinates) ? coordinates : makeCoordinates(coordinates);
    const attempt = new Attempt(bound, session, origin, this.#redactor);
    session.attempt = attempt;
    return attempt;
  }

  /** Tells that the turn began. Call it when the row is durable and before the runner. */
  started(attempt: Attempt, payload: TurnStarted, row: RowRef): void {
    const masked = cleanPayload(payload, this.#redactor);
    const told = { ...(masked.payload as unknown as TurnStarted), row: { ...row } };
    this.seam.publish(attempt, "turn.started", told, { bytes: masked.bytes });
  }

  /** Puts out a frame of the attempt's runner. A type that only the host builds is refused. Never throws. */
  emit(attempt: Attempt, frame: RunnerFrame): WriteResult {
    try {
      const { type, payload } = frame;
      if (isHostType(type) && !attempt.sealed) return this.seam.refuse("invalid_frame");
      const params = { type, session_id: attempt.session.runtimeId, payload };
      return this.seam.writeJson({ jsonrpc: "2.0", method: "event", params }, attempt);
    } catch {
      // A frame that is none, or whose own getters throw.
      return this.seam.refuse("invalid_frame");
    }
  }

  /**
   * Closes the attempt: held text leaves, open requests are cancelled, open calls end `interrupted`; every later frame is
   * late. It frees the session for the next attempt. Sealed again, it is only told once more what it was, its text as far as
   * that is still kept.
   */
  seal(attempt: Attempt, reason: CancelWord): Sealed {
    if (!attempt.sealed) {
      this.requests.cancelAll(attempt, reason);
      for (const tool of [...attempt.openTools]) this.seam.endTool(attempt, tool.tool_id, "interrupted");
      this.seam.flush(attempt);
      attempt.seal();
      attempt.session.attempt = null;
      this.#keptTexts.add(attempt);
    }
    const { text } = attempt.message;
    const next = attempt.settled ? attempt.n : attempt.n + 1;
    return { activity_count: next, text, cut: text.length < attempt.message.units };
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

  /** An error's text as it may stand in a row; "" when it repeats the attempt's reasoning, which not everybody may see. */
  cleanError(attempt: Attempt, text: string): string {
    const clean = this.clean(text);
    return attempt.repeatsReasoning(clean) ? "" : clean;
  }

  /** A text as it may leave: well formed, secrets masked. */
  clean(text: string): string {
    return cleanText(text, this.#redactor);
  }
}
