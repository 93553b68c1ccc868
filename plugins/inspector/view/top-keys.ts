import type { Key } from "../../keys.ts";
import { topRows, topSorts, type TopModel, type TopView } from "./top-model.ts";

/** What a key does. `quit` is the status to end with, or null. */
export interface Pressed {
  readonly model: TopModel;
  readonly quit: number | null;
}

/** Longest filter that can be typed. UTF-16 units. */
const maxFilter = 60;
const pageRows = 10;

/** The model after a key. Pure. */
export function pressed(model: TopModel, key: Key): Pressed {
  if (key === "ctrl_c") return { model, quit: 130 };
  if (model.view.typing !== null)
    return { model: { ...model, view: typed(model.view, model.view.typing, key) }, quit: null };
  if (typeof key === "object" && key.char === "q") return { model, quit: 0 };
  if (typeof key === "object" && (key.char === "p" || key.char === " ")) return { model: paused(model), quit: null };
  const view = typeof key === "object" ? onChar(model.view, key.char) : onKey(model.view, key);
  // No further down than to the last row.
  const scroll = Math.min(view.scroll, Math.max(0, topRows({ ...model, view }).length - 1));
  return { model: { ...model, view: { ...view, scroll } }, quit: null };
}

/** The help that lists them. */
export const keyHelp: readonly (readonly [string, string])[] = [
  ["q", "quits (Ctrl-C as well)"],
  ["p", "holds the picture as it is, and lets it go on"],
  ["s", "sorts by room, state, age, tool"],
  ["r", "reverses the order"],
  ["/", "shows only what holds a text; Enter takes it, Esc takes it away"],
  ["↑ ↓ PgUp PgDn", "moves through the members"],
  ["h", "shows and hides this help"],
];

function paused({ data, held, view }: TopModel): TopModel {
  if (!view.isPaused) return { data, held, view: { ...view, isPaused: true } };
  return { data: held ?? data, held: null, view: { ...view, isPaused: false } };
}

function typed(view: TopView, text: string, key: Key): TopView {
  if (key === "enter") return { ...view, filter: text, typing: null, scroll: 0 };
  if (key === "escape") return { ...view, typing: null };
  if (key === "backspace") return { ...view, typing: text.replace(/.$/su, "") };
  if (typeof key !== "object" || text.length >= maxFilter) return view;
  return { ...view, typing: `${text}${key.char}` };
}

function onChar(view: TopView, char: string): TopView {
  switch (char) {
    case "s": {
      const next = topSorts[(topSorts.indexOf(view.sort) + 1) % topSorts.length];
      return { ...view, sort: next ?? "room" };
    }
    case "r":
      return { ...view, isReversed: !view.isReversed };
    case "/":
      return { ...view, typing: view.filter };
    case "h":
    case "?":
      return { ...view, showsHelp: !view.showsHelp };
    case "k":
      return onKey(view, "up");
    case "j":
      return onKey(view, "down");
    default:
      return view;
  }
}

function onKey(view: TopView, key: Exclude<Key, object>): TopView {
  const to = (scroll: number): TopView => ({ ...view, scroll: Math.max(0, scroll) });
  switch (key) {
    case "up":
      return to(view.scroll - 1);
    case "down":
      return to(view.scroll + 1);
    case "page_up":
      return to(view.scroll - pageRows);
    case "page_down":
      return to(view.scroll + pageRows);
    case "home":
      return to(0);
    case "end":
      return to(Number.MAX_SAFE_INTEGER);
    case "escape":
      return view.showsHelp ? { ...view, showsHelp: false } : { ...view, filter: "", scroll: 0 };
    case "enter":
    case "backspace":
    case "ctrl_c":
      return view;
  }
}
