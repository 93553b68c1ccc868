import type { MemberEntry, MemberStateWord } from "../../../core/index.ts";
import type { ConsumerStats } from "../../client/index.ts";

/** A room as `top` knows it. */
export interface TopRoom {
  readonly room_id: string;
  /** By member id. */
  readonly handles: ReadonlyMap<string, string>;
  readonly members: readonly MemberEntry[];
  /** Why nothing more is heard of it; null while it is followed. */
  readonly ended: string | null;
}

/** What is known at one instant. */
export interface TopData {
  /** Wall ms of the server, as far as it can be told. */
  readonly at: number;
  readonly rooms: readonly TopRoom[];
  /** Rooms that are not followed, because a connection follows so many and no more. */
  readonly unfollowed: number;
  /** null when they may not be seen, or were not yet. */
  readonly consumers: readonly ConsumerStats[] | null;
  /** Why there are none; null when there are. */
  readonly consumers_problem: string | null;
  readonly is_connected: boolean;
}

/** What members are sorted by. */
export const topSorts = ["room", "state", "age", "tool"] as const;
/** A word of `topSorts`. */
export type TopSort = (typeof topSorts)[number];

/** How it is looked at. */
export interface TopView {
  readonly sort: TopSort;
  readonly isReversed: boolean;
  /** Shows the rows that hold it; "" shows all. */
  readonly filter: string;
  /** A filter that is being typed; null when none is. */
  readonly typing: string | null;
  readonly isPaused: boolean;
  readonly showsHelp: boolean;
  /** Rows of members above the first that is shown. */
  readonly scroll: number;
}

/** What `top` shows: data, and how it is looked at. */
export interface TopModel {
  readonly data: TopData;
  /** What came while it was paused. */
  readonly held: TopData | null;
  readonly view: TopView;
}

/** Nothing yet. */
export function topModel(data: TopData): TopModel {
  const view: TopView = {
    ...{ sort: "room", isReversed: false, filter: "", typing: null },
    ...{ isPaused: false, showsHelp: false, scroll: 0 },
  };
  return { data, held: null, view };
}

/** With what is known now. While it is paused the picture stands, and the newest is kept for later. Pure. */
export function withData(model: TopModel, data: TopData): TopModel {
  return model.view.isPaused ? { ...model, held: data } : { ...model, data };
}

/** A member in its room. */
export interface TopRow {
  readonly room_id: string;
  readonly name: string;
  readonly member: MemberEntry;
}

/** Which state comes first when they are sorted by it: what needs a person, then what works. */
const stateOrder: readonly MemberStateWord[] = ["needs_input", "stopping", "running", "queued", "failed", "idle"];

/** The rows that are shown, in their order: rows that are equal in it stay in that of their rooms. Pure. */
export function topRows({ data, view }: TopModel): readonly TopRow[] {
  const all = data.rooms.flatMap(({ room_id, handles, members }) =>
    members.map((member): TopRow => {
      const handle = handles.get(member.member_id);
      return { room_id, name: handle === undefined ? member.member_id : `@${handle}`, member };
    }),
  );
  const rows = all.filter((row) => isWanted(row, view.filter));
  const sorted = rows.toSorted((a, b) => compare(a, b, view.sort));
  return view.isReversed ? sorted.toReversed() : sorted;
}

function isWanted(row: TopRow, filter: string): boolean {
  const { room_id, name, member } = row;
  const words = [room_id, name, member.state, member.tool?.name ?? "", member.paused ? "paused" : ""];
  return words.some((word) => word.toLowerCase().includes(filter.toLowerCase()));
}

function compare(a: TopRow, b: TopRow, sort: TopSort): number {
  switch (sort) {
    case "room":
      return 0;
    case "state":
      return stateOrder.indexOf(a.member.state) - stateOrder.indexOf(b.member.state);
    case "age":
      return a.member.since - b.member.since;
    case "tool":
      // Who uses none comes last; the difference of two infinities is no number.
      return (a.member.tool?.since ?? Infinity) - (b.member.tool?.since ?? Infinity) || 0;
  }
}
