import type { AttemptBar, Timeline, ToolSpan } from "./timeline-model.ts";
import { timelineBounds } from "./timeline-model.ts";

/** The part of time that is seen. Wall ms. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A bar where it is drawn, in pixels from the left of its lane. */
export interface PlacedBar {
  readonly bar: AttemptBar;
  readonly lane: number;
  readonly left: number;
  readonly right: number;
  readonly tools: readonly { readonly tool: ToolSpan; readonly left: number; readonly right: number }[];
  readonly marks: readonly { readonly kind: string; readonly x: number; readonly text: string }[];
  /** Share of the densest bin, by pixel column. */
  readonly density: readonly { readonly x: number; readonly share: number }[];
}

/** No bar is thinner: one that is shorter than a pixel's time is seen all the same. */
const minBarPx = 3;

/** Where each bar of a span is drawn; those outside it are left out. Pure. */
export function placeBars(
  timeline: Timeline,
  about: { readonly lanes: readonly string[]; readonly span: Span; readonly width: number; readonly now: number },
): readonly PlacedBar[] {
  const { lanes, span, width, now } = about;
  const x = (at: number): number => ((at - span.from) / (span.to - span.from)) * width;
  const lanesById = new Map(lanes.map((id, index) => [id, index]));
  return timeline.bars.flatMap((bar) => {
    const lane = lanesById.get(bar.coordinates.member_id);
    const end = bar.to ?? now;
    if (lane === undefined || end < span.from || bar.from > span.to) return [];
    const clip = (from: number, to: number): { readonly left: number; readonly right: number } => {
      const left = Math.max(0, x(from));
      return { left, right: Math.max(left + minBarPx, Math.min(width, x(to))) };
    };
    const within = (from: number, to: number): boolean => to >= span.from && from <= span.to;
    return [
      {
        ...{ bar, lane },
        ...clip(bar.from, end),
        tools: bar.tools
          .filter((tool) => within(tool.from, tool.to ?? end))
          .map((tool) => ({ tool, ...clip(tool.from, tool.to ?? end) })),
        marks: bar.marks.filter(({ at }) => within(at, at)).map(({ kind, at, text }) => ({ kind, x: x(at), text })),
        density: densityOf(bar, x, width),
      },
    ];
  });
}

/** The bar under a point; the one that began last when several are. */
export function barAt(
  placed: readonly PlacedBar[],
  point: { readonly lane: number; readonly x: number },
): PlacedBar | undefined {
  return placed.findLast(({ lane, left, right }) => lane === point.lane && point.x >= left - 2 && point.x <= right + 2);
}

/** The span after zooming around its right end, or around a point. */
export function zoomed({ from, to }: Span, factor: number, around = to): Span {
  const [least, most] = [1_000, 7 * 86_400_000];
  const length = Math.min(most, Math.max(least, (to - from) * factor));
  const share = (around - from) / (to - from);
  const start = around - length * share;
  return { from: start, to: start + length };
}

function densityOf(bar: AttemptBar, x: (at: number) => number, width: number): PlacedBar["density"] {
  const columns = new Map<number, number>();
  for (const [bin, units] of bar.density.entries()) {
    const column = Math.floor(x(bar.from + bin * timelineBounds.binMs));
    if (units > 0 && column >= 0 && column < width) columns.set(column, (columns.get(column) ?? 0) + units);
  }
  const most = Math.max(1, ...columns.values());
  return [...columns].map(([column, units]) => ({ x: column, share: units / most }));
}

/** From the first bar to the last, with a little room behind it. */
export function wholeSpan({ bars }: Timeline, now: number): Span {
  const from = bars.reduce((least, bar) => Math.min(least, bar.from), now - 10_000);
  const to = bars.reduce((most, bar) => Math.max(most, bar.to ?? now), from + 1_000);
  return { from, to: to + (to - from) * 0.02 };
}
