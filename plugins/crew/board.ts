import type {
  MemberStateWord,
  ReasonCode,
  RequestOutcomeWord,
  Scope,
  StartCause,
  ToolOutcome,
  TruncatedField,
  TurnStatus,
  Usage,
  WaitsBehind,
} from "../../core/index.ts";
import { boardBounds, type BoardBounds } from "./bounds.ts";

/** A number of things, and whether it is all of them or as many as were seen. */
export interface Tally {
  readonly count: number;
  readonly certainty: "exact" | "at_least";
}

/** Events that are not on the board, by cause and kind. */
export interface Missing {
  /** Lost at a queue's bound, as gaps told. */
  readonly dropped: number;
  /** Kept back because a grant is missing: no loss. */
  readonly withheld: number;
  /** Holes in the numbers that nobody explained, and what passed before anybody looked. */
  readonly unseen: number;
  /** By kind, what gaps told of. */
  readonly kinds: { readonly [kind: string]: number };
}

/** The end of a text that a member streams, put together by offset. */
export interface StreamedText {
  /** UTF-16 units in front of `text`: forgotten, or never seen. */
  readonly start: number;
  readonly text: string;
  /** Some of what stands in front of `text` never came. */
  readonly lacks_start: boolean;
  /** Something behind `text` was lost, and nothing has made it good yet. */
  readonly lacks_end: boolean;
}

/** A tool call. */
export interface ToolCard {
  readonly tool_id: string;
  readonly name: string;
  /** `lost`: it is over, and its end never came. */
  readonly state: "running" | "ended" | "lost";
  /** Wall ms; null when its start was not seen. */
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly duration_ms: number | null;
  /** null while it runs and when its end was lost. `unknown` is neither a success nor a failure. */
  readonly outcome: ToolOutcome | null;
  readonly args?: unknown;
  readonly context?: unknown;
  readonly result?: unknown;
  readonly summary?: unknown;
  readonly error?: unknown;
  /** What was found in its output. */
  readonly risk?: unknown;
  /** Fields that are not whole here. */
  readonly truncated: readonly TruncatedField[];
}

/** A question of a member, or an approval that it asks for. */
export interface RequestCard {
  /** `srq-` and 12 hex: what an answer names. */
  readonly id: string;
  readonly request_id?: string | undefined;
  readonly method: string;
  /** Who may answer: what a credential must hold. */
  readonly scope: Scope;
  /** `lost`: it waits no more, and its outcome never came. */
  readonly state: "open" | "resolved" | "lost";
  readonly tool_id?: string | undefined;
  readonly command?: string | undefined;
  readonly description?: string | undefined;
  readonly question?: string | undefined;
  readonly questions?: unknown;
  readonly prompt?: string | undefined;
  readonly env_var?: string | undefined;
  readonly choices?: readonly string[] | undefined;
  /** What is asked was kept back for want of a grant. */
  readonly is_withheld: boolean;
  /** Wall ms; null when it is not known. */
  readonly opened_at: number | null;
  /** Wall ms; null when it never expires. */
  readonly expires_at: number | null;
  readonly resolved_at: number | null;
  readonly outcome: RequestOutcomeWord | null;
  readonly choice?: string | undefined;
  readonly reason?: string | undefined;
  /** Who answered; null when the host did, and while nobody has. */
  readonly by: { readonly origin: string } | null;
  readonly truncated: readonly TruncatedField[];
}

/** A text between the streamed ones, or an error. */
export interface TurnNote {
  readonly kind: "interim" | "error";
  readonly text: string;
  readonly at: number;
}

/** An attempt that a retry took the place of. */
export interface EarlierAttempt {
  readonly execution_generation: number;
  readonly status: BoardTurn["status"];
  readonly reason_code: ReasonCode | null;
  readonly tool_calls: Tally;
}

/** One task of a member, as its last attempt stands. */
export interface BoardTurn {
  readonly turn_id: string;
  readonly task_id: string;
  readonly thread_id: string;
  readonly execution_generation: number;
  /** Attempts before this one, whose cards are here no more. */
  readonly earlier: readonly EarlierAttempt[];
  /** What turns are sorted by: the row of its start; while that is not known, half behind the last row that was. */
  readonly place: number;
  /** Number of the row of its start, and of its end; null when they are not known. */
  readonly started_seq: number | null;
  readonly settled_seq: number | null;
  /** Wall ms. */
  readonly started_at: number | null;
  readonly settled_at: number | null;
  readonly cause: StartCause | null;
  /** The post that it answers. */
  readonly input: string | null;
  /** `unknown`: it is over, and nobody told how. `abandoned`: its host died, and it may have run. */
  readonly status: "running" | "unknown" | TurnStatus;
  readonly reason_code: ReasonCode | null;
  readonly error: string | null;
  /** null: not reported. */
  readonly usage: Usage | null;
  readonly duration_ms: number | null;
  /** How many events it had; null while it runs and when nobody knows. */
  readonly activity_count: number | null;
  /** What it settled with; null before. */
  readonly answer: { readonly text: string; readonly truncated: boolean } | null;
  /** The last event that is on the board, or told as missing. */
  readonly n: number;
  /** Its last event has come, or was told as missing. */
  readonly is_closed: boolean;
  readonly missing: Missing;
  /** By kind, as its last event had them; null before. */
  readonly counts: { readonly [kind: string]: number } | null;
  readonly streamed: StreamedText;
  readonly reasoning: StreamedText;
  readonly tool_calls: Tally;
  /** In order of their starts. */
  readonly tools: readonly ToolCard[];
  readonly requests_asked: Tally;
  readonly requests: readonly RequestCard[];
  readonly notes: readonly TurnNote[];
  /** What was on the board and is here no more. `open_tools`: calls that had not ended then, among `tools`. */
  readonly forgotten: {
    readonly tools: number;
    readonly open_tools: number;
    readonly requests: number;
    readonly notes: number;
    readonly earlier: number;
  };
}

/** A member: what it is doing, and its last turns. */
export interface BoardMember {
  readonly member_id: string;
  /** null when no roster was seen. */
  readonly handle: string | null;
  readonly display_name: string | null;
  readonly is_on_roster: boolean;
  readonly state: MemberStateWord;
  /** Wall ms; null when it is not known. */
  readonly since: number | null;
  readonly is_paused: boolean;
  /** Its open turn. */
  readonly turn_id: string | null;
  /** The call that began last of those that are open. */
  readonly tool: { readonly tool_id: string; readonly name: string; readonly since: number | null } | null;
  /** One more turn of it waits; only a host can tell. */
  readonly waits: { readonly behind: WaitsBehind; readonly position: number | null } | null;
  /** Attempt that was asked to stop, `TASK#GENERATION`; only a host can tell. */
  readonly stopping: string | null;
  /** Its state when nothing of it runs or waits. */
  readonly rest: "idle" | "failed";
  readonly last: {
    readonly turn_id: string;
    readonly status: TurnStatus;
    readonly reason_code: ReasonCode | null;
  } | null;
  /** Oldest first. */
  readonly turns: readonly BoardTurn[];
  readonly forgotten_turns: number;
}

/** A room, as its activity shows it. Plain data: never changed, a new one takes its place. */
export interface Board {
  readonly v: 1;
  readonly room_id: string;
  readonly name: string | null;
  /** The last row that is on it. */
  readonly through_seq: number;
  /** In the order of the roster; who is on none, behind. */
  readonly members: readonly BoardMember[];
  /** What gaps told of that could not be told by attempt. */
  readonly unplaced: { readonly dropped: number; readonly withheld: number };
  readonly forgotten_members: number;
  readonly bounds: BoardBounds;
}

/** A board that knows nothing of its room yet. */
export function emptyBoard(roomId: string, bounds: Partial<BoardBounds> = {}): Board {
  return {
    v: 1,
    room_id: roomId,
    name: null,
    through_seq: 0,
    members: [],
    unplaced: { dropped: 0, withheld: 0 },
    forgotten_members: 0,
    bounds: { ...boardBounds, ...bounds },
  };
}
