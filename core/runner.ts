import type { Author, FailureReason, RequestOutcomeWord, Usage } from "./activity.ts";
import type { Coordinates } from "./coordinates.ts";
import type { JsonObject, RunnerFrame } from "./frames.ts";

/** One text of a thread as it is shown to a member. */
export interface TranscriptEntry {
  readonly author: Author;
  readonly text: string;
  readonly attachments?: readonly string[] | undefined;
}

/** The member whose turn it is. */
export interface TurnMember {
  readonly member_id: string;
  readonly handle: string;
  readonly display_name: string;
}

/** A question of an agent to people. */
export interface Question {
  readonly method: "approval";
  /**
   * What is to be approved; other fields reach nobody:
   * - `tool_id`, `tool_name`: the call it is about; an id that was not heard of opens the call under that name
   * - `command`, `description`: texts for people, up to 65,536 UTF-16 units each; a longer one can only be denied
   * - `choices`: what may be answered, of `once` and `deny`; both when absent, and `deny` always
   */
  readonly params: JsonObject;
}

/** The one outcome of a question. */
export interface RequestOutcome {
  readonly outcome: RequestOutcomeWord;
  /** What was answered: `once` or `deny`. Absent when nobody answered. */
  readonly choice?: string | undefined;
  readonly reason?: string | undefined;
  /** Who answered; null when the host did. */
  readonly by: { readonly origin: string } | null;
}

/** What became of a frame. All but `written` and `held` had no effect and were counted. */
export type WriteResult =
  /** It left. A frame of a type that roomtap does not know leaves too, and makes no event. */
  | "written"
  /** Text that may begin a secret, or half a surrogate pair: it leaves with what decides it. */
  | "held"
  /** The attempt has settled, or is about to. */
  | "late_frame"
  /** It names a session that is not the attempt's. A runner's frames name none, so it does not meet this. */
  | "unknown_session"
  /**
   * A delta without `text`, a tool frame without a `tool_id` of 1 to 512 characters, a start beyond 1,024 open calls, a
   * type that only the host may build, or no frame at all.
   */
  | "invalid_frame"
  /** The tool call has ended before. */
  | "duplicate_end"
  /** The tool call has started before. */
  | "duplicate_start";

/** One turn as its runner sees it. */
export interface Turn {
  readonly coordinates: Coordinates;
  readonly member: TurnMember;
  /** Durable id of the member's session in this thread: the same over its turns. */
  readonly session: string;
  /** What the member has not seen, oldest first; at least one entry. */
  readonly unseen: readonly TranscriptEntry[];
  /** Up to 24 entries of the thread before those, for an agent whose own memory is new. */
  readonly earlier: readonly TranscriptEntry[];
  /** Aborted when the turn is to stop; its reason is a word (`stopped`, `shutdown`, ...). What is emitted later is late. */
  readonly signal: AbortSignal;
  /** Puts a frame through the seam. Never throws, never waits. */
  emit(frame: RunnerFrame): WriteResult;
  /** Asks people. Settles exactly once, also when the turn ends first (`cancelled`); never rejects. */
  ask(question: Question): Promise<RequestOutcome>;
}

/** How a runner says its turn ended. */
export type TurnEnd =
  /** Without `text`, what was streamed is the text. Nothing at all is `no_result`; `pass` is a pass. */
  | { readonly status: "completed"; readonly text?: string | undefined; readonly usage?: Usage | null | undefined }
  /** Nothing to say. */
  | { readonly status: "passed"; readonly usage?: Usage | null | undefined }
  | { readonly status: "failed"; readonly reason_code: FailureReason; readonly error?: string | undefined }
  /** It stopped because `signal` asked it to. */
  | { readonly status: "cancelled" };

/**
 * An agent, as a driver needs it: anything that yields frames, asks, takes answers and can be stopped.
 * One runner may serve several members; each turn is told apart by what it was handed, never by "the current turn".
 */
export interface Runner {
  /** The word for it in configs and in `roster_digest`, e.g. `acp`. */
  readonly kind: string;
  /** `safe`: a turn that a dead host left may be run again by itself. Default: only when somebody asks for it. */
  readonly rerun?: "safe" | undefined;
  /**
   * Runs one turn and tells its end. A rejection settles the turn `failed`, `runner_error`. It must end soon after
   * `turn.signal` is aborted: the host waits `stopGraceMs`, then settles without it.
   */
  run(turn: Turn): Promise<TurnEnd>;
  /** Ends processes and frees what is held; safe to call twice. */
  close(): Promise<void>;
}
