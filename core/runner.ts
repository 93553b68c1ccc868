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
  /** A method of `requestTable`: `approval`, `clarify`, `secret`, `sudo`, `ask`, ... By any other nobody is asked. */
  readonly method: string;
  /**
   * What is asked; fields that the method does not know reach nobody. Without those that are not marked `?`, and above
   * 262,144 estimated bytes, it is no question and ends at once, `no_handler`.
   *
   * Of an `approval`, which only needs to be an object:
   * - `tool_id?`, `tool_name?`: the call it is about; an id that was not heard of opens the call under that name
   * - `command?`, `description?`: texts for people, up to 65,536 UTF-16 units each; a longer one can only be denied
   * - `choices?`: what may be answered, of `once`, `session`, `always` and `deny`; in a room `once` and `deny`. `deny` always.
   *   Without it `smart_denied?` and `allow_session?: false` exclude `session`, `allow_permanent?: false` excludes `always`
   *
   * Of the others:
   * - `clarify`: `question`, `choices?`, `multi_select?`; or up to 64 of them as `questions`, each with a `qid` of its own
   * - `secret`: `env_var`, `prompt?`; `sudo`: `command`; `ask`: `prompt`, `schema?` (of the value, told to clients)
   * - `vault.*`, `terminal.read`, `window.read`, `preview.read`, `preview.act`, `tour`: anything, handed on
   */
  readonly params: JsonObject;
}

/** The one outcome of a question. */
export interface RequestOutcome {
  readonly outcome: RequestOutcomeWord;
  /** What was answered to an approval. Absent when nobody answered, and of any other question. */
  readonly choice?: string | undefined;
  /** Why nobody answered; or `rule`: it was approved before, for the session or for good; or a text of who answered. */
  readonly reason?: string | undefined;
  /** Who answered; null when the host did. */
  readonly by: { readonly origin: string } | null;
}

/** What the one who asked gets: the outcome, and what was answered, which nobody else is told. */
export interface Answered extends RequestOutcome {
  /** As the method's schema has it: `{answer}`, `{answers}`, `{value}`. Absent when nobody answered, and of an approval. */
  readonly result?: JsonObject | undefined;
  /** The time was over; `result` holds what was answered of several questions until then. */
  readonly timed_out?: true | undefined;
}

/** A text for a turn that runs: `steer` adds to what it does, `redirect` has it do this instead. */
export interface Correction {
  readonly kind: "steer" | "redirect";
  readonly text: string;
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
  readonly turn_id: string;
  /** Where it belongs in its room; null for a turn of an ordinary session. */
  readonly coordinates: Coordinates | null;
  /** Outside rooms the agent itself. */
  readonly member: TurnMember;
  /** Durable id of the session that it runs on, of a room the member's in this thread: the same over its turns. */
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
  ask(question: Question): Promise<Answered>;
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
  /**
   * Takes a text into a turn that runs, and says whether it did. `turn` is the object that `run` was handed. Without it
   * such a text waits for the turn's end.
   */
  steer?(turn: Turn, correction: Correction): boolean | Promise<boolean>;
  /** Ends processes and frees what is held; safe to call twice. */
  close(): Promise<void>;
}
