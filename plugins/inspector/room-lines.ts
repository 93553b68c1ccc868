import type { MemberEntry } from "../../core/index.ts";
import type { RoomState } from "../../rooms/index.ts";
import { approvalLines } from "../approval-lines.ts";
import { counted } from "../counted.ts";
import type { Style } from "../style.ts";
import { jsonText, oneLine } from "../terminal-text.ts";
import type { LeaseHolder } from "./lease-holder.ts";
import type { StoredMember, StoredRoom } from "./stored-room.ts";
import { durationText } from "../duration-text.ts";
import { stateLooks } from "./view/state-looks.ts";

const holders: { readonly [Holder in LeaseHolder]: string } = {
  none: "nobody drives it",
  alive: "driven by a process of this machine",
  gone: "its driver has gone without a word: the next host takes it over",
  unknown: "held by a process that this machine knows nothing of",
};

/** A room of a database as lines. Pure. */
export function storedRoomLines(room: StoredRoom, style: Style): readonly string[] {
  const { generation, holder, pid } = room.lease;
  const by = pid === null ? "" : ` (pid ${pid})`;
  return [
    ...headLines(room.room, room.log.latest_seq, style),
    `lease    generation ${generation}, ${holders[holder]}${by}`,
    ...section("members", room.members, (member) => storedMemberLine(member, style)),
    ...section("threads", room.threads, ({ thread_id, round, discussion, open_turns }) => {
      const open = open_turns.length === 0 ? "" : `  open: ${open_turns.map((id) => oneLine(id)).join(" ")}`;
      return `${oneLine(thread_id)}  round ${round} of the discussion of ${oneLine(discussion)}${open}`;
    }),
    ...section("inbox", room.inbox, ({ message_id, thread_id, author, owed }) =>
      postLine({ message_id, thread_id, author, owed }, room.members),
    ),
    "requests  not known: they live in the process that drives the room",
  ];
}

/** A room of a server as lines. @param now wall ms. Pure. */
export function liveRoomLines(state: RoomState, style: Style, now: number): readonly string[] {
  const { room, log, lease, threads, members, inbox, open_requests, quota } = state;
  const handles = new Map(room.roster.map(({ member_id, handle }) => [member_id, `@${handle}`]));
  const nameOf = (id: string): string => oneLine(handles.get(id) ?? id);
  return [
    ...headLines(room, log.latest_seq, style),
    `lease    generation ${lease.generation}, ${lease.held ? "held: some process drives it" : holders.none}`,
    `quota    ${counted(quota.rows, "row")}, ${quota.bytes} bytes`,
    ...section("members", members, (member) => liveMemberLine(member, { style, now, nameOf })),
    ...section("threads", threads, ({ thread_id, status, reason, owed }) => {
      const why = reason === null ? "" : ` (${reason})`;
      const who = owed.length === 0 ? "" : `  owed: ${owed.map(nameOf).join(" ")}`;
      return `${oneLine(thread_id)}  ${status}${why}${who}`;
    }),
    ...section("inbox", inbox, (post) => postLine(post, room.roster)),
    ...section("requests", open_requests, ({ id, method, coordinates, ...about }) => {
      const who = coordinates === null ? "" : nameOf(coordinates.member_id);
      // All of it stands in `roomtap requests`, where it is answered.
      const [asked = about.question ?? ""] = approvalLines(about);
      return [oneLine(id), oneLine(method), who, oneLine(asked, 80)].filter((word) => word !== "").join("  ");
    }),
  ];
}

function headLines(
  room: {
    readonly room_id: string;
    readonly name: string;
    readonly revision: number;
    readonly disbanded_at: number | null;
  },
  rows: number,
  style: Style,
): readonly string[] {
  const { room_id, name, revision, disbanded_at } = room;
  const end = disbanded_at === null ? "" : `, ${style("yellow", "disbanded")}`;
  return [
    `${style("bold", oneLine(room_id))}  ${oneLine(name)}`,
    `record   revision ${revision}, ${counted(rows, "row")}${end}`,
  ];
}

/** A heading and what is below it; that there is nothing is said as well. */
function section<Item>(name: string, items: readonly Item[], show: (item: Item) => string): readonly string[] {
  return [`${name}${items.length === 0 ? "  none" : ""}`, ...items.map((item) => `  ${show(item)}`)];
}

function storedMemberLine({ handle, runner_kind, paused, open, last, owed_posts }: StoredMember, style: Style): string {
  const parts = [
    `@${oneLine(handle)}`,
    runner_kind === null ? "a person" : oneLine(runner_kind),
    ...(paused ? [style("yellow", "paused")] : []),
    open === null
      ? "no open turn"
      : style(
          "cyan",
          `open turn ${oneLine(open.turn_id)} since row ${open.started_row}: what it does its driver knows`,
        ),
    ...(last === null ? [] : [`last ${lastText(last)}`]),
    ...(owed_posts === 0 ? [] : [`owes ${counted(owed_posts, "answer")}`]),
  ];
  return parts.join("  ");
}

function lastText({ status, reason_code }: { readonly status: string; readonly reason_code: string | null }): string {
  const reason = reason_code === null ? "" : ` (${reason_code})`;
  return `${status}${reason}${status === "abandoned" ? ", it may have run" : ""}`;
}

function liveMemberLine(
  member: MemberEntry,
  look: { readonly style: Style; readonly now: number; readonly nameOf: (memberId: string) => string },
): string {
  const { state, since, paused, tool, turn_id, last, behind, position, reason_code } = member;
  const reason = reason_code === undefined || reason_code === null ? "" : ` (${reason_code})`;
  const waits = behind === undefined ? "" : `waits for ${behind}${position === undefined ? "" : `, place ${position}`}`;
  const parts = [
    look.nameOf(member.member_id),
    look.style(stateLooks[state], `${state}${reason}`),
    durationText(look.now - since),
    ...(paused ? [look.style("yellow", "paused")] : []),
    ...(tool === undefined ? [] : [`tool ${oneLine(tool.name, 60)} ${durationText(look.now - tool.since)}`]),
    ...(turn_id === undefined ? [] : [oneLine(turn_id)]),
    waits,
    ...(last === null ? [] : [`last ${lastText(last)}`]),
  ];
  return parts.filter((part) => part !== "").join("  ");
}

function postLine(
  post: {
    readonly message_id: string;
    readonly thread_id: string;
    readonly author: { readonly id: string; readonly display_name?: string | undefined };
    readonly owed: readonly string[];
  },
  members: readonly { readonly member_id: string; readonly handle: string }[],
): string {
  const { message_id, thread_id, author, owed } = post;
  const nameOf = (id: string): string => {
    const member = members.find(({ member_id }) => member_id === id);
    return oneLine(member === undefined ? id : `@${member.handle}`);
  };
  const who = owed.length === 0 ? "closed: nobody will answer it" : `owed: ${owed.map(nameOf).join(" ")}`;
  return [message_id, thread_id, author.display_name ?? author.id]
    .map((word) => oneLine(word))
    .concat(who)
    .join("  ");
}

/** The state of a room as JSON. */
export function roomJson(room: StoredRoom | RoomState, source: "database" | "server"): string {
  return jsonText({ source, ...room });
}
