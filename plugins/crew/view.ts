import { cellWidth, cutCells } from "../cells.ts";
import type { Key } from "../keys.ts";
import type { Style } from "../style.ts";
import { linesOf, type BoardLine } from "./board-lines.ts";
import type { RequestCard } from "./board.ts";
import { openRequests, type VisibleBoard } from "./visible-board.ts";

/** What somebody sees of a board: which request they are at, and what was said to them last. */
export interface CrewView {
  /** Id of a request; null: the first that is open. */
  readonly selected: string | null;
  /** Lines above the first one that is shown. */
  readonly scroll: number;
  readonly showsHelp: boolean;
  readonly notice: string | null;
}

/** What a board is drawn on. */
export interface Canvas {
  readonly width: number;
  readonly height: number;
  /** Wall ms, for how long states last. */
  readonly now: number | null;
  readonly style: Style;
}

/** The view before the first key. */
export const firstView: CrewView = { selected: null, scroll: 0, showsHelp: false, notice: null };

/** What a key asks for. */
export interface Pressed {
  readonly view: CrewView;
  readonly action: { readonly quit: number } | { readonly answer: string; readonly choice: string } | null;
}

const help: readonly (readonly [key: string, does: string])[] = [
  ["a", "allows what is asked by the request that is selected"],
  ["d", "denies it"],
  ["↑ ↓", "selects the request before, and the next; moves when none waits"],
  ["PgUp PgDn", "moves through the board"],
  ["?", "shows and hides this help"],
  ["q", "quits (Ctrl-C as well)"],
];

/**
 * The lines of a picture, at most `height` of them and each at most `width` cells wide. What is asked is wrapped, all else is
 * cut. Pure.
 */
export function render(board: VisibleBoard, view: CrewView, canvas: Canvas): readonly string[] {
  const { width, height, style } = canvas;
  const rows = bodyHeight(canvas);
  const footer = footerOf(board, view);
  const foot = height < 1 ? [] : [style("dim", cutCells(footer, width))];
  if (view.showsHelp) {
    const lines = help.map(([key, does]) => cutCells(`${key.padEnd(10)} ${does}`, width));
    return [...lines.slice(0, rows), ...foot];
  }
  const lines = laidOut(board, canvas);
  const from = Math.min(view.scroll, Math.max(0, lines.length - rows));
  const selected = selectedRequest(board, view)?.id;
  const shown = lines.slice(from, from + rows).map(({ text, look, request }) => {
    if (request !== undefined && request === selected) return style("inverse", text);
    return look === undefined ? text : style(look, text);
  });
  return [...shown, ...foot];
}

function bodyHeight({ height }: Canvas): number {
  return Math.max(0, height - 1);
}

/** Lines as they fit into the width. */
function laidOut(board: VisibleBoard, { width, now }: Canvas): readonly BoardLine[] {
  return linesOf(board, now).flatMap((line) => {
    if (line.request === undefined) return [{ ...line, text: cutCells(line.text, width) }];
    return wrapped(line.text, width).map((text) => ({ ...line, text }));
  });
}

/** Text in pieces of at most so many cells; a character that takes more has a line of its own. */
function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let [line, cells] = ["", 0];
  for (const point of text) {
    const wide = cellWidth(point);
    if (line !== "" && cells + wide > width) {
      lines.push(line);
      [line, cells] = ["", 0];
    }
    line += point;
    cells += wide;
  }
  return [...lines, line];
}

function footerOf(board: VisibleBoard, { notice, showsHelp }: CrewView): string {
  if (notice !== null) return notice;
  if (showsHelp) return "? hides this help";
  return openRequests(board).length === 0 ? "q quits  ? help" : "a allows  d denies  ↑↓ selects  q quits  ? help";
}

function selectedRequest(board: VisibleBoard, { selected }: CrewView): RequestCard | undefined {
  const open = openRequests(board);
  return open.find(({ id }) => id === selected) ?? open[0];
}

/** The view behind a key, and what is to be done. Pure. */
export function pressed(board: VisibleBoard, before: CrewView, key: Key, canvas: Canvas): Pressed {
  const view = { ...before, notice: null };
  const rows = Math.max(1, bodyHeight(canvas));
  const most = Math.max(0, laidOut(board, canvas).length - rows);
  const moved = (lines: number): Pressed => {
    const scroll = Math.max(0, Math.min(most, Math.min(view.scroll, most) + lines));
    return { view: { ...view, scroll }, action: null };
  };
  if (typeof key === "object") {
    switch (key.char) {
      case "q":
        return { view, action: { quit: 0 } };
      case "?":
      case "h":
        return { view: { ...view, showsHelp: !view.showsHelp }, action: null };
      case "a":
      case "d":
        return answered(board, view, key.char === "a", canvas);
      default:
        return { view, action: null };
    }
  }
  switch (key) {
    case "ctrl_c":
      return { view, action: { quit: 130 } };
    case "up":
    case "down":
      return openRequests(board).length === 0
        ? moved(key === "up" ? -1 : 1)
        : selectedNext(board, view, key === "up" ? -1 : 1, canvas);
    case "page_up":
    case "page_down":
      return moved(key === "page_up" ? -rows : rows);
    case "home":
    case "end":
      return moved(key === "home" ? -Infinity : Infinity);
    case "escape":
      return { view: { ...view, showsHelp: false }, action: null };
    case "enter":
    case "backspace":
      return { view, action: null };
  }
}

/** The next request, or the one before, moved to where all of it can be read. */
function selectedNext(board: VisibleBoard, view: CrewView, step: number, canvas: Canvas): Pressed {
  const open = openRequests(board);
  const at = open.findIndex(({ id }) => id === selectedRequest(board, view)?.id);
  const next = open[Math.max(0, Math.min(open.length - 1, at + step))];
  if (next === undefined) return { view, action: null };
  const first = laidOut(board, canvas).findIndex(({ request }) => request === next.id);
  const { from, isWhole } = standing(board, { ...view, selected: next.id }, next, canvas);
  return { view: { ...view, selected: next.id, scroll: isWhole ? from : first }, action: null };
}

/** Where the picture begins, and whether all of a request stands in it. */
function standing(board: VisibleBoard, view: CrewView, { id }: RequestCard, canvas: Canvas) {
  const lines = laidOut(board, canvas);
  const rows = bodyHeight(canvas);
  const from = Math.min(view.scroll, Math.max(0, lines.length - rows));
  const [first, last] = [
    lines.findIndex(({ request }) => request === id),
    lines.findLastIndex(({ request }) => request === id),
  ];
  return { from, first, isWhole: !view.showsHelp && first >= from && last < from + rows };
}

/** Nobody allows what they cannot read: then the picture moves there, or says where all of it is. */
function answered(board: VisibleBoard, view: CrewView, isYes: boolean, canvas: Canvas): Pressed {
  const card = selectedRequest(board, view);
  const told = (notice: string, scroll = view.scroll): Pressed => ({
    view: { ...view, notice, scroll, showsHelp: false },
    action: null,
  });
  if (card === undefined) return told("nothing waits for an answer");
  const { id, method, choices = [], is_withheld, truncated } = card;
  if (method !== "approval") return told(`${id} is a question: answer it with roomtap answer ${id} TEXT`);
  if (is_withheld) return told(`${id}: what is asked, and to answer it, needs the scope ${card.scope}`);
  const choice = isYes ? (choices.includes("once") ? "once" : choices.find((word) => word !== "deny")) : "deny";
  if (choice === undefined) return told(`${id} can only be denied`);
  const isCut = truncated.some(({ field }) => field === "command" || field === "description");
  if (isYes && isCut) return told(`${id} was cut on its way: it can only be denied here`);
  const { first, isWhole } = standing(board, view, card, canvas);
  if (isYes && !isWhole && view.scroll !== first) return told("read what is asked, then press a again", first);
  if (isYes && !isWhole) return told(`it is longer than this screen: roomtap answer ${id} ${choice}`);
  return { view: { ...view, selected: id }, action: { answer: id, choice } };
}
