import { z } from "zod";
import type { TurnMark } from "./turn-source.ts";

/** Data of a frame, as JSON has it. */
export type JsonObject = { readonly [key: string]: unknown };

/** An event notification that leaves a session. `seq`, `origin` and `turn` are written by the seam alone. */
export interface EventFrame {
  readonly jsonrpc: "2.0";
  readonly method: "event";
  readonly params: {
    readonly type: string;
    /** Runtime id of the session; absent for events of no session. */
    readonly session_id?: string | undefined;
    /** Per session, from 1, +1 each; never restarts within a process life. */
    readonly seq?: number | undefined;
    /** Who claimed the turn that runs; absent while the session is idle, and when nobody is named. */
    readonly origin?: string | undefined;
    /** The turn that runs; absent while the session is idle. */
    readonly turn?: TurnMark["turn"] | undefined;
    readonly payload?: JsonObject | undefined;
  };
}

/** A question to people, from server to client. `params.session_id` is always there. */
export interface RequestFrame {
  readonly jsonrpc: "2.0";
  /** `srq-` and 12 hex digits; always a string. */
  readonly id: string;
  readonly method: string;
  readonly params: JsonObject & { readonly session_id: string };
}

/** What leaves by the seam. */
export type Frame = EventFrame | RequestFrame;

/** What a runner emits: a frame without its envelope. */
export interface RunnerFrame {
  readonly type: string;
  readonly payload?: JsonObject | undefined;
}

// Frames are loose: a newer agent or client may send keys that we do not know yet, and they pass.
const eventFrameSchema = z.looseObject({
  jsonrpc: z.literal("2.0"),
  method: z.literal("event"),
  params: z.looseObject({
    type: z.string().min(1),
    session_id: z.string().optional(),
    payload: z.record(z.string(), z.unknown()).optional(),
  }),
});

/** An event frame from outside (a child, a file), or what is wrong with it. Unknown types are frames like any other. */
export function parseEventFrame(value: unknown): { ok: true; frame: EventFrame } | { ok: false; problem: string } {
  const parsed = eventFrameSchema.safeParse(value);
  if (parsed.success) return { ok: true, frame: parsed.data };
  const issue = parsed.error.issues[0];
  return { ok: false, problem: `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "not an event frame"}` };
}

/**
 * Frame types of which the seam knows more than that they pass. `host: true` means that only the host builds it:
 * from a runner it is refused.
 */
export const frameTable = {
  "message.delta": { host: false },
  "message.interim": { host: false },
  "reasoning.delta": { host: false },
  "tool.start": { host: false },
  "tool.complete": { host: false },
  "tool.output_risk": { host: false },
  error: { host: false },
  "message.start": { host: true },
  "message.input": { host: true },
  "message.complete": { host: true },
  "request.update": { host: true },
  "request.cancel": { host: true },
  "request.resolved": { host: true },
  "session.sharing": { host: true },
  "session.detached": { host: true },
  "session.reclaimed": { host: true },
} as const satisfies Record<string, { host: boolean }>;

/** A key of `frameTable`. */
export type KnownFrameType = keyof typeof frameTable;

const knownTypes: ReadonlyMap<string, { readonly host: boolean }> = new Map(Object.entries(frameTable));

/** First words of types that clients take for the host's own, whatever follows. */
const hostWords: ReadonlySet<string> = new Set(["gateway", "session", "request", "room"]);

/**
 * Whether only the host may build a frame of this type.
 * @param isSeen whether clients may get it: in a hidden session, a runner's word about the session deceives nobody
 */
export function isHostType(type: string, isSeen: boolean): boolean {
  const known = knownTypes.get(type);
  if (known !== undefined) return known.host;
  const end = type.indexOf(".");
  return isSeen && end > 0 && hostWords.has(type.slice(0, end));
}
