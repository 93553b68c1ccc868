import { errorTable, RoomtapError, type AnswerResult, type MemberEntry, type OpenRequest } from "../../core/index.ts";
import type { Room, RoomState } from "../../rooms/index.ts";
import { counted } from "../counted.ts";
import type { ConsoleLine } from "./line.ts";

/** What a line may act on. */
export interface ConsoleHost {
  room(roomId: string): Room;
  readonly requests: {
    open(): readonly OpenRequest[];
    answer(id: string, choice: string, by?: string | null): AnswerResult;
  };
}

/** Who types at this terminal. */
const localPerson = "local";

/**
 * Does what a line asks for, and gives what is to be said of it. A refusal is said; it does not throw.
 * @throws RoomtapError when the database is unusable: nothing more can be done then
 */
export async function carryOut(line: ConsoleLine, host: ConsoleHost): Promise<readonly string[]> {
  try {
    return await act(line, host);
  } catch (fault) {
    if (!(fault instanceof RoomtapError) || isUnusable(fault)) throw fault;
    const where = "roomId" in line ? `#${line.roomId}: ` : "";
    return [`${where}${fault.message}. ${fault.remedy}`];
  }
}

function isUnusable({ code }: RoomtapError): boolean {
  // Another host drives the room, or one room is damaged: the others go on.
  return errorTable[code].exit === 4 && code !== "lease_lost" && code !== "log_corrupt";
}

async function act(line: ConsoleLine, host: ConsoleHost): Promise<readonly string[]> {
  switch (line.kind) {
    case "empty":
      return [];
    case "wrong":
      return [line.message];
    case "post":
      return post(host.room(line.roomId), line.text);
    case "answer":
      return [answer(host, line.id, line.choice)];
    case "stop": {
      const { cancelled } = await host.room(line.roomId).stop();
      return [`#${line.roomId}: stopped ${counted(cancelled, "open turn")}; what waited is closed`];
    }
    case "pause":
    case "resume":
      return [await setPaused(host.room(line.roomId), line)];
    case "retry": {
      const { task_id, execution_generation } = await host
        .room(line.roomId)
        .retry(line.taskId, { origin: localPerson });
      return [`#${line.roomId}: ${task_id} is tried again, attempt ${execution_generation}`];
    }
    case "state":
      return stateLines(await host.room(line.roomId).state());
  }
}

async function post(room: Room, text: string): Promise<readonly string[]> {
  const { addressed, unresolved, room_id } = await room.post({ text });
  const notes: string[] = [];
  if (unresolved.length > 0) notes.push(`nobody here is called ${unresolved.map((word) => `@${word}`).join(", ")}`);
  if (addressed.length === 0) notes.push(`#${room_id}: the post is kept, and addresses nobody`);
  return notes;
}

async function setPaused(
  room: Room,
  line: { readonly kind: "pause" | "resume"; readonly handle: string },
): Promise<string> {
  const { room_id, members } = room.record;
  const member = members.find(({ handle }) => handle.toLowerCase() === line.handle.toLowerCase());
  if (member === undefined) {
    const known = members.map(({ handle }) => `@${handle}`).join(" ");
    throw new RoomtapError("unknown_member", `there is no @${line.handle}; members: ${known}`);
  }
  const ids = [member.member_id];
  const paused = await (line.kind === "pause" ? room.pause(ids) : room.resume(ids));
  const handles = members.filter(({ member_id }) => paused.includes(member_id)).map(({ handle }) => `@${handle}`);
  return `#${room_id}: paused: ${handles.length === 0 ? "nobody" : handles.join(" ")}`;
}

function answer({ requests }: ConsoleHost, id: string, choice: string): string {
  const result = requests.answer(id, choice, localPerson);
  switch (result.status) {
    case "ok":
      return `${id}: ${result.outcome.outcome}`;
    case "already_resolved":
      return `${id} was ${result.outcome.outcome} before`;
    case "invalid_answer":
      return `${id}: that is no answer to it; it stays open`;
    case "unknown_request": {
      const open = requests.open().map((request) => request.id);
      return `there is no request ${id}; open: ${open.length === 0 ? "none" : open.join(", ")}`;
    }
  }
}

function stateLines(state: RoomState): readonly string[] {
  const { room, threads, members, inbox, open_requests, log } = state;
  const handles = new Map(room.roster.map(({ member_id, handle }) => [member_id, `@${handle}`]));
  const nameOf = (memberId: string): string => handles.get(memberId) ?? memberId;
  return [
    `#${room.room_id}: ${counted(log.latest_seq, "row")}, revision ${room.revision}`,
    ...members.map((member) => `  ${nameOf(member.member_id)} ${memberLine(member)}`),
    ...threads.map(({ thread_id, status, reason, owed }) => {
      const waiting = owed.length === 0 ? "" : `, owed: ${owed.map(nameOf).join(" ")}`;
      return `  thread ${thread_id}: ${status}${reason === null ? "" : ` (${reason})`}${waiting}`;
    }),
    ...inbox.map(({ message_id, state: word, owed }) => `  ${message_id} ${word}, owed: ${owed.map(nameOf).join(" ")}`),
    ...open_requests.map(({ id }) => `  ${id} waits for an answer`),
  ];
}

function memberLine(entry: MemberEntry): string {
  const { state, paused, tool, behind, reason_code, retryable, task_id } = entry;
  const words = [
    tool === undefined ? "" : `running ${tool.name}`,
    behind === undefined ? "" : `behind: ${behind}`,
    state === "failed" ? `${reason_code ?? "no reason"}${retryable === true ? `, /retry ${task_id}` : ""}` : "",
    paused ? "paused" : "",
  ].filter((word) => word !== "");
  return words.length === 0 ? state : `${state} (${words.join("; ")})`;
}
