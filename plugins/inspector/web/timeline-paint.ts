import type { PlacedBar, Span } from "./timeline-layout.ts";

/** Pixels of one lane, and of the axis below the lanes. */
export const laneHeight = 44;
export const axisHeight = 22;

/** Colours by name, as the style sheet has them for light and dark. */
export type Palette = Readonly<Record<string, string>>;

/** The names that are painted with. */
export const paletteNames = [
  "text",
  "muted",
  "line",
  "running",
  "completed",
  "passed",
  "failed",
  "cancelled",
  "superseded",
  "abandoned",
  "tool",
  "warn",
  "lost",
] as const;

/** Paints lanes, bars, tools inside them, text as density, approvals and losses as marks. */
export function paintTimeline(
  context: CanvasRenderingContext2D,
  view: {
    readonly placed: readonly PlacedBar[];
    readonly lanes: readonly string[];
    readonly span: Span;
    readonly width: number;
    readonly palette: Palette;
  },
): void {
  const { placed, lanes, span, width, palette } = view;
  const colour = (name: string): string => palette[name] ?? "#888";
  context.clearRect(0, 0, width, lanes.length * laneHeight + axisHeight);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.fillStyle = colour("line");
  for (let lane = 1; lane <= lanes.length; lane++) context.fillRect(0, lane * laneHeight - 1, width, 1);
  for (const bar of placed) paintBar(context, bar, colour);
  paintAxis(context, { span, width, top: lanes.length * laneHeight }, colour);
}

function paintBar(context: CanvasRenderingContext2D, placed: PlacedBar, colour: (name: string) => string): void {
  const { bar, lane, left, right, tools, marks, density } = placed;
  const top = lane * laneHeight + 6;
  const height = laneHeight - 14;
  const width = right - left;
  context.fillStyle = colour(bar.status ?? "running");
  context.globalAlpha = 0.28;
  context.fillRect(left, top, width, height);
  context.globalAlpha = 1;
  context.fillRect(left, top, bar.isWhole ? 2 : 1, height);
  if (bar.coordinates.execution_generation > 1) {
    // A new generation has a notch of its own: the task was begun again.
    context.fillRect(left, top - 4, 2, 4);
    context.fillText(`${bar.coordinates.execution_generation}`, left + 4, top - 2);
  }
  context.fillStyle = colour("text");
  for (const { x, share } of density) context.fillRect(x, top + height - 2 - share * 8, 1, share * 8 + 1);
  for (const { tool, left: from, right: to } of tools) {
    context.fillStyle = colour(toolColour(tool.outcome));
    context.fillRect(from, top + 3, Math.max(2, to - from), 9);
    if (to - from < 40) continue;
    context.fillStyle = colour("text");
    context.fillText(clipped(context, tool.name, to - from - 4), from + 3, top + 8);
  }
  for (const { kind, x } of marks) paintMark(context, { kind, x, top, height }, colour);
}

/** A tool that ended without a word is not shown as a success. */
function toolColour(outcome: string | null): string {
  if (outcome === null || outcome === "ok") return "tool";
  if (outcome === "error" || outcome === "timeout") return "failed";
  return outcome === "denied" ? "warn" : "cancelled";
}

function paintMark(
  context: CanvasRenderingContext2D,
  {
    kind,
    x,
    top,
    height,
  }: { readonly kind: string; readonly x: number; readonly top: number; readonly height: number },
  colour: (name: string) => string,
): void {
  context.fillStyle = colour(kind === "lost" ? "lost" : kind === "error" ? "failed" : "warn");
  if (kind === "lost" || kind === "withheld") {
    for (let y = top; y < top + height; y += 6) context.fillRect(x, y, 2, 3);
    return;
  }
  context.beginPath();
  context.arc(x, top + height / 2, kind === "opened" ? 5 : 4, 0, 2 * Math.PI);
  if (kind === "resolved") {
    context.strokeStyle = colour("warn");
    context.stroke();
  } else context.fill();
}

function paintAxis(
  context: CanvasRenderingContext2D,
  { span, width, top }: { readonly span: Span; readonly width: number; readonly top: number },
  colour: (name: string) => string,
): void {
  const stepMs = axisStepMs((span.to - span.from) / Math.max(1, width / 110));
  context.fillStyle = colour("muted");
  for (let at = Math.ceil(span.from / stepMs) * stepMs; at <= span.to; at += stepMs) {
    const x = ((at - span.from) / (span.to - span.from)) * width;
    context.fillRect(x, top, 1, 4);
    const text = new Date(at).toLocaleTimeString("en-GB", { hour12: false });
    context.fillText(text, Math.min(x + 3, width - 50), top + 12);
  }
}

/** A round step of at least so long. */
export function axisStepMs(least: number): number {
  const steps = [100, 250, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000, 21_600_000];
  return steps.find((step) => step >= least) ?? 86_400_000;
}

function clipped(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  const units = Math.max(1, Math.floor((text.length * width) / context.measureText(text).width) - 1);
  return `${text.slice(0, units)}…`;
}
