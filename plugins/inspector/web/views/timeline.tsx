import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { pageClock } from "../clock.ts";
import type { RoomModel } from "../room-model.ts";
import { fragmentOf } from "../route.ts";
import { barAt, placeBars, type PlacedBar } from "../timeline-layout.ts";
import { axisHeight, laneHeight, paintTimeline, paletteNames, type Palette } from "../timeline-paint.ts";
import { countText, handleOf } from "../words.ts";
import { useView, type TimeView } from "./time-view.ts";

/** How often the lanes are painted while they run with the time. */
const paintMs = 100;

/** A lane per member. It runs with the time until it is paused; the table below it says the same in words. */
export function TimelineView({ room }: { readonly room: RoomModel }) {
  const view = useView(room.timeline);
  const [hint, setHint] = useState("");
  const lanes = useMemo(() => lanesOf(room), [room.members, room.version.value]);
  return (
    <section class="timeline">
      <Toolbar room={room} view={view} />
      <div class="lanes">
        <ul class="lane-names" aria-hidden="true">
          {lanes.map((id) => (
            <li key={id} style={{ height: `${laneHeight}px` }}>
              {handleOf(room, id)}
            </li>
          ))}
        </ul>
        <Lanes room={room} view={view} lanes={lanes} onHint={setHint} />
      </div>
      <p class="hint muted">{hint === "" ? "\u00a0" : hint}</p>
    </section>
  );
}

const lengths = [
  ["30 s", 30_000],
  ["2 min", 120_000],
  ["15 min", 900_000],
  ["2 h", 7_200_000],
] as const;

function Toolbar({ room, view }: { readonly room: RoomModel; readonly view: TimeView }) {
  void room.version.value;
  return (
    <div class="tools" role="group" aria-label="Timeline">
      <button type="button" aria-pressed={view.isHeld} onClick={view.toggle}>
        {view.isHeld ? "Go on" : "Pause"}
      </button>
      {lengths.map(([text, ms]) => (
        <button
          key={text}
          type="button"
          aria-pressed={!view.isHeld && view.lengthMs === ms}
          onClick={() => view.follow(ms)}
        >
          {text}
        </button>
      ))}
      <button type="button" aria-label="Zoom in" onClick={() => view.zoom(0.5)}>
        +
      </button>
      <button type="button" aria-label="Zoom out" onClick={() => view.zoom(2)}>
        −
      </button>
      <button type="button" onClick={view.showAll}>
        All
      </button>
      <span class="muted">
        {countText(room.timeline.events)} events{room.lost > 0 ? `, ${countText(room.lost)} lost` : ""}
      </span>
    </div>
  );
}

interface LanesProps {
  readonly room: RoomModel;
  readonly view: TimeView;
  readonly lanes: readonly string[];
  readonly onHint: (hint: string) => void;
}

function Lanes({ room, view, lanes, onHint }: LanesProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const placed = useRef<readonly PlacedBar[]>([]);
  useEffect(() => {
    const paint = (): void => {
      if (canvas.current !== null) placed.current = paintOn(canvas.current, { room, lanes, view });
    };
    paint();
    const stopTimer = view.isHeld ? () => undefined : pageClock.every(paintMs, paint);
    addEventListener("resize", paint);
    return () => {
      stopTimer();
      removeEventListener("resize", paint);
    };
  }, [room, lanes, view]);
  const under = ({ offsetX: x, offsetY }: MouseEvent): PlacedBar | undefined =>
    barAt(placed.current, { lane: Math.floor(offsetY / laneHeight), x });
  const onClick = (event: MouseEvent): void => {
    const bar = under(event)?.bar;
    if (bar === undefined) return;
    location.hash = fragmentOf({ view: "turn", roomId: room.id, turnId: bar.coordinates.turn_id });
  };
  const what = `Timeline of ${room.name}, ${lanes.length} members.`;
  return (
    <canvas
      ref={canvas}
      tabIndex={0}
      role="img"
      aria-label={`${what} Plus and minus zoom, arrows move, space pauses. The table below says the same.`}
      style={{ height: `${lanes.length * laneHeight + axisHeight}px` }}
      onKeyDown={view.onKey}
      onMouseMove={(event) => onHint(hintOf(room, under(event)))}
      onMouseLeave={() => onHint("")}
      onClick={onClick}
    />
  );
}

function paintOn(
  canvas: HTMLCanvasElement,
  { room, lanes, view }: Pick<LanesProps, "room" | "lanes" | "view">,
): readonly PlacedBar[] {
  const width = canvas.clientWidth;
  const height = lanes.length * laneHeight + axisHeight;
  const ratio = devicePixelRatio;
  const [pixelWidth, pixelHeight] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== pixelWidth || canvas.height !== pixelHeight) {
    [canvas.width, canvas.height] = [pixelWidth, pixelHeight];
  }
  const context = canvas.getContext("2d");
  if (context === null || width === 0) return [];
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const span = view.span();
  const placed = placeBars(room.timeline, { lanes, span, width, now: pageClock.now() });
  paintTimeline(context, { placed, lanes, span, width, palette: paletteOf(canvas) });
  return placed;
}

function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  return Object.fromEntries(paletteNames.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** Those on the roster that have turns or may have them, then whoever else has bars. */
function lanesOf(room: RoomModel): readonly string[] {
  const others = room.timeline.bars.map(({ coordinates }) => coordinates.member_id);
  return [...new Set([...room.members.map(({ member_id }) => member_id), ...others])];
}

function hintOf(room: RoomModel, placed: PlacedBar | undefined): string {
  if (placed === undefined) return "";
  const { coordinates, status, tools, marks } = placed.bar;
  const calls = tools.map(({ name, outcome }) => `${name}: ${outcome ?? "open"}`);
  const told = marks.map(({ kind, text }) => `${kind} ${text}`);
  return [handleOf(room, coordinates.member_id), status ?? "running", ...calls, ...told].join(" · ").slice(0, 300);
}
