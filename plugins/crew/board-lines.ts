import type { MemberStateWord, ToolOutcome } from "../../core/index.ts";
import { approvalLines } from "../approval-lines.ts";
import { counted } from "../counted.ts";
import { durationText } from "../duration-text.ts";
import type { Look } from "../style.ts";
import { jsonText, oneLine, terminalText } from "../terminal-text.ts";
import type { Missing, RequestCard, StreamedText, Tally, ToolCard } from "./board.ts";
import { openRequests, type VisibleBoard, type VisibleTurn } from "./visible-board.ts";

/** A line of a board, harmless for a terminal, and how it looks. */
export interface BoardLine {
  readonly text: string;
  readonly look?: Look | undefined;
  /** The request that it is about. */
  readonly request?: string | undefined;
}

const maxValueUnits = 100;
const maxNameUnits = 60;
/** Of a text that is streamed, the last lines, and of each its end. */
const maxTailLines = 3;
const maxTailUnits = 160;

const stateLooks: { readonly [State in MemberStateWord]: readonly [sign: string, look: Look | undefined] } = {
  needs_input: ["?", "yellow"],
  stopping: ["□", "yellow"],
  running: ["▶", "cyan"],
  queued: ["…", "blue"],
  failed: ["✗", "red"],
  idle: ["·", "dim"],
};

/** A tool whose end nobody reported is no success and no failure. */
const outcomeLooks: { readonly [Outcome in ToolOutcome]: readonly [sign: string, look: Look | undefined] } = {
  ok: ["✓", "green"],
  error: ["✗", "red"],
  denied: ["✗", "red"],
  cancelled: ["✗", "red"],
  timeout: ["✗", "red"],
  interrupted: ["✗", "red"],
  unknown: ["·", undefined],
};

/** A turn that was stopped or overtaken is no failure; of an abandoned one, and of one whose end was lost, nobody knows. */
const statusSigns: { readonly [Status in VisibleTurn["status"]]: string } = {
  running: "▶",
  completed: "■",
  passed: "■",
  failed: "✗",
  cancelled: "□",
  superseded: "□",
  abandoned: "·",
  unknown: "·",
};

/** A board as plain text, line by line. */
export function boardLines(board: VisibleBoard, now: number | null = null): readonly string[] {
  return linesOf(board, now).map(({ text }) => text);
}

/**
 * A board as lines: the room, then each member with its turns, their cards, what is asked, and the end of what is streamed. Pure.
 * @param now wall ms, for how long states last; null: that is not shown
 */
export function linesOf(board: VisibleBoard, now: number | null): readonly BoardLine[] {
  const lost = board.unplaced.dropped === 0 ? "" : `, ${counted(board.unplaced.dropped, "event")} lost`;
  const asked = openRequests(board).length;
  const name = board.name === null || board.name === board.room_id ? "" : ` ${oneLine(board.name, maxNameUnits)}`;
  const head = `#${board.room_id}${name}: ${counted(board.members.length, "member")}, ${counted(asked, "open request")}${lost}`;
  return [{ text: head, look: "bold" }, ...board.members.flatMap((member) => memberLines(member, now))];
}

function memberLines(member: VisibleBoard["members"][number], now: number | null): readonly BoardLine[] {
  const { state, since, is_paused, waits, tool, turns, forgotten_turns } = member;
  const [sign, look] = stateLooks[state];
  const lasts = now === null || since === null ? "" : `for ${durationText(now - since)}`;
  const doing = tool === null ? "" : `in ${oneLine(tool.name, maxNameUnits)}`;
  const waiting =
    waits === null ? "" : `(one more waits for ${waits.behind}${waits.position === null ? "" : ` ${waits.position}`})`;
  const who = `@${oneLine(member.handle ?? member.member_id, maxNameUnits)}`;
  const words = [sign, who, state.replace("_", " "), lasts, doing, is_paused ? "(paused)" : "", waiting];
  const earlier =
    forgotten_turns === 0 ? [] : [{ text: `  … ${counted(forgotten_turns, "earlier turn")}`, look: "dim" as const }];
  return [{ text: joined(words), look }, ...earlier, ...turns.flatMap(turnLines)];
}

function turnLines(turn: VisibleTurn): readonly BoardLine[] {
  const body = [
    ...turn.earlier.map(({ execution_generation, status, reason_code, tool_calls }) => ({
      text: `attempt ${execution_generation}: ${status}${reason_code === null ? "" : ` (${reason_code})`}, ${tallyText(tool_calls, "tool call")}`,
      look: "dim" as const,
    })),
    ...missingLines(turn.missing),
    ...(turn.forgotten.tools === 0
      ? []
      : [{ text: `… ${counted(turn.forgotten.tools, "earlier card")}`, look: "dim" as const }]),
    ...turn.tools.map(toolLine),
    ...turn.notes.map(({ kind, text }) =>
      kind === "error"
        ? { text: `! ${oneLine(text, maxTailUnits)}`, look: "red" as const }
        : { text: `│ ${oneLine(text, maxTailUnits)}` },
    ),
    ...turn.requests.flatMap(requestLines),
    ...(turn.status === "running" ? tailLines(turn.streamed) : answerLines(turn)),
  ];
  return [headOf(turn), ...body.map((line) => ({ ...line, text: `    ${line.text}` }))];
}

function headOf(turn: VisibleTurn): BoardLine {
  const { status, reason_code, cause, execution_generation, input, duration_ms, usage, error } = turn;
  const attempt = execution_generation === 1 ? "" : `attempt ${execution_generation}`;
  const took = duration_ms === null ? "" : `in ${durationText(duration_ms)}`;
  const may = status === "abandoned" ? "it may have run" : "";
  // Not reported is not 0.
  const used = status === "running" || usage === null ? "" : jsonText(usage);
  const facts = [cause ?? "", attempt, took, may, tallyText(turn.tool_calls, "tool call"), used].filter(
    (word) => word !== "",
  );
  const why = reason_code === null ? "" : ` (${reason_code})`;
  const said = input === null ? "" : `: ${oneLine(input, maxValueUnits)}`;
  const fault = error === null ? "" : `: ${oneLine(error, maxValueUnits)}`;
  const look = status === "failed" ? "red" : status === "running" ? undefined : "dim";
  const place = turn.thread_id === "main" ? "" : ` in ${turn.thread_id}`;
  const word = status === "unknown" ? "over, how is not known" : status;
  return { text: `  ${statusSigns[status]} ${word}${why}${place} [${facts.join(", ")}]${said}${fault}`, look };
}

function tallyText({ count, certainty }: Tally, noun: string): string {
  return `${certainty === "exact" ? "" : "at least "}${counted(count, noun)}`;
}

/** What a missing grant withheld is no loss. */
function missingLines({ dropped, withheld, unseen }: Missing): readonly BoardLine[] {
  const words = [
    ...(dropped === 0 ? [] : [`${counted(dropped, "event")} lost`]),
    ...(unseen === 0 ? [] : [`${counted(unseen, "event")} not seen`]),
    ...(withheld === 0 ? [] : [`${withheld} withheld (not granted)`]),
  ];
  return words.length === 0 ? [] : [{ text: `… ${words.join(", ")}`, look: dropped > 0 ? "yellow" : "dim" }];
}

function toolLine(card: ToolCard): BoardLine {
  const { state, outcome, duration_ms, args, result, error, truncated, risk } = card;
  const name = oneLine(card.name === "" ? card.tool_id : card.name, maxNameUnits);
  const given = valueText(args);
  const cut =
    truncated.length === 0 ? "" : `(cut: ${truncated.map(({ field }) => oneLine(field, maxNameUnits)).join(", ")})`;
  const danger = risk === undefined ? "" : `! risk: ${valueText(risk)}`;
  if (state === "running") return { text: joined(["⚙", name, given, cut, danger]), look: "cyan" };
  if (state === "lost" || outcome === null) {
    return { text: joined(["·", `${name}:`, "its end was not seen", given, cut, danger]) };
  }
  const [sign, look] = outcomeLooks[outcome];
  const took = duration_ms === null ? "" : `in ${durationText(duration_ms)}`;
  const brought = valueText(error ?? result);
  return {
    text: joined([sign, `${name}:`, outcome, took, given, brought === "" ? "" : `→ ${brought}`, cut, danger]),
    look,
  };
}

function requestLines(card: RequestCard): readonly BoardLine[] {
  const { id, method, state, outcome, choice, reason, by, choices } = card;
  const request = oneLine(id, maxNameUnits);
  const what = method === "approval" ? "approval" : oneLine(method, maxNameUnits);
  if (state !== "open") {
    const how = [by?.origin ?? "", reason ?? ""].filter((word) => word !== "").join(": ") || "the host";
    const word = outcome === null ? "its outcome was not seen" : (choice ?? outcome);
    const sign = outcome === null ? "·" : outcome === "answered" ? "✓" : "✗";
    return [
      {
        text: joined([
          sign,
          what,
          oneLine(word, maxNameUnits),
          outcome === null ? "" : `(${oneLine(how, maxNameUnits)})`,
          request,
        ]),
      },
    ];
  }
  const offered = choices === undefined ? "" : `[${choices.map((each) => oneLine(each, maxNameUnits)).join("|")}]`;
  const first = choices?.[0] ?? (method === "approval" ? "CHOICE" : "VALUE");
  const line = (text: string): BoardLine => ({ text, look: "yellow", request: id });
  const answers = card.is_withheld
    ? `(what is asked needs the scope ${card.scope})`
    : `→ roomtap answer ${request} ${oneLine(first, maxNameUnits)}`;
  return [line(joined([`? ${what} waits`, offered, answers])), ...askedLines(card).map((text) => line(`  ${text}`))];
}

/** All of what is asked: nobody can agree to what is not shown. */
export function askedLines(card: RequestCard): readonly string[] {
  const cut = card.truncated.map(({ field }) => field);
  if (card.method === "approval") return approvalLines(card, cut);
  const texts = [
    card.command,
    card.question,
    card.prompt,
    card.env_var,
    card.questions === undefined ? undefined : jsonText(card.questions),
  ];
  return texts.flatMap((text) =>
    text === undefined || text === "" ? [] : text.split("\n").map((each) => terminalText(each.trimEnd())),
  );
}

function tailLines({ text, start, lacks_end }: StreamedText): readonly BoardLine[] {
  const lines = text
    .split("\n")
    .map((line) => terminalText(line.trimEnd()))
    .filter((line) => line !== "");
  const shown = lines
    .slice(-maxTailLines)
    .map((line) => (line.length > maxTailUnits ? `…${line.slice(-maxTailUnits)}` : line));
  const before =
    shown.length > 0 && (start > 0 || lines.length > shown.length) ? [{ text: "│ …", look: "dim" as const }] : [];
  const behind = lacks_end ? [{ text: "│ … (a piece was lost)", look: "yellow" as const }] : [];
  return [...before, ...shown.map((line) => ({ text: `│ ${line}` })), ...behind];
}

function answerLines({ answer }: VisibleTurn): readonly BoardLine[] {
  if (answer === null || answer.text === "") return [];
  return [{ text: `│ ${oneLine(answer.text, maxTailUnits)}${answer.truncated ? " (cut)" : ""}`, look: "dim" }];
}

function valueText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return oneLine(typeof value === "string" ? value : jsonText(value), maxValueUnits);
}

function joined(words: readonly string[]): string {
  return words.filter((word) => word !== "").join(" ");
}
