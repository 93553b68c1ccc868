import { describe, expect, it } from "vitest";
import type { LiveAttempt, MemberEntry } from "../../core/index.ts";
import type { StartedRow } from "../../rooms/log-row.ts";
import { changedEntries, memberEntries } from "../../rooms/member-states.ts";
import { roomState } from "../../rooms/room-state.ts";
import { memberInputs, PlanRoom } from "../support/plan-room.ts";

/** A room whose members' states are read after each thing that happens, one second apart. */
class Watched extends PlanRoom {
  readonly live = new Map<string, LiveAttempt>();
  roomsBefore = 0;
  now = 1_000;
  entries: readonly MemberEntry[] = [];
  /** What was told of each member, by state. */
  readonly told: Record<string, string[]> = {};

  look(): this {
    this.now += 1_000;
    const after = memberEntries({
      state: this.state,
      room: this.room,
      plan: this.plan(),
      dueWaiting: this.due.waiting,
      live: [...this.live.values()],
      roomsBefore: this.roomsBefore,
      now: this.now,
      before: this.entries,
    });
    for (const { member_id, state } of changedEntries(this.entries, after)) (this.told[member_id] ??= []).push(state);
    this.entries = after;
    return this;
  }

  of(memberId: string): MemberEntry {
    const entry = this.entries.find(({ member_id }) => member_id === memberId);
    if (entry === undefined) throw new TypeError(`no entry of ${memberId}`);
    return entry;
  }

  /** The first planned turn, begun and running. */
  begin(): StartedRow {
    const [start] = this.plan().starts;
    if (start === undefined) throw new TypeError("nothing to start");
    const row = this.start(start);
    const { coordinates } = start;
    this.set(coordinates.member_id, {
      coordinates,
      since: this.now,
      open_requests: [],
      asked_at: null,
      tool: null,
      stopping: false,
    });
    return row;
  }

  set(memberId: string, change: Partial<LiveAttempt>): void {
    const live = this.live.get(memberId);
    this.live.set(memberId, { ...live, ...change } as LiveAttempt);
  }
}

const members = (): Watched => new Watched(memberInputs("a", "b", "c"));
const brief = ({ state, behind, position }: MemberEntry): unknown => [state, behind, position];

describe("member states", () => {
  it("R59 of a member's life are idle, queued, running, needs_input, running, stopping, idle", () => {
    const room = members().look();
    room.post("@a hi");
    room.look();
    room.begin();
    room.look();
    room.set("m-a", { open_requests: ["srq-1"] });
    room.park("m-a");
    room.look();
    room.set("m-a", { open_requests: [] });
    room.look();
    room.set("m-a", { stopping: true });
    room.look();
    room.settle("m-a", { status: "cancelled", reason_code: "stopped" });
    room.look();
    expect(room.told).toEqual({
      "m-a": ["idle", "queued", "running", "needs_input", "running", "stopping", "idle"],
      "m-b": ["idle"],
      "m-c": ["idle"],
    });
  });

  it("R59 of one that failed are failed, with the reason and what a retry names", () => {
    const room = members();
    room.post("@a hi");
    const { thread_id, turn_id, task_id } = room.begin();
    room.settle("m-a", { status: "failed", reason_code: "runner_error" });
    expect(room.look().of("m-a")).toEqual({
      member_id: "m-a",
      state: "failed",
      paused: false,
      since: 2_000,
      thread_id,
      turn_id,
      task_id,
      execution_generation: 1,
      open_requests: [],
      reason_code: "runner_error",
      retryable: true,
      last: { turn_id, status: "failed", reason_code: "runner_error" },
    });
    room.post("@a again");
    expect(room.look().of("m-a").state).toBe("queued");
    room.pause("m-a");
    expect(room.look().of("m-a")).toMatchObject({ state: "idle", paused: true });
    expect(room.of("m-a").position).toBeUndefined();
  });

  it("R48 of one whose host was lost are failed, and it may be retried", () => {
    const room = members();
    room.post("@a hi");
    room.begin();
    room.settle("m-a", { status: "abandoned", reason_code: "host_lost", activity_count: null, duration_ms: null });
    expect(room.look().of("m-a")).toMatchObject({ state: "failed", reason_code: "host_lost", retryable: true });
    room.room = { ...room.room, disbanded_at: 5 };
    expect(room.look().of("m-a")).toMatchObject({ state: "failed", retryable: false });
  });

  it("shows a running member with its coordinates, its tool and its requests", () => {
    const room = members();
    room.post("@a hi");
    room.look();
    const { thread_id, turn_id, task_id } = room.begin();
    const tool = { tool_id: "c1", name: "read", since: 2_500 };
    // However late somebody first looks: it waits since it was asked.
    room.set("m-a", { tool, open_requests: ["srq-1", "srq-2"], asked_at: 2_600 });
    expect(room.look().of("m-a")).toEqual({
      member_id: "m-a",
      state: "needs_input",
      paused: false,
      since: 2_600,
      thread_id,
      turn_id,
      task_id,
      execution_generation: 1,
      tool,
      open_requests: ["srq-1", "srq-2"],
      last: null,
    });
  });

  it("shows an open attempt of which this process knows nothing as running", () => {
    const room = members();
    room.post("@a hi");
    room.begin();
    room.live.clear();
    expect(room.look().of("m-a")).toMatchObject({ state: "running", since: 2_000, open_requests: [] });
  });

  it("says behind what a turn waits, and where it stands", () => {
    const room = members();
    room.post("hi");
    room.roomsBefore = 3;
    room.look();
    expect(["m-a", "m-b", "m-c"].map((id) => brief(room.of(id)))).toEqual([
      ["queued", "slot", 4],
      ["queued", "thread", 2],
      ["queued", "thread", 3],
    ]);
    const { turn_id } = room.begin();
    room.look();
    expect(room.of("m-a").turn_id).toBe(turn_id);
    expect(["m-a", "m-b", "m-c"].map((id) => brief(room.of(id)))).toEqual([
      ["running", undefined, undefined],
      ["queued", "thread", 1],
      ["queued", "thread", 2],
    ]);
  });

  it("R36 shows that a second turn of a member waits for its first", () => {
    const room = members();
    room.post("@a one", { thread_id: "first" });
    room.begin();
    room.post("@a two", { thread_id: "second" });
    expect(room.look().of("m-a")).toMatchObject({ state: "running", thread_id: "first", behind: "member" });
  });

  it("R41 shows a turn that waits for its due time, and its next generation", () => {
    const room = members();
    room.post("@a hi");
    const { task_id, turn_id } = room.begin();
    room.settle("m-a", { status: "failed", reason_code: "not_admitted" });
    room.due = { passed: [], waiting: [task_id] };
    expect(room.look().of("m-a")).toMatchObject({
      state: "queued",
      behind: "due",
      thread_id: "main",
      turn_id,
      task_id,
      execution_generation: 2,
    });
    room.due = { passed: [task_id], waiting: [] };
    expect(brief(room.look().of("m-a"))).toEqual(["queued", "slot", 1]);
  });

  it("R32 shows a paused member that is owed as idle and paused, its running turn as running", () => {
    const room = members();
    room.post("@a @b hi");
    room.begin();
    room.pause("m-a", "m-b");
    room.look();
    expect(room.of("m-a")).toMatchObject({ state: "running", paused: true });
    expect(room.of("m-b")).toMatchObject({ state: "idle", paused: true });
    room.resume("m-b");
    expect(room.look().of("m-b")).toMatchObject({ state: "queued", paused: false, behind: "thread", position: 1 });
  });

  it("R28 shows one that a discussion named and never heard as idle: it waits for nothing", () => {
    const room = new Watched(memberInputs("a", "b"), { maxRounds: 1, maxOwedPasses: 1 });
    room.post("@a hi");
    room.run((memberId) => (memberId === "m-a" ? "ask @b" : ""));
    expect(room.thread()).toMatchObject({ status: "bounded", owed: ["m-b"] });
    expect(room.look().of("m-b").state).toBe("idle");
  });

  it("lists whom runners drive in roster order, and one that left the roster until its turn has ended", () => {
    const room = new Watched([{ handle: "p", runner_kind: null }, ...memberInputs("b", "a")]);
    expect(room.look().entries.map(({ member_id }) => member_id)).toEqual(["m-b", "m-a"]);
    room.post("@a hi");
    room.begin();
    room.room = { ...room.room, members: room.room.members.filter(({ handle }) => handle !== "a") };
    room.set("m-a", { stopping: true });
    expect(room.look().entries.map(({ member_id, state }) => [member_id, state])).toEqual([
      ["m-b", "idle"],
      ["m-a", "stopping"],
    ]);
    room.settle("m-a", { status: "cancelled", reason_code: "member_removed" });
    expect(room.look().entries.map(({ member_id }) => member_id)).toEqual(["m-b"]);
  });

  it("tells since when: kept while the state is the same, from the attempt's start when it runs", () => {
    const room = members();
    room.look();
    expect(room.look().of("m-a").since).toBe(2_000);
    room.post("@b @a hi");
    expect(room.look().of("m-b").since).toBe(4_000);
    room.begin();
    expect(room.look().of("m-a").since).toBe(4_000);
    expect(room.look().of("m-b")).toMatchObject({ state: "queued", position: 1, since: 4_000 });
    room.set("m-a", { open_requests: ["srq-1"] });
    expect(room.look().of("m-a").since).toBe(7_000);
    room.set("m-a", { open_requests: ["srq-1", "srq-2"] });
    expect(room.look().of("m-a").since).toBe(7_000);
    room.set("m-a", { open_requests: [] });
    expect(room.look().of("m-a")).toMatchObject({ state: "running", since: 9_000 });
  });

  it("tells nothing when nothing has changed, and each entry that has", () => {
    const room = members().look();
    const { entries } = room;
    expect(changedEntries(entries, room.look().entries)).toEqual([]);
    room.post("@b hi");
    expect(changedEntries(entries, room.look().entries)).toEqual([room.of("m-b")]);
    expect(changedEntries([], entries)).toEqual(entries);
  });
});

describe("roomState", () => {
  it("puts together what was read at one instant", () => {
    const room = members();
    const open = room.post("@a hi");
    const closed = room.post("@a nothing", { thread_id: "other" });
    room.withdraw(closed);
    room.look();
    const { threads } = room.plan();
    const lease = { room_id: "r1", generation: 3, holder: "h", renewal: 9, released: false, process: null };
    const head = { seq: 7, hash: "ab" };
    const input = { room: room.room, inbox: room.inbox, retries: [], due: [], head, log_bytes: 99, lease };
    const author = { kind: "person", id: "local" };
    expect(roomState({ input, threads, members: room.entries, requests: [] })).toEqual({
      room: { room_id: "r1", name: "Test", revision: 1, disbanded_at: null, roster: room.room.members },
      log: { latest_seq: 7, log_hash: "ab" },
      lease: { generation: 3, held: true },
      threads,
      members: room.entries,
      inbox: [
        { message_id: open, thread_id: "main", author, at: 0, state: "open", owed: ["m-a"] },
        { message_id: closed, thread_id: "other", author, at: 0, state: "closed", owed: [] },
      ],
      open_requests: [],
      quota: { rows: 7, bytes: 99 },
    });
    const released = { ...input, lease: { ...lease, released: true } };
    expect(roomState({ input: released, threads, members: [], requests: [] }).lease.held).toBe(false);
  });
});
