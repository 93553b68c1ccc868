import type { MemberStateWord } from "../../../core/index.ts";
import { counted } from "../../counted.ts";
import type { Look, Style } from "../../style.ts";
import { oneLine } from "../../terminal-text.ts";
import { cutCells, padCells } from "../../cells.ts";
import { consumerTable } from "./consumer-table.ts";
import { durationText } from "../../duration-text.ts";
import { stateLooks } from "./state-looks.ts";
import { tableLines, type Column } from "./table-lines.ts";
import { keyHelp } from "./top-keys.ts";
import { topRows, type TopData, type TopModel, type TopRow } from "./top-model.ts";

/** Where it is drawn. */
export interface TopSize {
  readonly width: number;
  readonly height: number;
}

/** The whole screen: exactly `height` lines, none wider than `width` cells. Pure. */
export function render(
  model: TopModel,
  { width, height, style }: TopSize & { readonly style: Style },
): readonly string[] {
  const { data, view } = model;
  const body = view.showsHelp ? helpLines() : bodyLines(model, Math.max(0, height - 2));
  const all: readonly Line[] = [
    { text: titleLine(model), look: "bold" },
    ...filled(body, height - 2),
    view.typing === null
      ? { text: footLine(model), look: "inverse" }
      : { text: `filter: ${view.typing}▏`, look: "inverse" },
  ];
  // The foot stays when there is no room for more.
  const shown = height < 2 ? all.slice(-1) : all;
  return shown.slice(0, Math.max(0, height)).map(({ text, look }) => {
    const cut = cutCells(text, width);
    const line = look === "inverse" ? padCells(cut, width) : cut;
    return look === undefined ? line : style(!data.is_connected && look === "bold" ? "yellow" : look, line);
  });
}

/** All there is, once, for whoever has no terminal. Pure. */
export function snapshotLines(model: TopModel): readonly string[] {
  const { consumers, consumers_problem, rooms, unfollowed } = model.data;
  return [
    ...memberTable(topRows(model), model.data.at),
    ...endedLines(model.data),
    ...(rooms.length === 0 ? ["no rooms"] : []),
    ...(unfollowed === 0 ? [] : [`${counted(unfollowed, "room")} more: name those that you want to see`]),
    "",
    ...(consumers === null ? [`consumers: ${consumers_problem ?? "not known"}`] : consumerTable(consumers)),
  ];
}

interface Line {
  readonly text: string;
  readonly look?: Look | undefined;
}

function bodyLines(model: TopModel, height: number): readonly Line[] {
  const { data, view } = model;
  const consumers = consumerLines(data).slice(0, Math.max(0, Math.floor(height / 3)));
  const rows = topRows(model);
  const [head = "", ...lines] = memberTable(rows, data.at);
  const room = Math.max(0, height - consumers.length - 1);
  const first = Math.min(view.scroll, Math.max(0, lines.length - room));
  const members: Line[] = lines.map((text, index) => ({ text, look: lookOf(rows[index]?.member.state) }));
  const ended: Line[] = endedLines(data).map((text) => ({ text, look: "dim" }));
  const all = [...members, ...ended, ...(members.length === 0 ? [{ text: emptyText(model) }] : [])];
  return [{ text: head, look: "dim" }, ...filled(all.slice(first, first + room), room), ...consumers];
}

function emptyText({ data, view }: TopModel): string {
  if (view.filter !== "") return `nothing holds "${oneLine(view.filter)}"`;
  return data.rooms.length === 0 ? "no rooms" : "no members";
}

function consumerLines({ consumers, consumers_problem }: TopData): readonly Line[] {
  if (consumers === null)
    return [{ text: "" }, { text: `consumers: ${consumers_problem ?? "not known yet"}`, look: "dim" }];
  const [head = "", ...lines] = consumerTable(consumers);
  return [
    { text: "" },
    { text: head, look: "dim" },
    ...lines.map((text, index): Line => {
      const stats = consumers[index];
      return { text, look: stats !== undefined && (stats.lagging || stats.dropped > 0) ? "yellow" : undefined };
    }),
  ];
}

function lookOf(state: MemberStateWord | undefined): Look | undefined {
  return state === undefined ? undefined : stateLooks[state];
}

const memberColumns: readonly Column[] = [
  { title: "ROOM" },
  { title: "MEMBER" },
  { title: "STATE" },
  { title: "AGE", align: "right" },
  { title: "TOOL" },
  { title: "AGE", align: "right" },
  { title: "TURN" },
];

const maxNameUnits = 32;

function memberTable(rows: readonly TopRow[], now: number): readonly string[] {
  return tableLines(
    memberColumns,
    rows.map(({ room_id, name, member }) => {
      const { state, since, tool, paused, reason_code, turn_id, behind } = member;
      const why = reason_code ?? (state === "queued" ? behind : undefined);
      return [
        oneLine(room_id, maxNameUnits),
        oneLine(name, maxNameUnits),
        `${state}${why === undefined ? "" : ` (${why})`}${paused ? ", paused" : ""}`,
        durationText(now - since),
        tool === undefined ? "-" : oneLine(tool.name, maxNameUnits),
        tool === undefined ? "-" : durationText(now - tool.since),
        turn_id === undefined ? "-" : oneLine(turn_id),
      ];
    }),
  );
}

function endedLines({ rooms }: TopData): readonly string[] {
  return rooms.flatMap(({ room_id, ended }) =>
    ended === null ? [] : [`${oneLine(room_id, maxNameUnits)}  not followed any more: ${oneLine(ended, 80)}`],
  );
}

function titleLine({ data, view }: TopModel): string {
  const members = data.rooms.flatMap((room) => room.members);
  const counts = (["needs_input", "running", "queued", "failed"] as const).flatMap((state) => {
    const count = members.filter((member) => member.state === state).length;
    return count === 0 ? [] : [`${count} ${state}`];
  });
  const parts = [
    `roomtap top  ${counted(data.rooms.length, "room")}, ${counted(members.length, "member")}`,
    ...(counts.length === 0 ? [] : [counts.join(", ")]),
    ...(data.unfollowed === 0 ? [] : [`${counted(data.unfollowed, "room")} not followed: name those you want`]),
    ...(view.filter === "" ? [] : [`filter "${oneLine(view.filter)}"`]),
    ...(view.isPaused ? ["PAUSED"] : []),
    ...(data.is_connected ? [] : ["NOT CONNECTED: what stands here is old"]),
  ];
  return parts.join("  ");
}

function footLine({ view }: TopModel): string {
  const order = `${view.sort}${view.isReversed ? " reversed" : ""}`;
  return ` q quit  p ${view.isPaused ? "go on" : "pause"}  s sort: ${order}  r reverse  / filter  h help`;
}

function helpLines(): readonly Line[] {
  return [{ text: "" }, ...keyHelp.map(([key, what]) => ({ text: `  ${padCells(key, 14)} ${what}` }))];
}

function filled(lines: readonly Line[], height: number): readonly Line[] {
  const missing = Math.max(0, height - lines.length);
  return [...lines.slice(0, Math.max(0, height)), ...Array.from({ length: missing }, () => ({ text: "" }))];
}
