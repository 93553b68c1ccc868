import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { manualClock, systemClock, type ManualClock } from "../../core/index.ts";
import {
  openSqliteLog,
  processMark,
  rosterDigest,
  type Member,
  type NewPost,
  type NewRow,
  type ProcessMark,
  type RoomLeases,
  type RoomLog,
  type SqliteRoomLog,
} from "../../rooms/index.ts";

export { turnsOfLoop } from "./turns-of-loop.ts";

/** Manual time, real turns of the event loop: for what commits by itself. */
export function loopClock(startMs?: number): ManualClock {
  return { ...manualClock(startMs), defer: (run) => systemClock.defer(run) };
}

/** A folder that goes when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "roomtap-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A host's log in a file, closed with the test. */
export async function openLog(file: string, clock = loopClock()): Promise<SqliteRoomLog> {
  const log = await openSqliteLog({ file, clock });
  onTestFinished(() => log.close());
  return log;
}

export const members: readonly Member[] = ["a", "b", "c"].map((handle) => ({
  member_id: `m-${handle}`,
  handle,
  display_name: handle.toUpperCase(),
  runner_kind: "scripted",
}));

/** A process that nobody can prove to be gone. */
export const someProcess: ProcessMark = { boot_id: "", pid_namespace: "", pid: 1, started: "" };

/** A process of this machine that is provably gone: another one has its number. */
export const goneProcess: ProcessMark = { ...processMark(), started: "1" };

/** Claims the room whatever its lease says; gives the lease's generation. */
export async function claim(log: RoomLeases, roomId = "r1", holder = "test", process = someProcess): Promise<number> {
  const seen = await log.lease(roomId);
  const { status, lease } = await log.claimLease({ seen, holder, process });
  if (status !== "claimed") throw new Error(`room ${roomId} was claimed meanwhile by ${lease.holder}`);
  return lease.generation;
}

/** Stores the room and claims it; gives the lease's generation, which is 1 for a new room. */
export async function ownRoom(log: RoomLog, roomId = "r1"): Promise<number> {
  await log.putRoom(roomOf(roomId));
  return claim(log, roomId);
}

export const roomOf = (roomId: string) => ({
  room_id: roomId,
  name: `Room ${roomId}`,
  members,
  roster_digest: rosterDigest(members),
});

interface AttemptOptions {
  readonly room?: string;
  readonly text?: string;
  readonly generation?: number;
}

/** The start of an attempt of task `k-NAME`. */
export function startOf(name: string, { room = "r1", text = "hello", generation = 1 }: AttemptOptions = {}): NewRow {
  return {
    kind: "turn.started",
    coordinates: coordinatesOf(name, room, generation),
    payload: {
      input: [{ message_id: `msg-${name}`, author: { kind: "person", id: "local" }, text }],
      cause: "message",
      origin: null,
      seen_through_seq: 0,
      roster_digest: "0".repeat(64),
      discussion: { message_id: `msg-${name}`, round: 0, slot: 0 },
    },
  };
}

/** The settle of the same attempt. */
export function settleOf(name: string, { room = "r1", text = "done", generation = 1 }: AttemptOptions = {}): NewRow {
  return {
    kind: "turn.settled",
    coordinates: coordinatesOf(name, room, generation),
    payload: {
      status: "completed",
      reason_code: null,
      text,
      truncated: false,
      error: null,
      usage: null,
      activity_count: 2,
      duration_ms: 5,
    },
  };
}

function coordinatesOf(name: string, room: string, generation: number): NewRow["coordinates"] {
  return {
    room_id: room,
    thread_id: "main",
    member_id: "m-a",
    turn_id: `t-${name}`,
    task_id: `k-${name}`,
    execution_generation: generation,
  };
}

/** A post to all three members. */
export function postOf(text: string, changes: Partial<NewPost> = {}): NewPost {
  return {
    room_id: "r1",
    message_id: null,
    thread_id: "main",
    author: { kind: "person", id: "local" },
    origin: null,
    text,
    attachments: [],
    owed: members.map((member) => member.member_id),
    named: [],
    ...changes,
  };
}
