import { describe, expect, it } from "vitest";
import type { MemberEntry } from "../../core/index.ts";
import { driverStatus, type RoomState } from "../../rooms/index.ts";

const entry = (name: string, state: MemberEntry["state"], more: Partial<MemberEntry> = {}): MemberEntry => ({
  member_id: `m-${name}`,
  state,
  paused: false,
  since: 1,
  open_requests: [],
  last: null,
  ...more,
});

const stateOf = (changes: Partial<RoomState>): RoomState => ({
  room: { room_id: "r1", name: "r1", revision: 1, disbanded_at: null, roster: [] },
  log: { latest_seq: 0, log_hash: "0" },
  lease: { generation: 1, held: true },
  threads: [],
  members: [],
  inbox: [],
  open_requests: [],
  quota: { rows: 0, bytes: 0 },
  ...changes,
});

const owed = { thread_id: "main", discussion: "msg-1", status: "waiting", reason: "slot", owed: ["m-b"] } as const;
const settled = { ...owed, status: "settled", reason: "answered", owed: ["m-b"] } as const;

describe("the status of a room's driver", () => {
  it.each([
    ["nothing", {}, { running: true, working: false, blocked: false }],
    ["a lease that nobody holds", { lease: { generation: 1, held: false } }, { running: false, working: false }],
    ["an attempt that runs", { members: [entry("a", "running")], threads: [owed] }, { working: true, blocked: false }],
    ["one that is to stop", { members: [entry("a", "stopping")], threads: [owed] }, { working: true, blocked: false }],
    ["a question", { members: [entry("a", "needs_input")] }, { working: true, blocked: false }],
    ["a question that others wait for", { members: [entry("a", "needs_input")], threads: [owed] }, { blocked: true }],
    ["somebody who is owed a turn", { members: [entry("b", "queued")], threads: [owed] }, { blocked: true }],
    ["an end that names who was not heard", { threads: [settled] }, { blocked: false }],
  ] satisfies readonly [string, Partial<RoomState>, object][])("says with %s how it stands", (_, changes, expected) => {
    expect(driverStatus(stateOf(changes))).toMatchObject(expected);
  });

  it("counts members by state, and names what a person may do with full coordinates", () => {
    const at = { thread_id: "main", turn_id: "t-1", task_id: "k-1", execution_generation: 2 };
    const coordinates = { room_id: "r1", member_id: "m-a", ...at };
    const request = { id: "srq-1", method: "approval", expires_at: null, coordinates };
    const failed = { reason_code: "runner_error", ...at } as const;
    const members = [
      entry("a", "needs_input"),
      entry("b", "failed", { ...failed, retryable: true }),
      entry("c", "failed", { ...failed, retryable: false }),
    ];
    expect(driverStatus(stateOf({ members, open_requests: [request] }))).toEqual({
      running: true,
      working: true,
      blocked: false,
      counts: { needs_input: 1, stopping: 0, running: 0, queued: 0, failed: 2, idle: 0 },
      pending_actions: [
        { action: "answer", ...request },
        { action: "retry", coordinates: { ...coordinates, member_id: "m-b" }, reason_code: "runner_error" },
      ],
      peer_routes: [],
    });
  });
});
