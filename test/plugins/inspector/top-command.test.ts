import { describe, expect, it } from "vitest";
import { countingClock, type CountingClock } from "../../support/counting-clock.ts";
import { plainStyle } from "../../../plugins/index.ts";
import { topCommand, type TopOptions } from "../../../plugins/inspector/commands/top.ts";
import { Screen } from "../../../plugins/screen.ts";
import { autoGateway } from "../../support/auto-gateway.ts";
import { collectedOutput, type CollectedOutput } from "../../support/collected-output.ts";
import { refuse, type Answers, type FakeGateway } from "../../support/fake-gateway.ts";
import { fakeTerminal, type FakeTerminal } from "../../support/fake-terminal.ts";
import { settled } from "../../support/wire-client.ts";

const entry = (state: string): object => ({
  ...{ room_id: "r1", member_id: "m-a", state, paused: false, since: 0, open_requests: [], last: null },
});

const answers: Answers = {
  "groups.list": () => ({ rooms: [{ room_id: "r1" }], next_offset: null }),
  "rooms.subscribe": ({ room_id }) => ({
    state: { room: { room_id, roster: [{ member_id: "m-a", handle: "a" }] }, members: [entry("idle")] },
    ...{ rows: [], cursor: 0, latest_seq: 0, has_more: false, attempts: [] },
  }),
  "consumers.list": () => ({ at: 5_000, consumers: [] }),
};

interface Shown {
  readonly gateway: FakeGateway;
  readonly output: CollectedOutput;
  readonly terminal: FakeTerminal;
  readonly stop: AbortController;
  readonly clock: CountingClock;
  readonly status: Promise<number>;
}

async function shown(changes: Partial<TopOptions> = {}, more: Answers = {}, hasTerminal = true): Promise<Shown> {
  const gateway = autoGateway({ ...answers, ...more });
  const [output, terminal, stop, clock] = [
    collectedOutput(),
    fakeTerminal(),
    new AbortController(),
    countingClock(1_000),
  ];
  const options: TopOptions = {
    ...{ url: "ws://h/api/ws", token: "t", json: false, WebSocket: gateway.WebSocket, runtimeFolder: "/nowhere" },
    ...{ rooms: [], once: false, intervalMs: 1_000, style: plainStyle },
    ...changes,
  };
  const parts = { terminal: hasTerminal ? terminal : null, stop: stop.signal, clock };
  const status = topCommand(options, output, parts);
  status.catch(() => undefined);
  await settled();
  return { gateway, output, terminal, stop, clock, status };
}

const leave = "\u001b[?25h\u001b[?1049l";

describe("top on a terminal", () => {
  it("draws members as they change, and puts the terminal back when q is typed", async () => {
    const { gateway, terminal, clock, status, output } = await shown();
    expect(terminal.picture()[2]).toMatch(/^r1 +@a +idle +5\.0 s/);
    gateway.socket.event("room.member", { payload: entry("running") });
    clock.advance(50);
    expect(terminal.picture()[2]).toMatch(/^r1 +@a +running/);
    expect(terminal.isRaw()).toBe(true);
    terminal.type("q");
    expect(await status).toBe(0);
    expect([terminal.isRaw(), terminal.listeners(), terminal.written().endsWith(leave)]).toEqual([false, 0, true]);
    expect([output.lines, output.notes, clock.pending()]).toEqual([[], [], 0]);
  });

  it.each<readonly [string, number, (shown: Shown) => void]>([
    ["Ctrl-C is typed", 130, ({ terminal }) => terminal.type("\u0003")],
    ["SIGINT comes", 130, ({ stop }) => stop.abort(130)],
    ["SIGTERM comes", 143, ({ stop }) => stop.abort(143)],
  ])("puts it back when %s", async (_, expected, end) => {
    const all = await shown();
    end(all);
    expect(await all.status).toBe(expected);
    const { terminal } = all;
    expect([terminal.isRaw(), terminal.listeners(), terminal.written().split(leave).length]).toEqual([false, 0, 2]);
  });

  it("puts it back when the server sends it away, and says why", async () => {
    const { gateway, terminal, status } = await shown();
    gateway.socket.end(4410, "revoked");
    await expect(status).rejects.toMatchObject({ code: "not_connected" });
    expect([terminal.listeners(), terminal.written().endsWith(leave)]).toEqual([0, true]);
  });

  it("fits a terminal that is resized", async () => {
    const { terminal, status } = await shown();
    terminal.resize(30, 5);
    expect([terminal.picture().length, Math.max(...terminal.picture().map((line) => line.length))]).toEqual([5, 30]);
    terminal.type("q");
    await status;
  });
});

describe("a screen", () => {
  it("is put back when the process ends by a fault, once", () => {
    const terminal = fakeTerminal();
    const screen = new Screen(terminal, { onKey: () => undefined, onResize: () => undefined });
    terminal.exit();
    screen.close();
    screen.draw(["late"]);
    expect([terminal.isRaw(), terminal.listeners(), terminal.written()]).toEqual([
      false,
      0,
      `\u001b[?1049h\u001b[?25l\u001b[2J${leave}`,
    ]);
  });

  it("I8 leaves pictures out for a terminal that does not keep up", () => {
    const terminal = fakeTerminal();
    const screen = new Screen(terminal, { onKey: () => undefined, onResize: () => undefined });
    terminal.takes = false;
    for (const line of ["one", "two", "three"]) screen.draw([line]);
    expect(terminal.picture()).toEqual(["one"]);
    terminal.drain();
    screen.draw(["four"]);
    expect(terminal.picture()).toEqual(["four"]);
  });
});

describe("top without a terminal", () => {
  it("prints one plain picture", async () => {
    const { output, status, clock } = await shown({}, {}, false);
    expect(await status).toBe(0);
    expect(output.lines.slice(0, 2)).toEqual([
      "ROOM  MEMBER  STATE    AGE  TOOL  AGE  TURN",
      "r1    @a      idle   5.0 s  -       -  -",
    ]);
    expect(clock.pending()).toBe(0);
  });

  it("prints one JSON object with --once, and one at each interval without", async () => {
    const once = await shown({ json: true, once: true });
    expect(await once.status).toBe(0);
    expect([once.output.lines.length, once.output.json()]).toMatchObject([
      1,
      { at: 5_000, is_connected: true, rooms: [{ room_id: "r1", members: [{ handle: "a", state: "idle" }] }] },
    ]);
    const { output, clock, stop, status } = await shown({ json: true });
    for (let time = 0; time < 2; time++) {
      clock.advance(1_000);
      await settled();
    }
    stop.abort(130);
    expect([await status, output.lines.length, clock.pending()]).toEqual([130, 3, 0]);
  });

  it("C-072 tells a credential that may not see consumers so, and follows the rooms", async () => {
    const refused = (): never => {
      throw refuse(4300, "insufficient_scope");
    };
    const { output, status } = await shown({ once: true }, { "consumers.list": refused });
    expect(await status).toBe(0);
    expect(output.lines.at(-1)).toBe("consumers: this credential may not see them: they need the scope admin");
  });

  it("fails for a room that was named and is not there, and passes over one that went", async () => {
    const unknown = (): never => {
      throw refuse(4111, "unknown_room");
    };
    const named = await shown({ once: true, rooms: ["zz"] }, { "rooms.subscribe": unknown });
    await expect(named.status).rejects.toMatchObject({ code: "unknown_room" });
    const listed = await shown({ once: true }, { "rooms.subscribe": unknown });
    expect(await listed.status).toBe(0);
    expect(listed.output.lines.join("\n")).toContain("r1  not followed any more: rooms.subscribe: unknown_room");
  });

  it("I8 follows as many rooms as a connection may, and says how many more there are", async () => {
    const rooms = Array.from({ length: 70 }, (_, index) => ({ room_id: `r${index}` }));
    const { output, status, gateway } = await shown(
      { once: true },
      { "groups.list": () => ({ rooms, next_offset: null }) },
    );
    expect(await status).toBe(0);
    expect(gateway.socket.calls("rooms.subscribe").length).toBe(64);
    expect(output.lines).toContain("6 rooms more: name those that you want to see");
  });
});
