import type { CancelReason, TurnSettled } from "./activity.ts";
import type { CancelWord } from "./open-request.ts";
import { limits } from "./options.ts";
import type { TurnEnd } from "./runner.ts";
import type { Sealed } from "./tap.ts";
import { cutUtf8, utf8Length } from "./utf8.ts";

/** Why a turn was asked to stop: a cancellation, or that its time was over. */
export type StopReason = CancelReason | "turn_deadline";

/** What a settled row is made of. */
export interface SettlementSource {
  /** How the runner says the turn ended, as `parseTurnEnd` reads it. */
  readonly end: TurnEnd;
  /** Why the turn was asked to stop before the runner said so; null when it was not. */
  readonly stopped: StopReason | null;
  readonly sealed: Sealed;
  /** Monotonic ms from the call of the runner. */
  readonly durationMs: number;
  /** Masks the secrets of a text that did not come through the seam. */
  readonly clean: (text: string) => string;
  /** The same for an error, which may repeat what not everybody may see. */
  readonly cleanError: (text: string) => string;
}

/** What differs between the settlements of a room and of an ordinary session. */
export interface SettlementRules {
  /** Whether a member may pass: its word for that is no text then. */
  readonly passes: boolean;
  /** Of the text. UTF-8 bytes. */
  readonly maxTextBytes: number;
}

/** Those of a room, whose rows have bounds. */
export const roomRules: SettlementRules = { passes: true, maxTextBytes: limits.maxSettledTextBytes };
/** Those of an ordinary session: who is asked there alone has nobody to pass to. */
export const sessionRules: SettlementRules = { passes: false, maxTextBytes: limits.maxAnswerBytes };

const passWord = /^(?:pass\.?|\(pass\.?\)\.?)?$/i;

/**
 * The payload of the attempt's one settled row. A turn that was asked to stop is `cancelled` whatever its runner calls it
 * afterwards, and keeps its text. A text that the runner gives is redacted as one; else what was streamed stands, as it
 * left the seam.
 */
export function settle(source: SettlementSource, rules = roomRules): TurnSettled {
  const { end, stopped, sealed } = source;
  const bounded = (text: Whole): Bounded => boundedBy(rules.maxTextBytes, text);
  const durationMs = Math.max(0, Math.round(source.durationMs));
  const streamed = { text: sealed.text, cut: sealed.cut };
  const base = { error: null, usage: null, activity_count: sealed.activity_count, duration_ms: durationMs };
  if (stopped === "turn_deadline") return { ...base, status: "failed", reason_code: stopped, ...bounded(streamed) };
  if (stopped !== null) return { ...base, status: "cancelled", reason_code: stopped, ...bounded(streamed) };
  switch (end.status) {
    case "cancelled":
      return { ...base, status: "cancelled", reason_code: "interrupted", ...bounded(streamed) };
    case "failed": {
      const error = end.error === undefined ? null : cutUtf8(source.cleanError(end.error), limits.maxErrorTextBytes);
      return { ...base, status: "failed", reason_code: end.reason_code, error, ...bounded(streamed) };
    }
    case "passed": {
      const usage = end.usage ?? null;
      if (!rules.passes) return { ...base, status: "completed", reason_code: null, usage, ...bounded(streamed) };
      return { ...base, status: "passed", reason_code: null, usage, text: "", truncated: false };
    }
    case "completed": {
      const usage = end.usage ?? null;
      if (end.text === undefined && sealed.text === "") {
        const error = "the runner ended its turn without any text";
        return { ...base, status: "failed", reason_code: "no_result", error, usage, text: "", truncated: false };
      }
      const whole = end.text === undefined ? streamed : { text: source.clean(end.text), cut: false };
      if (rules.passes && !whole.cut && isPass(whole.text)) {
        return { ...base, status: "passed", reason_code: null, usage, text: "", truncated: false };
      }
      return { ...base, status: "completed", reason_code: null, usage, ...bounded(whole) };
    }
  }
}

/** The payload for an attempt whose host died: it may have run, and nobody knows its numbers. */
export const abandoned: TurnSettled = {
  status: "abandoned",
  reason_code: "host_lost",
  text: "",
  truncated: false,
  error: null,
  usage: null,
  activity_count: null,
  duration_ms: null,
};

/** Why the attempt's open requests are withdrawn when it ends. */
export function cancelWordOf(end: TurnEnd, stopped: StopReason | null): CancelWord {
  if (stopped === "shutdown") return "shutdown";
  return end.status === "failed" && end.reason_code === "runner_lost" ? "runner_lost" : "interrupted";
}

/** Nothing but white space, or `pass` in any case, with or without parentheses and a full stop. */
function isPass(text: string): boolean {
  // Trimmed first: an expression that allows white space at both ends would walk a long blank text over and over.
  return passWord.test(text.trim());
}

/** A text, and whether it goes on beyond what is here. */
interface Whole {
  readonly text: string;
  readonly cut: boolean;
}

type Bounded = Pick<TurnSettled, "text" | "truncated">;

/** At most so many bytes of UTF-8, and three times as many as JSON, where a control character takes six: so a row has room. */
function boundedBy(maxBytes: number, { text, cut }: Whole): Bounded {
  const maxJsonBytes = maxBytes * 3;
  let kept = cutUtf8(text, maxBytes);
  for (let bytes = utf8Length(JSON.stringify(kept)); bytes > maxJsonBytes; bytes = utf8Length(JSON.stringify(kept))) {
    kept = cutUtf8(kept, Math.floor((utf8Length(kept) * maxJsonBytes) / bytes));
  }
  return { text: kept, truncated: cut || kept.length < text.length };
}
