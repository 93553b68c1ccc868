import { signal, type Signal } from "@preact/signals";
import type { ActivityEvent, MemberEntry, RequestEntry } from "../../../core/index.ts";
import type { LogRow, RoomStateEntry, RunningAttempt } from "../../client/index.ts";
import { KeptActivity } from "../view/kept-activity.ts";
import { oncePerFrame, pageClock } from "./clock.ts";
import { Rate } from "./rate.ts";
import { Timeline } from "./timeline-model.ts";

/** What the page keeps of a room; what came first goes first. */
export const roomBounds = { maxRows: 2_000, maxTurns: 200 } as const;

/** How much of a room is asked for: `details` has text as well, for the room that is looked at. */
export type Depth = "overview" | "details";

/** One room as the page knows it. Views read `version`, which changes at most once per painted frame. */
export class RoomModel {
  readonly id: string;
  name: string;
  readonly version: Signal<number> = signal(0);
  readonly timeline = new Timeline();
  readonly rate = new Rate();
  state: RoomStateEntry | null = null;
  /** In roster order. */
  members: readonly MemberEntry[] = [];
  requests: readonly RequestEntry[] = [];
  /** By number, without a hole; the last ones. */
  rows: readonly LogRow[] = [];
  running: readonly RunningAttempt[] = [];
  /** Why nothing of it comes; null while all is well. */
  problem: string | null = null;
  depth: Depth | null = null;
  /** Activity that did not come. */
  lost = 0;
  readonly #kept = new Map<string, KeptActivity>();
  readonly #touch = oncePerFrame(() => {
    this.version.value++;
  });

  constructor(id: string, name: string) {
    this.id = id;
    this.name = name;
  }

  /** What was seen of a turn. */
  activityOf(turnId: string): readonly ActivityEvent[] {
    return this.#kept.get(turnId)?.events ?? [];
  }

  onState(state: RoomStateEntry, attempts: readonly RunningAttempt[]): void {
    this.state = state;
    this.name = state.room.name;
    this.members = state.members;
    this.requests = state.open_requests;
    this.running = attempts;
    this.problem = null;
    this.timeline.seed(attempts, pageClock.now());
    this.changed();
  }

  onRow(row: LogRow): void {
    this.addRows([row]);
    if (row.kind === "turn.settled") this.#forgetRequests((request) => request.coordinates?.turn_id === row.turn_id);
  }

  /** Rows that were read, at either end of those that are there. */
  addRows(rows: readonly LogRow[]): void {
    const first = this.rows[0]?.seq ?? Infinity;
    const last = this.rows.at(-1)?.seq ?? -Infinity;
    const older = rows.filter(({ seq }) => seq < first);
    const newer = rows.filter(({ seq }) => seq > last);
    this.rows = [...older, ...this.rows, ...(this.rows.length === 0 ? [] : newer)].slice(-roomBounds.maxRows);
    for (const row of rows) this.timeline.row(row);
    this.changed();
  }

  onActivity(event: ActivityEvent): void {
    this.rate.add(pageClock.monotonic());
    this.timeline.activity(event);
    if (event.kind === "gap") this.lost += event.payload.dropped;
    if (event.kind === "request.opened") {
      const { coordinates, payload } = event;
      this.requests = [...this.requests.filter(({ id }) => id !== payload.id), { ...payload, coordinates }];
    }
    if (event.kind === "request.resolved") this.#forgetRequests(({ id }) => id === event.payload.id);
    if (event.coordinates !== null) this.#keep(event.coordinates.turn_id, event);
    this.changed();
  }

  onMember(entry: MemberEntry): void {
    const isKnown = this.members.some(({ member_id }) => member_id === entry.member_id);
    this.members = isKnown
      ? this.members.map((each) => (each.member_id === entry.member_id ? entry : each))
      : [...this.members, entry];
    this.changed();
  }

  /** To be called when something of it is another. */
  changed(): void {
    this.#touch();
  }

  #forgetRequests(isOver: (request: RequestEntry) => boolean): void {
    this.requests = this.requests.filter((request) => !isOver(request));
  }

  #keep(turnId: string, event: ActivityEvent): void {
    const kept = this.#kept.get(turnId) ?? new KeptActivity();
    this.#kept.delete(turnId);
    this.#kept.set(turnId, kept);
    kept.push(event);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > roomBounds.maxTurns && oldest !== undefined) this.#kept.delete(oldest);
  }
}
