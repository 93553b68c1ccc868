import type { MemberEntry } from "../../../core/index.ts";
import type { RoomModel } from "./room-model.ts";
import { durationText } from "../../duration-text.ts";

/** `17:04:09.120`, in the reader's own time zone. */
export function timeText(at: number): string {
  const date = new Date(at);
  const padded = (value: number, length = 2): string => String(value).padStart(length, "0");
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => padded(part)).join(":");
  return `${clock}.${padded(date.getMilliseconds(), 3)}`;
}

/** How a member's state is said: what it does, with what, and for how long. */
export function memberText(member: MemberEntry, now: number): string {
  const { state, tool, since, reason_code, paused } = member;
  const age = durationText(now - since);
  const word = state === "needs_input" ? "needs input" : state;
  const what = tool === undefined ? "" : `: ${tool.name} (${durationText(now - tool.since)})`;
  const why = reason_code ? `: ${reason_code.replaceAll("_", " ")}` : "";
  return `${word}${what}${why}, ${age}${paused ? ", paused" : ""}`;
}

/** What a settled status means, for people. */
export const statusTexts: Readonly<Record<string, string>> = {
  completed: "completed",
  passed: "passed: it had nothing to say",
  failed: "failed",
  cancelled: "cancelled: it was stopped, and is no failure",
  superseded: "superseded: a newer post overtook it",
  abandoned: "abandoned: its host died, it may have run",
};

/** `1,234`. */
export function countText(count: number): string {
  return count.toLocaleString("en");
}

/** `@planner`; the id of one that is no longer on the roster. */
export function handleOf(room: RoomModel, memberId: string): string {
  const handle = room.state?.room.roster.find(({ member_id }) => member_id === memberId)?.handle;
  return handle === undefined ? memberId : `@${handle}`;
}
