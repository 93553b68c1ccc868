import type { ActivityEvent, Coordinates, EventOf, ToolOutcome, TurnStatus } from "../../core/index.ts";
import { approvalLines } from "../approval-lines.ts";
import { counted } from "../counted.ts";
import { oneLine, terminalText } from "../terminal-text.ts";

/** Longest summary of arguments, results and errors on a card. UTF-16 units. */
const maxSummaryUnits = 100;
/** Text without a line break is shown when it is this long. UTF-16 units. */
const maxLineUnits = 160;
const maxNameUnits = 60;

/** The text of a member's attempt that has not been shown yet, because its line goes on. */
interface Streaming {
  /** One object per attempt. */
  readonly attempt: Coordinates;
  rest: string;
  /** Where in the attempt's text `rest` ends. */
  end: number;
}

/** Which member an event is about, as people call it. */
export type NameOf = (memberId: string) => string;

/**
 * Turns activity into lines for a terminal: a line per card, the text in whole lines. Everything it shows stands in the
 * events; nothing is guessed from text.
 */
export class CardLines {
  readonly #nameOf: NameOf;
  /** By room and member: each has one attempt at a time. */
  readonly #streaming = new Map<string, Streaming>();

  constructor(nameOf: NameOf) {
    this.#nameOf = nameOf;
  }

  /** The lines that an event adds, without line breaks. */
  of(event: ActivityEvent): readonly string[] {
    // Only a gap may name no attempt.
    if (event.coordinates === null) return gapLines(event.payload as EventOf<"gap">["payload"]);
    const { room_id, member_id } = event.coordinates;
    const who = `${room_id} @${oneLine(this.#nameOf(member_id), maxNameUnits)}`;
    const key = `${room_id} ${member_id}`;
    if (event.kind === "message.delta") return this.#text(key, event).map((line) => `${who} │ ${line}`);
    // Thoughts come in pieces that say little by themselves; they are in the stream of events.
    if (event.kind === "reasoning.delta") return [];
    const held = this.#flush(key).map((line) => `${who} │ ${line}`);
    if (event.kind === "turn.settled") this.#streaming.delete(key);
    return [...held, ...cardOf(event).map((line) => `${who} ${line}`)];
  }

  #text(key: string, { coordinates, payload }: EventOf<"message.delta">): readonly string[] {
    const { text, offset, snapshot } = payload;
    const before = this.#streaming.get(key);
    const known = before?.attempt === coordinates ? before : { attempt: coordinates, rest: "", end: 0 };
    // A snapshot repeats what was shown before the loss: only what is new is shown.
    const news = snapshot === true ? text.slice(Math.max(0, known.end - offset)) : text;
    const lines = `${known.rest}${news}`.split("\n");
    const last = lines.pop() ?? "";
    const shown = last.length > maxLineUnits ? [...lines, last] : lines;
    const rest = last.length > maxLineUnits ? "" : last;
    this.#streaming.set(key, { attempt: coordinates, rest, end: offset + text.length });
    return shown.map(shownLine).filter((line) => line !== "");
  }

  #flush(key: string): readonly string[] {
    const known = this.#streaming.get(key);
    const line = shownLine(known?.rest ?? "");
    if (known === undefined || line === "") return [];
    known.rest = "";
    return [line];
  }
}

/** A line break may come as two characters. */
function shownLine(line: string): string {
  return terminalText(line.trimEnd());
}

type CardEvent = Exclude<ActivityEvent, { readonly kind: "message.delta" | "reasoning.delta" }>;

function cardOf(event: CardEvent): readonly string[] {
  switch (event.kind) {
    case "turn.started":
      return [startedLine(event)];
    case "turn.settled":
      return [settledLine(event)];
    case "tool.started":
      return [words("⚙", toolName(event), summary(event.payload.args))];
    case "tool.completed": {
      const { outcome, duration_ms: ms, result, error } = event.payload;
      const took = ms === undefined ? "" : `in ${seconds(ms)}`;
      return [words(outcomeSigns[outcome], `${toolName(event)}:`, outcome, took, summary(error ?? result))];
    }
    case "tool.output_risk":
      return [words("!", `${toolName(event)}: output at risk`, summary(event.payload.risk))];
    case "message.interim":
      return event.payload.already_streamed ? [] : [words("│", oneLine(event.payload.text, maxLineUnits))];
    case "request.opened":
      return openedLines(event);
    case "request.resolved": {
      const { outcome, choice, reason, by } = event.payload;
      const how = by === null ? (reason ?? "the host") : by.origin;
      return [words(outcome === "answered" ? "✓" : "✗", choice ?? outcome, `(${oneLine(how, maxNameUnits)})`)];
    }
    case "turn.error":
      return [words("!", oneLine(event.payload.message, maxLineUnits))];
    case "gap":
      return gapLines(event.payload);
  }
}

/** A tool whose end nobody reported is no success and no failure. */
const outcomeSigns: { readonly [Outcome in ToolOutcome]: string } = {
  ok: "✓",
  error: "✗",
  denied: "✗",
  cancelled: "✗",
  timeout: "✗",
  interrupted: "✗",
  unknown: "·",
};

/** A turn that was stopped or overtaken is no failure; of an abandoned one nobody knows. */
const statusSigns: { readonly [Status in TurnStatus]: string } = {
  completed: "■",
  passed: "■",
  failed: "✗",
  cancelled: "□",
  superseded: "□",
  abandoned: "·",
};

function startedLine({ coordinates, payload: { cause, input } }: EventOf<"turn.started">): string {
  const post = input.findLast((item) => "text" in item);
  const said = post === undefined ? "" : `${post.author.display_name ?? post.author.id}: ${post.text}`;
  return words(`▶ running (${cause}, attempt ${coordinates.execution_generation})`, oneLine(said, maxSummaryUnits));
}

/** Nobody can agree to what is not shown: all of what is asked, on lines of its own where one is too short for it. */
function openedLines({ payload, truncated = [] }: EventOf<"request.opened">): readonly string[] {
  // Without the grant of approvals, what is asked and the choices are not here.
  const { id, choices } = payload;
  const offered = choices === undefined ? "" : `[${choices.join("|")}]`;
  const asked = approvalLines(
    payload,
    truncated.map(({ field }) => field),
  );
  const [only = ""] = asked;
  if (asked.length <= 1 && only.length <= maxSummaryUnits) return [words("? needs input:", only, offered, id)];
  return [words("? needs input:", offered, id), ...asked.map((line) => `? │ ${line}`)];
}

function settledLine({ payload }: EventOf<"turn.settled">): string {
  const { status, reason_code, duration_ms: ms, activity_count: count, error } = payload;
  const reason = reason_code === null ? "" : ` (${reason_code})`;
  const figures = ms === null || count === null ? "it may have run" : `${seconds(ms)}, ${counted(count, "event")}`;
  const why = error === null ? "" : `: ${oneLine(error, maxLineUnits)}`;
  return `${statusSigns[status]} ${status}${reason}, ${figures}${why}`;
}

/** What a missing grant withheld is no loss. */
function gapLines({ dropped, kinds }: EventOf<"gap">["payload"]): readonly string[] {
  if (dropped === 0) return [];
  const counts = Object.entries(kinds).map(([kind, count]) => `${count} ${kind}`);
  return [`… ${counted(dropped, "event")} lost (${counts.join(", ")})`];
}

function toolName({ payload }: { readonly payload: { readonly name: string } }): string {
  return oneLine(payload.name, maxNameUnits);
}

function summary(value: unknown): string {
  if (value === undefined || value === null) return "";
  return oneLine(typeof value === "string" ? value : JSON.stringify(value), maxSummaryUnits);
}

function seconds(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

function words(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" ");
}
