import type { ActivityEvent, EventOf } from "../../core/index.ts";
import { oneLine, terminalText } from "./terminal-text.ts";

/** Longest summary of arguments, results and errors on a card. UTF-16 units. */
const maxSummaryUnits = 100;
/** Text without a line break is shown when it is this long. UTF-16 units. */
const maxLineUnits = 160;

/** Text of a member that has not been shown yet, because its line goes on. */
interface Streaming {
  rest: string;
  /** Where in the member's text `rest` ends. */
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
  /** By task and generation, kept until the turn settles. */
  readonly #streaming = new Map<string, Streaming>();

  constructor(nameOf: NameOf) {
    this.#nameOf = nameOf;
  }

  /** The lines that an event adds, without line breaks. */
  of(event: ActivityEvent): readonly string[] {
    if (event.coordinates === null) return [`… ${gapText(event.payload as EventOf<"gap">["payload"])}`];
    const { room_id, member_id, task_id, execution_generation } = event.coordinates;
    const who = `${room_id} @${terminalText(this.#nameOf(member_id))}`;
    const key = `${task_id} ${execution_generation}`;
    if (event.kind === "message.delta") return this.#text(key, event).map((line) => `${who} │ ${line}`);
    // Thoughts come in pieces that say little by themselves; they are in the stream of events.
    if (event.kind === "reasoning.delta") return [];
    const held = this.#flush(key).map((line) => `${who} │ ${line}`);
    if (event.kind === "turn.settled") this.#streaming.delete(key);
    return [...held, ...cardOf(event).map((line) => `${who} ${line}`)];
  }

  #text(key: string, event: EventOf<"message.delta">): readonly string[] {
    const { text, offset, snapshot } = event.payload;
    const known = this.#streaming.get(key) ?? { rest: "", end: 0 };
    // A snapshot repeats what was shown before the loss: only what is new is shown.
    const news = snapshot === true ? text.slice(Math.max(0, known.end - offset)) : text;
    const whole = known.rest + news;
    const lines = whole.split("\n");
    const last = lines.pop() ?? "";
    const rest = last.length > maxLineUnits ? "" : last;
    if (rest === "" && last !== "") lines.push(last);
    this.#streaming.set(key, { rest, end: offset + text.length });
    return lines.map(terminalText).filter((line) => line.trim() !== "");
  }

  #flush(key: string): readonly string[] {
    const known = this.#streaming.get(key);
    if (known === undefined || known.rest.trim() === "") return [];
    const line = terminalText(known.rest);
    known.rest = "";
    return [line];
  }
}

type CardEvent = Exclude<ActivityEvent, { readonly kind: "message.delta" | "reasoning.delta" }>;

function cardOf(event: CardEvent): readonly string[] {
  switch (event.kind) {
    case "turn.started":
      return [`▶ running (${event.payload.cause}, attempt ${event.coordinates.execution_generation})`];
    case "turn.settled":
      return [settledLine(event)];
    case "tool.started":
      return [`⚙ ${oneLine(event.payload.name, 60)} ${summary(event.payload.args)}`.trimEnd()];
    case "tool.completed": {
      const { name, outcome, duration_ms: ms, result, error } = event.payload;
      const took = ms === undefined ? "" : ` in ${seconds(ms)}`;
      return [`${outcome === "ok" ? "✓" : "✗"} ${oneLine(name, 60)}: ${outcome}${took} ${summary(error ?? result)}`.trimEnd()];
    }
    case "tool.output_risk":
      return [`! ${oneLine(event.payload.name, 60)}: output at risk ${summary(event.payload.risk)}`.trimEnd()];
    case "message.interim":
      return event.payload.already_streamed ? [] : [`│ ${oneLine(event.payload.text, maxLineUnits)}`];
    case "request.opened": {
      const { id, command, description, choices } = event.payload;
      const asked = oneLine(command ?? description ?? "", maxSummaryUnits);
      return [`? needs input: ${asked} [${(choices ?? []).join("|")}] ${id}`];
    }
    case "request.resolved": {
      const { outcome, choice, reason, by } = event.payload;
      const how = by === null ? (reason ?? "the host") : by.origin;
      return [`${outcome === "answered" ? "✓" : "✗"} ${choice ?? outcome} (${oneLine(how, 60)})`];
    }
    case "turn.error":
      return [`! ${oneLine(event.payload.message, maxLineUnits)}`];
    case "gap":
      return event.payload.dropped === 0 ? [] : [`… ${gapText(event.payload)}`];
  }
}

function settledLine(event: EventOf<"turn.settled">): string {
  const { status, reason_code, duration_ms: ms, activity_count: count, error } = event.payload;
  const sign = status === "completed" || status === "passed" ? "■" : "✗";
  const reason = reason_code === null ? "" : ` (${reason_code})`;
  // Of an abandoned attempt nobody knows more than that it may have run.
  const figures = ms === null || count === null ? "it may have run" : `${seconds(ms)}, ${count} events`;
  return `${sign} ${status}${reason}, ${figures}${error === null ? "" : `: ${oneLine(error, maxLineUnits)}`}`;
}

function gapText(gap: EventOf<"gap">["payload"]): string {
  const kinds = Object.entries(gap.kinds).map(([kind, count]) => `${count} ${kind}`);
  return `${gap.dropped} events lost (${kinds.join(", ")})`;
}

function summary(value: unknown): string {
  if (value === undefined || value === null) return "";
  return oneLine(typeof value === "string" ? value : JSON.stringify(value), maxSummaryUnits);
}

function seconds(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
