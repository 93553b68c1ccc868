import { z } from "zod";
import { coordinatesSchema, type Coordinates } from "./coordinates.ts";

/** How a tool call ended. `unknown` is honest: it ended and nobody said how. */
export const toolOutcomes = ["ok", "error", "denied", "cancelled", "timeout", "interrupted", "unknown"] as const;
/** A word of `toolOutcomes`. */
export type ToolOutcome = (typeof toolOutcomes)[number];

/** How a request ended: by a yes, by a no, by its deadline, or with its turn. */
export const requestOutcomes = ["answered", "denied", "expired", "cancelled"] as const;
/** A word of `requestOutcomes`. */
export type RequestOutcomeWord = (typeof requestOutcomes)[number];

/** Who wrote a text. */
export interface Author {
  readonly kind: "person" | "agent";
  readonly id: string;
  readonly display_name?: string | undefined;
}

/** A piece of a turn's input: a post in full, a post that an earlier row holds, or a member's answer in a row. */
export type InputItem =
  | {
      readonly message_id: string;
      readonly author: Author;
      readonly text: string;
      readonly attachments?: readonly string[] | undefined;
    }
  | { readonly message_id: string; readonly row_seq: number }
  | { readonly row_seq: number };

/** Why a turn began. */
export const startCauses = ["message", "mention", "queued", "auto_continue", "retry", "host"] as const;
/** A word of `startCauses`. */
export type StartCause = (typeof startCauses)[number];

/** How a turn ended. `passed`: the member had nothing to say; `abandoned`: its host died. */
export const turnStatuses = ["completed", "passed", "failed", "cancelled", "superseded", "abandoned"] as const;
/** A word of `turnStatuses`. */
export type TurnStatus = (typeof turnStatuses)[number];

/** Reason codes of `turn.settled`, by status. A status that stands here with none has `reason_code: null`. */
export const reasonCodes = {
  completed: [],
  passed: [],
  failed: [
    "runner_error",
    "runner_lost",
    "not_admitted",
    "member_unavailable",
    "provider_auth",
    "provider_rate_limit",
    "provider_unavailable",
    "context_overflow",
    "turn_deadline",
    "no_result",
    "invalid_script",
    "unknown",
  ],
  cancelled: ["stopped", "turn_cancelled", "interrupted", "member_removed", "room_disbanded", "shutdown"],
  superseded: ["newer_message"],
  abandoned: ["host_lost"],
} as const satisfies Record<TurnStatus, readonly string[]>;

/** Why a turn is `failed`. */
export type FailureReason = (typeof reasonCodes.failed)[number];
/** Why a turn is `cancelled`. */
export type CancelReason = (typeof reasonCodes.cancelled)[number];
/** Why a turn ended as it did, whatever its status. */
export type ReasonCode = (typeof reasonCodes)[TurnStatus][number];

/** Tokens and cost as the runner reported them, unchanged. */
export type Usage = { readonly [key: string]: number };

/** Payload of a `turn.started` row, and, with secrets masked and `row` beside it, of the event. */
export interface TurnStarted {
  readonly input: readonly InputItem[];
  readonly cause: StartCause;
  /** Of the post or the caller; `"host"`, `"auto_continue"`; null when nobody gave one (the command line). */
  readonly origin: string | null;
  /** The last row of the thread that was shown to the member; 0 when none was. */
  readonly seen_through_seq: number;
  readonly roster_digest: string;
  /** The post that opened the discussion, and the turn's place in it: what `turn_id` is a digest of. */
  readonly discussion: { readonly message_id: string; readonly round: number; readonly slot: number };
}

/** Payload of a `turn.settled` row, and, with `row` and `counts` beside it, of the event. */
export interface TurnSettled {
  readonly status: TurnStatus;
  readonly reason_code: ReasonCode | null;
  /** At most 64 KiB of valid UTF-8; "" when there is none. */
  readonly text: string;
  readonly truncated: boolean;
  /** Redacted; null when nothing went wrong. */
  readonly error: string | null;
  /** null when the runner reported none: never 0 in its place. */
  readonly usage: Usage | null;
  /** `n` of the `turn.settled` event. null for `abandoned`: nobody knows the dead host's numbers. */
  readonly activity_count: number | null;
  /** Monotonic, whole ms. null for `abandoned`. */
  readonly duration_ms: number | null;
}

/** The row that a `turn.*` event tells of. */
export interface RowRef {
  readonly seq: number;
  readonly hash: string;
}

/** A run of events that one consumer did not get. Counts of all kinds add up to `dropped` + `withheld`. */
export interface Gap {
  /** Lost at the queue's bound. */
  readonly dropped: number;
  /** Kept back because a grant is missing: no loss. */
  readonly withheld: number;
  /** First and last missing `n`; null in the gap that counts what no longer could be told by attempt. */
  readonly first_n: number | null;
  readonly last_n: number | null;
  readonly kinds: { readonly [kind: string]: number };
  /** `overflow` if anything was dropped. */
  readonly reason: "overflow" | "not_granted";
}

/** A piece of a streamed text, as it left the seam: well formed and without secrets. */
export interface Delta {
  readonly text: string;
  /** UTF-16 units of this kind that the attempt released before `text`. */
  readonly offset: number;
  /** The first delta behind a gap: `offset` is 0 and `text` is everything up to and including it. */
  readonly snapshot?: true | undefined;
}

/** What the frame of an event brought was no JSON: only what names the call was kept. */
interface Unserialisable {
  readonly unserialisable?: true | undefined;
}

/** What each kind of event carries at level `standard`. Kinds are past facts. */
export interface ActivityPayloads {
  "turn.started": TurnStarted & { readonly row: RowRef };
  "turn.settled": TurnSettled & { readonly row: RowRef; readonly counts: { readonly [kind: string]: number } };
  "tool.started": Unserialisable & {
    readonly tool_id: string;
    readonly name: string;
    readonly args?: unknown;
    readonly context?: unknown;
  };
  "tool.completed": Unserialisable & {
    readonly tool_id: string;
    readonly name: string;
    readonly outcome: ToolOutcome;
    readonly duration_ms?: number | undefined;
    readonly result?: unknown;
    readonly summary?: unknown;
    readonly error?: unknown;
  };
  "tool.output_risk": Unserialisable & {
    readonly tool_id: string;
    readonly name: string;
    readonly risk?: unknown;
    readonly findings?: unknown;
    readonly redacted?: unknown;
  };
  "message.delta": Delta;
  "message.interim": Unserialisable & { readonly text: string; readonly already_streamed: boolean };
  "reasoning.delta": Delta;
  "request.opened": {
    /** `srq-` and 12 hex: what an answer names. */
    readonly id: string;
    readonly request_id?: string | undefined;
    readonly method: string;
    readonly tool_id?: string | undefined;
    readonly command?: string | undefined;
    readonly description?: string | undefined;
    readonly question?: string | undefined;
    /** Several that are asked together: `{qid, question, choices?, multi_select?}`. */
    readonly questions?: unknown;
    readonly prompt?: string | undefined;
    /** The variable that a secret is for. */
    readonly env_var?: string | undefined;
    readonly choices?: readonly string[] | undefined;
    /** Wall time in ms; null when it never expires. */
    readonly expires_at: number | null;
  };
  "request.resolved": {
    readonly id: string;
    readonly request_id?: string | undefined;
    readonly method: string;
    readonly outcome: RequestOutcomeWord;
    readonly choice?: string | undefined;
    readonly reason?: string | undefined;
    /** Who answered; null when the host did (a policy, an expiry, an end). */
    readonly by: { readonly origin: string } | null;
  };
  "turn.error": Unserialisable & { readonly message: string; readonly reason?: string | undefined };
  gap: Gap;
}

/** What happened: a key of `kindTable`. */
export type ActivityKind = keyof ActivityPayloads;

/** How a queue at its bound treats a kind, and which grant it needs. */
export interface KindEntry {
  /** `middle` is merged, then dropped before anything else; `start`, `end` and `other` outlive it. */
  readonly class: "start" | "middle" | "end" | "other";
  /** Without this grant the event is withheld (`reasoning`), or comes at level `meta` (`approvals`). */
  readonly grant?: "reasoning" | "approvals";
}

/** The one table of activity kinds. Its order gives each kind its number. */
export const kindTable = {
  "turn.started": { class: "start" },
  "turn.settled": { class: "end" },
  "tool.started": { class: "start" },
  "tool.completed": { class: "end" },
  "tool.output_risk": { class: "other" },
  "message.delta": { class: "middle" },
  "message.interim": { class: "other" },
  "reasoning.delta": { class: "middle", grant: "reasoning" },
  "request.opened": { class: "start", grant: "approvals" },
  "request.resolved": { class: "end", grant: "approvals" },
  "turn.error": { class: "other" },
  gap: { class: "other" },
} as const satisfies Record<ActivityKind, KindEntry>;

/** All kinds in the order of their numbers. */
export const activityKinds = Object.keys(kindTable) as readonly ActivityKind[];

/** A field that was cut to fit a bound, and its whole length in bytes of UTF-8. */
export interface TruncatedField {
  /** Path in the payload, e.g. `result` or `args.content`. */
  readonly field: string;
  readonly bytes: number;
}

/** An event of one kind. Three numbers, never mixed: `n` (attempt), `seq` (session frames), `payload.row.seq` (log). */
export interface EventOf<Kind extends ActivityKind> {
  readonly v: 1;
  /** One object per attempt, shared by its events. null only in a `gap` that no attempt could be named for. */
  readonly coordinates: Kind extends "gap" ? Coordinates | null : Coordinates;
  readonly kind: Kind;
  /** Numbers the attempt's events from 1 without holes; null on a `gap`, and on the end of an abandoned attempt. */
  readonly n: number | null;
  /** On a merged delta: the first `n` in it. */
  readonly n_from?: number | undefined;
  /** The session's frame number; null on events that are no event frame. */
  readonly seq: number | null;
  /** Wall time in ms, read once per turn of the event loop. For display only. */
  readonly at: number;
  readonly payload: ActivityPayloads[Kind];
  readonly truncated?: readonly TruncatedField[] | undefined;
}

/** A frame of a room turn as an observer sees it: stamped, redacted, numbered; frozen when it is delivered. */
export type ActivityEvent = { [Kind in ActivityKind]: EventOf<Kind> }[ActivityKind];

/** An activity event read back from outside (a recording, `roomtap demo --json`). Payloads are loose: they may grow. */
export const activityEventSchema = z.looseObject({
  v: z.literal(1),
  coordinates: coordinatesSchema.nullable(),
  kind: z.enum(activityKinds),
  n: z.int().min(1).nullable(),
  n_from: z.int().min(1).optional(),
  seq: z.int().min(1).nullable(),
  at: z.number(),
  payload: z.looseObject({}),
  truncated: z.array(z.looseObject({ field: z.string(), bytes: z.int().min(0) })).optional(),
});
