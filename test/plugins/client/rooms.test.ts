import { describe, expect, it } from "vitest";
import {
  clientLimits,
  type ActivityLoss,
  type Json,
  type LogRow,
  type RoomListener,
  type RunningAttempt,
} from "../../../plugins/client/index.ts";
import { AttemptNumbers } from "../../../plugins/client/attempt-numbers.ts";
import { refuse } from "../../support/fake-gateway.ts";
import { comeBack, connectedClient, settled, type WireClient } from "../../support/wire-client.ts";

const coordinates = {
  room_id: "r1",
  thread_id: "main",
  member_id: "m-a",
  turn_id: "T1",
  task_id: "k-1",
  execution_generation: 1,
};

function row(seq: number, kind: LogRow["kind"] = "turn.started", payload: Json = {}): Json {
  return { ...coordinates, seq, kind, event_id: `ev-${seq}`, payload };
}

function activity(n: number | null, more: Json = {}): Json {
  return { v: 1, coordinates, kind: "message.delta", n, seq: 1, at: 0, payload: { text: "x", offset: 0 }, ...more };
}

function reply(rows: readonly Json[], more: Json = {}): Json {
  const seq = Number(rows.at(-1)?.["seq"] ?? 0);
  const state = { room: { room_id: "r1", roster: [] }, members: [], open_requests: [] };
  return { subscription_id: "sub", state, rows, cursor: seq, latest_seq: seq, has_more: false, attempts: [], ...more };
}

interface Followed extends WireClient {
  readonly told: unknown[];
  readonly losses: ActivityLoss[];
}

/** A client that follows r1; what its listener was told, in order. */
async function followed(first: Json, request: Json = {}): Promise<Followed> {
  const wire = await connectedClient({ "rooms.subscribe": () => first });
  const told: unknown[] = [];
  const losses: ActivityLoss[] = [];
  const listener: RoomListener = {
    onState: () => told.push("state"),
    onRow: ({ seq }) => told.push(seq),
    onActivity: ({ kind, n }) => told.push(`${kind} ${n}`),
    onMember: ({ state }) => told.push(state),
    onMessage: ({ message_id }) => told.push(message_id),
    onLoss: (loss) => losses.push(loss),
    onEnd: ({ reason }) => told.push(reason),
  };
  await wire.client.subscribeRoom({ room_id: "r1", ...request }, listener);
  return { ...wire, told, losses };
}

describe("a room", () => {
  it("tells its state, then rows and activity in the order in which they came", async () => {
    const { gateway, told } = await followed(reply([row(1), row(2)]), { since_seq: 0 });
    gateway.socket.event("room.activity", { payload: activity(1) });
    gateway.socket.event("room.log", { payload: row(3) });
    gateway.socket.event("room.member", { payload: { room_id: "r1", member_id: "m-a", state: "running" } });
    gateway.socket.event("room.message", { payload: { room_id: "r1", message_id: "msg-1" } });
    gateway.socket.event("room.log", { payload: { ...row(1), room_id: "r2" } });
    expect(told).toEqual(["state", 1, 2, "message.delta 1", 3, "running", "msg-1"]);
  });

  it("W49 goes on after a drop from the last row, each row once", async () => {
    const wire = await followed(reply([row(3), row(4)]), { since_seq: 2 });
    wire.gateway.answers["rooms.subscribe"] = () => reply([row(5), row(6), row(7)]);
    await comeBack(wire);
    expect(wire.gateway.socket.calls("rooms.subscribe").map(({ params }) => params)).toEqual([
      { room_id: "r1", since_seq: 4 },
    ]);
    wire.gateway.socket.event("room.log", { payload: row(7) });
    wire.gateway.socket.event("room.log", { payload: row(8) });
    expect(wire.told).toEqual(["state", 3, 4, "state", 5, 6, 7, 8]);
  });

  it("reads on when there are more rows than a reply holds, and keeps live ones behind them", async () => {
    const wire = await connectedClient({
      "rooms.subscribe": () => reply([row(1)], { latest_seq: 3, has_more: true }),
    });
    const rows: number[] = [];
    const subscribed = wire.client.subscribeRoom(
      { room_id: "r1", since_seq: 0 },
      { onRow: ({ seq }) => rows.push(seq) },
    );
    await settled();
    wire.gateway.socket.event("room.log", { payload: row(4) });
    expect(rows).toEqual([1]);
    const page = wire.gateway.socket.calls("groups.log")[0];
    expect(page?.params).toEqual({ room_id: "r1", since_seq: 1 });
    wire.gateway.socket.reply(page?.id ?? "", { events: [row(2), row(3)], cursor: 3, latest_seq: 4, has_more: true });
    const subscription = await subscribed;
    expect([rows, subscription.cursor]).toEqual([[1, 2, 3, 4], 4]);
  });

  it("ends when the server refuses to go on", async () => {
    const wire = await followed(reply([]));
    wire.gateway.answers["rooms.subscribe"] = () => {
      throw refuse(4130, "unknown_room");
    };
    await comeBack(wire);
    expect(wire.told).toEqual(["state", "unknown_room"]);
    await comeBack(wire);
    expect(wire.gateway.socket.calls("rooms.subscribe")).toEqual([]);
  });

  it("goes on with what it may, or ends, when the server ends the subscription", async () => {
    const wire = await followed(reply([row(1)]), { since_seq: 0 });
    wire.gateway.answers["rooms.subscribe"] = () => reply([row(2)]);
    const ended = { room_id: "r1", subscription_id: "sub", reason: "rights_changed" };
    wire.gateway.socket.event("room.unsubscribed", { payload: { ...ended, room_id: "r2" } });
    wire.gateway.socket.event("room.unsubscribed", { payload: ended });
    await settled();
    expect(wire.told).toEqual(["state", 1, "state", 2]);
    expect(wire.gateway.socket.calls("rooms.subscribe").at(-1)?.params).toEqual({ room_id: "r1", since_seq: 1 });
    wire.gateway.answers["rooms.subscribe"] = () => {
      throw refuse(4130, "unknown_room");
    };
    wire.gateway.socket.event("room.unsubscribed", { payload: ended });
    await settled();
    expect([wire.told.at(-1), wire.problems.map(({ code }) => code)]).toEqual(["unknown_room", ["room_ended"]]);
  });

  it("that cannot be followed rejects, and is not tried again", async () => {
    const wire = await connectedClient({
      "rooms.subscribe": () => {
        throw refuse(4130, "unknown_room");
      },
    });
    await expect(wire.client.subscribeRoom({ room_id: "r1" }, {})).rejects.toMatchObject({ reason: "unknown_room" });
    await comeBack(wire);
    expect(wire.gateway.socket.calls("rooms.subscribe")).toEqual([]);
  });

  it("is followed no more after close", async () => {
    const wire = await connectedClient({
      "rooms.subscribe": () => reply([]),
      "rooms.unsubscribe": () => ({ unsubscribed: true }),
    });
    const told: unknown[] = [];
    const subscription = await wire.client.subscribeRoom({ room_id: "r1" }, { onRow: ({ seq }) => told.push(seq) });
    await subscription.close();
    await subscription.close();
    wire.gateway.socket.event("room.log", { payload: row(1) });
    expect([told, wire.gateway.socket.calls("rooms.unsubscribe").length]).toEqual([[], 1]);
  });
});

describe("rows that come while older ones are read", () => {
  it.each([
    [clientLimits.maxParkedRoomEvents - 1, 1],
    [clientLimits.maxParkedRoomEvents, 1],
    [clientLimits.maxParkedRoomEvents + 1, 2],
  ])("%i of them wait: subscribed %i times", async (count, times) => {
    const wire = await connectedClient({
      "rooms.subscribe": ({ since_seq }) =>
        since_seq === 0
          ? reply([row(1)], { latest_seq: 2, has_more: true })
          : reply(Array.from({ length: count }, (_, index) => row(index + 3))),
    });
    const rows: number[] = [];
    const subscribed = wire.client.subscribeRoom(
      { room_id: "r1", since_seq: 0 },
      { onRow: ({ seq }) => rows.push(seq) },
    );
    await settled();
    const { socket } = wire.gateway;
    for (let seq = 3; seq < count + 3; seq++) socket.event("room.log", { payload: row(seq) });
    socket.reply(socket.lastId("groups.log"), { events: [row(2)], cursor: 2, latest_seq: 2, has_more: false });
    await subscribed;
    expect(socket.calls("rooms.subscribe").length).toBe(times);
    expect(rows).toEqual(Array.from({ length: count + 2 }, (_, index) => index + 1));
  });
});

describe("activity that does not come", () => {
  const gap = (dropped: number, withheld: number): Json =>
    activity(null, {
      kind: "gap",
      payload: {
        dropped,
        withheld,
        first_n: 2,
        last_n: 4,
        kinds: {},
        reason: dropped > 0 ? "overflow" : "not_granted",
      },
    });

  it.each([
    [3, 0, [{ coordinates, first_n: 2, last_n: 4, events: 3, reason: "overflow" }]],
    [0, 3, []],
  ])("in a gap of %i dropped and %i withheld", async (dropped, withheld, losses) => {
    const wire = await followed(reply([]));
    for (const event of [activity(1), gap(dropped, withheld), activity(5)]) {
      wire.gateway.socket.event("room.activity", { payload: event });
    }
    expect(wire.losses).toEqual(losses);
  });

  it("without a gap is told as unexplained; merged deltas are whole", async () => {
    const wire = await followed(
      reply([], { attempts: [{ coordinates, n: 2, text: "", tools: [], open_requests: [] }] }),
    );
    for (const event of [activity(5, { n_from: 3 }), activity(8)]) {
      wire.gateway.socket.event("room.activity", { payload: event });
    }
    expect(wire.losses).toEqual([{ coordinates, first_n: 6, last_n: 7, events: 2, reason: "unexplained" }]);
  });

  it("because of a filter is no loss", async () => {
    const wire = await followed(reply([]), { kinds: ["tool.started"] });
    wire.gateway.socket.event("room.activity", { payload: activity(8, { kind: "tool.started" }) });
    expect(wire.losses).toEqual([]);
  });

  it("over a drop is told, of attempts that run and of those that ended", async () => {
    const wire = await followed(reply([]));
    wire.gateway.socket.event("room.activity", { payload: activity(1) });
    const other = { ...coordinates, task_id: "k-2", turn_id: "T2" };
    wire.gateway.answers["rooms.subscribe"] = () =>
      reply([row(1), { ...row(2, "turn.settled", { activity_count: 9 }) }, { ...row(3), ...other }], {
        attempts: [{ coordinates: other, n: 4, text: "", tools: [], open_requests: [] }],
      });
    await comeBack(wire);
    expect(wire.losses).toEqual([
      { coordinates: other, first_n: 1, last_n: 4, events: 4, reason: "reconnect" },
      { coordinates, first_n: 2, last_n: 9, events: 8, reason: "reconnect" },
    ]);
    wire.gateway.socket.event("room.activity", { payload: activity(5, { coordinates: other }) });
    expect(wire.losses.length).toBe(2);
  });

  it.each([
    [clientLimits.maxFollowedAttempts - 1, 0],
    [clientLimits.maxFollowedAttempts, 1],
    [clientLimits.maxFollowedAttempts + 1, 1],
  ])("behind %i later attempts is not known any more: %i losses", (later, losses) => {
    const numbers = new AttemptNumbers(false);
    const running = (task: number, n: number): RunningAttempt => {
      const place = { ...coordinates, task_id: `k-${task}` };
      return { coordinates: place, n, text: "", tools: [], open_requests: [] };
    };
    numbers.begin([running(0, 5)]);
    for (let task = 1; task <= later; task++) numbers.begin([running(task, 1)]);
    expect(numbers.returned([running(0, 5)]).length).toBe(losses);
  });
});
