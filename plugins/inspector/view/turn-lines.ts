import type { ToolOutcome, TurnStatus } from "../../../core/index.ts";
import { counted } from "../../counted.ts";
import type { Look, Style } from "../../style.ts";
import { jsonText, oneLine } from "../../terminal-text.ts";
import { durationText } from "../../duration-text.ts";
import { treeLines, type TreeNode } from "./tree-lines.ts";
import type { RequestNode, ToolNode } from "./turn-calls.ts";
import type { AttemptNode, InputNode, Listed, TextNode, TurnTree } from "./turn-tree.ts";

/** How a turn is shown. */
export interface TurnLook {
  readonly style: Style;
  /** UTF-16 units of a text or a payload on its line. */
  readonly maxUnits: number;
  /** What is shown for a member, e.g. its handle. */
  readonly nameOf: (memberId: string) => string;
}

/** A turn as lines: a tree whose every word stands in the data, and which says of what is not known that it is not. Pure. */
export function turnLines(turn: TurnTree, look: TurnLook): readonly string[] {
  const { style } = look;
  const place = [turn.room_id, turn.thread_id, look.nameOf(turn.member_id), turn.task_id].map((word) => oneLine(word));
  const label = `${style("bold", oneLine(turn.turn_id))}  ${place.join("  ")}`;
  return treeLines({
    label,
    children: [inputNode(turn.input, look), ...turn.attempts.map((each) => attempt(each, look))],
  });
}

function inputNode(input: readonly InputNode[] | null, { maxUnits }: TurnLook): TreeNode {
  if (input === null) return { label: "input not known: the row of its start is not at hand" };
  const children = input.map(({ author, text, row_seq }) => {
    const where = row_seq === null ? "" : `row ${row_seq}`;
    if (text === null) return { label: `${where}: its text is not at hand` };
    return {
      label: [`${oneLine(author ?? "?")}:`, oneLine(text, maxUnits), where === "" ? "" : `(${where})`].join(" ").trim(),
    };
  });
  return { label: `input${input.length === 0 ? ": none" : ""}`, children };
}

function attempt(node: AttemptNode, look: TurnLook): TreeNode {
  const { style } = look;
  const cause = node.started === null ? "its start is not at hand" : node.started.cause;
  const head = `${style("bold", `attempt ${node.execution_generation}`)} (${cause})`;
  const inTools = new Set(node.tools.list.flatMap(({ requests }) => requests.map(({ id }) => id)));
  const others = node.requests.list.filter(({ id }) => !inTools.has(id));
  return {
    label: `${head}  ${ending(node, look)}`,
    children: [
      reasoning(node, look),
      group("tools", node, node.tools, (tool) => toolNode(tool, look)),
      group(
        "requests",
        node,
        { ...node.requests, list: others },
        (request) => requestNode(request, look),
        inTools.size,
      ),
      ...node.errors.list.map(({ message }) => ({
        label: `${style("red", "error")} ${oneLine(message, look.maxUnits)}`,
      })),
      textLine("text", node.text, look),
      { label: activityText(node) },
      ...(node.settled === null ? [] : [{ label: usageText(node.settled.usage) }]),
    ],
  };
}

const statusLooks: { readonly [Status in TurnStatus]: Look } = {
  completed: "green",
  passed: "green",
  failed: "red",
  cancelled: "dim",
  superseded: "dim",
  abandoned: "yellow",
};

/** A turn that was stopped or overtaken is no failure; one whose host died may have run. */
function ending({ settled, is_watched }: AttemptNode, { style, maxUnits }: TurnLook): string {
  if (settled === null) {
    return style("cyan", is_watched ? "open: it has not settled" : "open: no row says that it has settled");
  }
  const { status, reason_code, duration_ms, error, may_have_run, row_seq } = settled;
  const reason = reason_code === null ? "" : ` (${reason_code})`;
  const took = may_have_run
    ? "it may have run"
    : duration_ms === null
      ? "time not reported"
      : durationText(duration_ms);
  const why = error === null ? "" : `: ${oneLine(error, maxUnits)}`;
  return `${style(statusLooks[status], `${status}${reason}`)}, ${took}, row ${row_seq}${why}`;
}

/** A heading with how many there are, or at least are. */
function group<Node>(
  name: string,
  { settled }: AttemptNode,
  { certainty, list }: Listed<Node>,
  show: (node: Node) => TreeNode,
  elsewhere = 0,
): TreeNode {
  if (certainty === "unknown" && list.length === 0) {
    return { label: `${name}: not known, rows do not tell` };
  }
  const soFar = settled === null ? " so far" : "";
  const count = list.length + elsewhere;
  const number = certainty === "exact" ? `${count}${soFar}` : `at least ${count}`;
  const below = elsewhere === 0 ? "" : `, ${elsewhere} of them with their tools`;
  return { label: `${name}: ${number}${below}`, children: list.map(show) };
}

const outcomeLooks: { readonly [Outcome in ToolOutcome]: Look } = {
  ok: "green",
  error: "red",
  denied: "red",
  timeout: "red",
  interrupted: "yellow",
  cancelled: "dim",
  unknown: "yellow",
};

function toolNode(tool: ToolNode, look: TurnLook): TreeNode {
  const { style, maxUnits } = look;
  const { name, tool_id, args, outcome, duration_ms, result, error, summary, risks } = tool;
  const title = `${style("bold", oneLine(name ?? "a tool without a name"))} ${oneLine(tool_id)}`;
  const took =
    outcome === null ? "" : duration_ms === null ? ", time not reported" : ` in ${durationText(duration_ms)}`;
  const said = error ?? summary ?? result;
  const details = [
    ...(args === undefined ? [] : [{ label: `args ${payloadText(args, maxUnits)}` }]),
    ...tool.requests.map((request) => requestNode(request, look)),
    ...risks.map((risk) => ({ label: `${style("yellow", "risk")} ${payloadText(risk, maxUnits)}` })),
    ...(said === undefined
      ? []
      : [{ label: `${error === undefined ? "result" : "error"} ${payloadText(said, maxUnits)}` }]),
  ];
  return { label: `${title}  ${outcomeText(tool, style)}${took}`, children: details };
}

function outcomeText({ outcome, state }: ToolNode, style: Style): string {
  if (outcome === "unknown") return style("yellow", "ended, nobody said how");
  if (outcome !== null) return style(outcomeLooks[outcome], outcome);
  return state === "open" ? style("cyan", "running") : style("yellow", "its end was not seen");
}

function requestNode(request: RequestNode, { style, maxUnits }: TurnLook): TreeNode {
  const { id, method, asked, state, outcome, choice, reason, by } = request;
  const head = `request ${oneLine(method ?? "")} ${oneLine(id)}`.replace("  ", " ");
  const what = asked === null ? "what was asked is not shown here" : oneLine(asked, maxUnits);
  if (outcome === null) {
    const how = state === "open" ? style("yellow", "waits for an answer") : style("yellow", "its end was not seen");
    return { label: `${head}  ${how}: ${what}` };
  }
  const word = choice === null || choice === outcome ? outcome : `${outcome} (${oneLine(choice)})`;
  const who = by === null ? (reason === null ? "by the host" : oneLine(reason)) : `by ${oneLine(by)}`;
  return { label: `${head}  ${style(outcome === "answered" ? "green" : "dim", word)} ${who}: ${what}` };
}

function reasoning({ reasoning: node }: AttemptNode, look: TurnLook): TreeNode {
  if (node.pieces.length > 0) return textLine("reasoning", node, look);
  if (node.withheld > 0) return { label: `reasoning: withheld, ${counted(node.withheld, "piece")}: no grant for it` };
  if (node.certainty === "exact") return { label: "reasoning: none" };
  return { label: "reasoning: not known" };
}

function textLine(
  name: string,
  { pieces, missing_units, truncated, certainty, source }: TextNode,
  look: TurnLook,
): TreeNode {
  if (pieces.length === 0) return { label: certainty === "exact" ? `${name}: none` : `${name}: not known` };
  const units = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const lost = missing_units === 0 ? "" : `, ${missing_units} missing`;
  const cut = truncated ? ", cut where a row is full" : "";
  const size = certainty === "exact" ? `${units} characters` : `at least ${units} characters${lost}`;
  const soFar = source === "stream" && certainty === "exact" ? ", streamed" : "";
  return { label: `${name} (${size}${soFar}${cut}): ${oneLine(pieces.join(" […] "), look.maxUnits)}` };
}

/** How many events there were, and what of them was not seen. */
function activityText({ activity, is_watched, settled }: AttemptNode): string {
  const { last_n, seen, dropped, withheld, unseen } = activity;
  const total = settled?.activity_count ?? null;
  if (!is_watched) {
    const known = total === null ? "" : `${counted(total, "event")}; `;
    return `activity: ${known}only its rows are at hand`;
  }
  const all = total === null ? `at least ${last_n ?? seen}` : String(total);
  const parts = [
    `${seen} seen`,
    ...(dropped > 0 ? [`${dropped} lost`] : []),
    ...(withheld > 0 ? [`${withheld} withheld`] : []),
    ...(unseen > 0 ? [`${unseen} not seen`] : []),
  ];
  return `activity: ${all} events, ${parts.join(", ")}`;
}

/** What nobody reported is no 0. */
function usageText(usage: { readonly [key: string]: number } | null): string {
  if (usage === null) return "usage: not reported";
  const figures = Object.entries(usage).map(([name, value]) => `${oneLine(name)} ${value}`);
  return `usage: ${figures.length === 0 ? "none" : figures.join(", ")}`;
}

function payloadText(value: unknown, maxUnits: number): string {
  return oneLine(typeof value === "string" ? value : jsonText(value ?? null), maxUnits);
}
