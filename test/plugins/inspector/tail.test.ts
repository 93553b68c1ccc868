import { describe, expect, it } from "vitest";
import { tailCommand, type TailOptions } from "../../../plugins/index.ts";
import type { Json } from "../../../plugins/client/index.ts";
import { LineQueue, maxWaitingLines } from "../../../plugins/inspector/line-queue.ts";
import { attemptCoordinates as coordinates, autoGateway } from "../../support/auto-gateway.ts";
import { collectedOutput, type CollectedOutput } from "../../support/collected-output.ts";
import { refuse, type FakeGateway, type FakeSocket } from "../../support/fake-gateway.ts";
import { settled } from "../../support/wire-client.ts";

const started = {
  input: [{ message_id: "msg-1", author: { kind: "person", id: "local" }, text: "hello" }],
  cause: "message",
};

const row = (seq: number): Json => ({
  ...coordinates,
  seq,
  kind: "turn.started",
  event_id: `ev-${seq}`,
  payload: started,
});

const activity = (n: number | null, kind: string, payload: Json): Json => ({
  v: 1,
  coordinates,
  kind,
  n,
  seq: 1,
  at: 0,
  payload,
});

const events: readonly (readonly [string, Json])[] = [
  ["room.log", row(3)],
  ["room.activity", activity(1, "turn.started", { ...started, row: { seq: 3, hash: "h" } })],
  ["room.activity", activity(2, "tool.started", { tool_id: "c1", name: "read" })],
  [
    "room.activity",
    activity(null, "gap", { dropped: 2, withheld: 0, first_n: 3, last_n: 4, kinds: {}, reason: "overflow" }),
  ],
  ["room.activity", activity(5, "message.delta", { text: "hi\u001b[31m", offset: 0 })],
];

interface Tailed {
  readonly gateway: FakeGateway;
  readonly output: CollectedOutput;
  readonly status: Promise<number>;
  readonly stop: AbortController;
  readonly tell: () => void;
}

/** A tail that stands at row 2. */
async function tailed(options: Partial<TailOptions> = {}): Promise<Tailed> {
  const output = collectedOutput();
  const stop = new AbortController();
  const gateway = autoGateway({
    "rooms.subscribe": ({ since_seq = 2 }) => ({
      state: {},
      rows: since_seq === 1 ? [row(2)] : [],
      cursor: 2,
      latest_seq: 2,
      has_more: false,
      attempts: [],
    }),
    "rooms.unsubscribe": () => ({ unsubscribed: true }),
  });
  const status = tailCommand(
    {
      url: "ws://h/api/ws",
      token: "t",
      json: false,
      WebSocket: gateway.WebSocket,
      room: "r1",
      kinds: [],
      failOnLoss: false,
      ...options,
    },
    output,
    stop.signal,
  );
  await settled();
  const socket: FakeSocket = gateway.socket;
  return {
    gateway,
    output,
    status,
    stop,
    tell: () => events.forEach(([type, payload]) => socket.event(type, { payload })),
  };
}

describe("tail", () => {
  it("prints a line for each row and event, what was lost, and where to go on", async () => {
    const { output, status, stop, tell } = await tailed();
    tell();
    stop.abort(0);
    expect(await status).toBe(0);
    expect(output.lines).toEqual([
      '3  turn.started  main  m-a  k-1#1  message  ["local: hello"]',
      '  2  tool.started  main  m-a  k-1#1  {"tool_id":"c1","name":"read"}',
      "! 2 events lost (overflow)  3..4 of main  m-a  k-1#1",
      '  5  message.delta  main  m-a  k-1#1  {"text":"hi\\u001b[31m","offset":0}',
    ]);
    expect(output.notes).toEqual([
      "1 row, 2 events (tool.started 1, message.delta 1), lost: 2; go on with: roomtap tail r1 --since 3",
    ]);
  });

  it("prints JSON lines and nothing else with --json", async () => {
    const { output, status, stop, tell } = await tailed({ json: true });
    tell();
    stop.abort(0);
    await status;
    expect(output.lines.map((_, index) => (output.json(index) as Json)["type"])).toEqual([
      "row",
      "activity",
      "loss",
      "activity",
      "activity",
      "summary",
    ]);
    expect(output.json(5)).toEqual({
      type: "summary",
      rows: 1,
      events: { "tool.started": 1, "message.delta": 1 },
      lost: 2,
      since: 3,
    });
  });

  it("asks for the kinds that it shows, and leaves out rows of others", async () => {
    const { gateway, output, status, stop, tell } = await tailed({ kinds: ["tool.*"] });
    expect(gateway.socket.calls("rooms.subscribe")[0]?.params).toEqual({
      room_id: "r1",
      kinds: ["tool.started", "tool.completed", "tool.output_risk"],
    });
    tell();
    stop.abort(0);
    await status;
    expect(output.lines[0]).toBe('  2  tool.started  main  m-a  k-1#1  {"tool_id":"c1","name":"read"}');
    expect(output.notes).toEqual([expect.stringMatching(/^0 rows, .* --since 3$/)]);
  });

  it("asks for no activity where rows say all", async () => {
    const { gateway, status, stop } = await tailed({ kinds: ["turn.*"] });
    expect(gateway.socket.calls("rooms.subscribe")[0]?.params).toEqual({ room_id: "r1", kinds: ["turn.error"] });
    stop.abort(0);
    await status;
  });

  it("begins behind the row that it is given", async () => {
    const { gateway, output, status, stop } = await tailed({ since: 1 });
    expect(gateway.socket.calls("rooms.subscribe")[0]?.params).toEqual({ room_id: "r1", since_seq: 1 });
    stop.abort(0);
    await status;
    expect(output.lines.length).toBe(1);
  });

  it.each([
    [1, 1, 3],
    [3, 3, 3],
  ])("ends after %i lines", async (count, lines, since) => {
    const { output, status, tell } = await tailed({ count });
    tell();
    expect(await status).toBe(0);
    expect(output.lines.length).toBe(lines);
    expect(output.notes[0]).toContain(`--since ${since}`);
  });

  it("goes on behind the last row that it printed, not behind the last that it was given", async () => {
    const gateway = autoGateway({
      "rooms.subscribe": () => ({
        state: {},
        rows: [row(1), row(2), row(3)],
        cursor: 3,
        latest_seq: 3,
        has_more: false,
        attempts: [],
      }),
      "rooms.unsubscribe": () => ({ unsubscribed: true }),
    });
    const output = collectedOutput();
    const base = { url: "ws://h/api/ws", token: "t", json: false, WebSocket: gateway.WebSocket, room: "r1", kinds: [] };
    const options = { ...base, since: 0, count: 2, failOnLoss: false };
    expect(await tailCommand(options, output, new AbortController().signal)).toBe(0);
    expect(output.notes).toEqual([expect.stringMatching(/^2 rows, .* --since 2$/)]);
  });

  it("stops before it is subscribed", async () => {
    const gateway = autoGateway();
    const stop = new AbortController();
    const base = { url: "ws://h/api/ws", token: "t", json: false, WebSocket: gateway.WebSocket, room: "r1", kinds: [] };
    const status = tailCommand({ ...base, failOnLoss: false }, collectedOutput(), stop.signal);
    await settled();
    stop.abort(143);
    expect(await status).toBe(143);
  });

  it.each([
    [true, 1],
    [false, 0],
  ])("with a loss and --fail-on-loss %s gives %i", async (failOnLoss, expected) => {
    const { status, stop, tell } = await tailed({ failOnLoss });
    tell();
    stop.abort(0);
    expect(await status).toBe(expected);
  });

  it("gives the status of what stopped it", async () => {
    const { status, stop } = await tailed();
    stop.abort(130);
    expect(await status).toBe(130);
  });

  it.each([
    [{ kinds: ["tools.*"] }, "unknown_kind"],
    [{ count: 0 }, "invalid_params"],
    [{ room: "gone" }, "unknown_room"],
  ])("with %j ends with %s", async (options, code) => {
    const gateway = autoGateway({
      "rooms.subscribe": () => {
        throw refuse(4130, "unknown_room");
      },
      "groups.list": () => ({ rooms: [], next_offset: null }),
    });
    const base = { url: "ws://h/api/ws", token: "t", json: false, WebSocket: gateway.WebSocket, room: "r1", kinds: [] };
    const tail = tailCommand(
      { ...base, failOnLoss: false, ...options },
      collectedOutput(),
      new AbortController().signal,
    );
    await expect(tail).rejects.toMatchObject({ code });
  });

  it("ends when the server takes its connection away, and says where to go on", async () => {
    const { gateway, output, status, tell } = await tailed();
    tell();
    gateway.socket.end(4410, "revoked");
    await expect(status).rejects.toMatchObject({ code: "not_connected" });
    expect(output.notes).toEqual([expect.stringMatching(/^1 row, .* --since 3$/)]);
  });
});

describe("the queue of lines", () => {
  it.each([
    [maxWaitingLines, "open"],
    [maxWaitingLines + 1, "unread"],
  ])("with %i lines that nobody reads is %s", async (count, expected) => {
    const lines = new LineQueue(() => new Promise(() => undefined));
    for (let line = 0; line < count; line++) lines.push("line");
    expect(await Promise.race([lines.ended, settled().then(() => "open")])).toBe(expected);
  });

  it("rejects when a line cannot be written", async () => {
    const lines = new LineQueue(() => Promise.reject(new Error("EPIPE")));
    lines.push("line");
    await expect(lines.ended).rejects.toThrow("EPIPE");
  });
});
