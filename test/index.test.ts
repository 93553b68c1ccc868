import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  createRoomtap,
  definePlugin,
  openSqliteLogReader,
  systemClock,
  type ActivityEvent,
  type Clock,
  type Notice,
  type OpenRequest,
  type Roomtap,
  type RoomtapOptions,
  type Runner,
  type Step,
  type Turn,
} from "../index.ts";
import { temporaryFolder } from "./support/open-log.ts";

const scripted = (...steps: Step[]) => ({ kind: "scripted", script: { steps } }) as const;
const ask: Step = { ask: { method: "approval", params: { command: "make", choices: ["once", "deny"] } } };

const member = (handle: string, runner: RoomtapOptions["rooms"][number]["members"][number]["runner"]) => ({
  handle,
  runner,
});

async function open(
  options: Partial<RoomtapOptions> = {},
): Promise<{ readonly tap: Roomtap; readonly events: ActivityEvent[] }> {
  const events: ActivityEvent[] = [];
  const tap = await createRoomtap({
    db: ":memory:",
    rooms: [{ room_id: "r1", members: [member("a", scripted({ delta: "hi" }, ask, { delta: " there" }))] }],
    report: () => undefined,
    ...options,
  });
  onTestFinished(() => tap.close());
  tap.observe({ id: "all", grants: ["reasoning", "approvals", "full"], handler: (event) => void events.push(event) });
  return { tap, events };
}

const payloadOf = (events: readonly ActivityEvent[], kind: string) =>
  events.find((event) => event.kind === kind)?.payload;

describe("a host", () => {
  it("runs a turn from its post to its end, and closes", async () => {
    const { tap, events } = await open({ approve: "once" });
    const receipt = await tap.room("r1").post({ text: "@a hello" });
    expect(receipt).toMatchObject({ room_id: "r1", addressed: ["m-a"], duplicate: false });
    await tap.finish();
    await tap.close();
    expect(events.map(({ kind }) => kind)).toEqual([
      "turn.started",
      "message.delta",
      "request.opened",
      "request.resolved",
      "message.delta",
      "turn.settled",
    ]);
    expect(payloadOf(events, "request.resolved")).toMatchObject({
      outcome: "answered",
      choice: "once",
      by: null,
      reason: "policy",
    });
    expect(payloadOf(events, "turn.settled")).toMatchObject({
      status: "completed",
      text: "hi there",
      activity_count: 6,
    });
    await expect(tap.room("r1").post({ text: "again" })).rejects.toMatchObject({ code: "closed" });
  });

  it("gives an approval to whom it was told of, and the first answer stands", async () => {
    const asked: OpenRequest[] = [];
    const { tap, events } = await open({ onRequest: (request) => asked.push(request) });
    await tap.room("r1").post({ text: "@a hello" });
    await tap.quiet();
    const [request] = asked;
    expect(tap.requests.open()).toEqual(asked);
    expect(request?.params).toMatchObject({ command: "make", choices: ["once", "deny"] });
    expect(tap.requests.answer(request?.id ?? "", "deny", "ada").status).toBe("ok");
    expect(tap.requests.answer(request?.id ?? "", "once", "bob")).toMatchObject({
      status: "already_resolved",
      outcome: { outcome: "denied", by: { origin: "ada" } },
    });
    expect(tap.requests.answer("srq-000000000000", "once")).toEqual({ status: "unknown_request" });
    expect(await tap.finish()).toEqual([]);
    await tap.close();
    expect(payloadOf(events, "request.resolved")).toMatchObject({ by: { origin: "ada" } });
  });

  it.each<readonly [string, () => unknown]>([
    ["rejects", () => Promise.reject(new Error("no pager"))],
    [
      "throws",
      () => {
        throw new Error("no pager");
      },
    ],
  ])("reports an onRequest that %s, and the approval waits on", async (_, onRequest) => {
    const notices: Notice[] = [];
    const { tap } = await open({ onRequest, report: (notice) => void notices.push(notice) });
    await tap.room("r1").post({ text: "@a hello" });
    await tap.quiet();
    expect(tap.requests.answer(tap.requests.open()[0]?.id ?? "", "once").status).toBe("ok");
    await tap.finish();
    await tap.close();
    const message = "a listener to requests failed: no pager";
    expect(notices).toMatchObject([{ code: "request_listener_threw", message }]);
  });

  it("takes a choice that no request offers for deny", async () => {
    const { tap } = await open();
    await tap.room("r1").post({ text: "@a hello" });
    await tap.quiet();
    const outcome = { outcome: "denied", choice: "deny", by: null };
    expect(tap.requests.answer(tap.requests.open()[0]?.id ?? "", "yes")).toEqual({ status: "ok", outcome });
  });

  it("I13 reports what a handler threw without the secrets in it", async () => {
    const notices: Notice[] = [];
    const { tap } = await open({
      approve: "deny",
      secrets: ["not a word 4711"],
      report: (each) => void notices.push(each),
    });
    tap.observe({
      id: "broken",
      kinds: ["turn.started"],
      handler: () => {
        throw new Error("lost\nnot a word 4711");
      },
    });
    await tap.room("r1").post({ text: "@a hello" });
    await tap.finish();
    await tap.close();
    const message = "consumer broken: its handler threw: lost [redacted]";
    expect(notices).toMatchObject([{ code: "handler_threw", subject: "broken", message }]);
  });

  it("finishes without a person: what waits is cancelled and told", async () => {
    const { tap, events } = await open();
    await tap.room("r1").post({ text: "@a hello" });
    const unanswered = await tap.finish();
    await tap.close();
    expect(unanswered.map(({ params }) => params["command"])).toEqual(["make"]);
    expect(payloadOf(events, "request.resolved")).toMatchObject({ outcome: "cancelled", reason: "shutdown" });
    expect(payloadOf(events, "turn.settled")).toMatchObject({
      status: "cancelled",
      reason_code: "shutdown",
      text: "hi",
    });
  });

  it("takes an agent of the embedder's own, and leaves it open", async () => {
    let closed = 0;
    const runner: Runner = {
      kind: "own",
      run: async (turn: Turn) => ({ status: "completed", text: turn.unseen.at(-1)?.text.toUpperCase() }),
      close: async () => void closed++,
    };
    const { tap, events } = await open({
      rooms: [{ room_id: "r1", members: [member("a", runner), member("ada", null)] }],
    });
    await tap.room("r1").post({ text: "@a hello" });
    await tap.finish();
    await tap.close();
    expect(payloadOf(events, "turn.settled")).toMatchObject({ text: "@A HELLO" });
    expect(closed).toBe(0);
  });

  it("I13 masks the secrets it was given, and those of its agents' environments, everywhere", async () => {
    const secret = "not a word 4711";
    const { tap, events } = await open({
      rooms: [{ room_id: "r1", members: [member("a", scripted({ delta: "not a wo" }, { delta: "rd 4711" }))] }],
      secrets: [secret],
    });
    await tap.room("r1").post({ text: `@a ${secret}` });
    await tap.finish();
    await tap.close();
    expect(JSON.stringify(events)).not.toContain(secret);
    expect(payloadOf(events, "turn.settled")).toMatchObject({ text: "[redacted]" });
  });

  it("closes in reverse: plugins after their last event", async () => {
    const steps: string[] = [];
    const plugin = definePlugin({
      id: "p",
      version: "1",
      setup(context) {
        context.on("turn.settled", (event) => steps.push(event.kind));
        context.defer(() => steps.push("undone"));
      },
    });
    const { tap } = await open({ approve: "deny", plugins: [{ plugin }] });
    await tap.room("r1").post({ text: "@a hello" });
    await Promise.all([tap.close(), tap.close(), tap[Symbol.asyncDispose]()]);
    expect(steps.at(-1)).toBe("undone");
  });

  it("calls no handler and keeps no timer once it is closed", async () => {
    const timers = new Set<() => void>();
    const clock: Clock = {
      ...systemClock,
      after(delayMs, run) {
        const undo = systemClock.after(delayMs, () => {
          timers.delete(undo);
          run();
        });
        timers.add(undo);
        return () => {
          timers.delete(undo);
          undo();
        };
      },
    };
    const { tap } = await open({ approve: "deny", clock });
    tap.observe({ id: "slow", handler: () => Promise.resolve() });
    await tap.room("r1").post({ text: "@a hello" });
    await tap.finish();
    await tap.close();
    expect([timers.size, tap.stats()]).toEqual([0, []]);
  });

  it("names the rooms it has when asked for another", async () => {
    const { tap } = await open();
    expect(() => tap.room("r9")).toThrow("no room r9 is open here; open are: r1");
  });
});

describe("a host that cannot be opened", () => {
  const bad = { id: "p", version: "1", setup: () => Promise.reject(new Error("no port")) };
  const someRooms = [{ room_id: "r1", members: [member("a", scripted({ delta: "hi" }))] }];

  it.each<readonly [string, object, object]>([
    ["a plugin fails", { plugins: [{ plugin: bad }] }, { code: "plugin_failed", message: "plugin p: no port" }],
    ["two rooms have one id", { rooms: [...someRooms, ...someRooms] }, { code: "duplicate_id" }],
    ["a roster is none", { rooms: [{ room_id: "r1", members: [member("all", null)] }] }, { code: "invalid_roster" }],
    [
      "a runner's config is wrong",
      { rooms: [{ room_id: "r1", members: [member("a", { kind: "acp" } as never)] }] },
      {
        code: "invalid_config",
        message: expect.stringMatching(/^rooms\[0\]\.members\[0\]\.runner\.command: /) as string,
      },
    ],
    [
      "a policy is no word",
      { approve: "always" },
      { code: "invalid_params", message: 'approve: expected "once", "deny" or nothing, got "always"' },
    ],
    ["a secret is too short", { secrets: ["short"] }, { code: "invalid_params" }],
  ])("says why, and leaves nothing open: %s", async (_, options, refusal) => {
    const db = join(temporaryFolder(), "room.db");
    await expect(createRoomtap({ db, rooms: someRooms, ...options } as RoomtapOptions)).rejects.toMatchObject(refusal);
    // Nothing holds the file: the next one opens.
    await (await createRoomtap({ db, rooms: someRooms })).close();
  });

  it.each<readonly [string, object | undefined, string | RegExp]>([
    ["no options", undefined, "expected options: { db, rooms }, got undefined"],
    ["no db", { db: undefined }, 'db: expected the path of a database, or ":memory:", got undefined'],
    ["no rooms", { rooms: undefined }, "rooms: expected a list of rooms, got undefined"],
    ["rooms by id", { rooms: { r1: {} } }, "rooms: expected a list of rooms, got object"],
    ["an unknown option", { plugin: [] }, "plugin: unknown key"],
    [
      "an id that is none",
      { rooms: [{ room_id: "a b", members: [] }] },
      /^rooms\[0\]\.room_id: expected 1 to 128 .*, got "a b"$/,
    ],
    ["no members", { rooms: [{ room_id: "r1" }] }, "rooms[0].members: expected a list of members, got undefined"],
    [
      "a key of a member",
      { rooms: [{ room_id: "r1", members: [{ handel: "a" }] }] },
      "rooms[0].members[0].handel: unknown key",
    ],
    [
      "a runner by name",
      { rooms: [{ room_id: "r1", members: [member("a", "acp" as never)] }] },
      /^rooms\[0\]\.members\[0\]\.runner: expected .*, got "acp"$/,
    ],
    [
      "a runner that cannot end",
      { rooms: [{ room_id: "r1", members: [member("a", { kind: "own", run: async () => ({}) } as never)] }] },
      /runner: expected .*, got one without close$/,
    ],
    [
      "a runner of another kind",
      { rooms: [{ room_id: "r1", members: [member("a", { kind: "llm" } as never)] }] },
      /runner: expected .*, got one of kind "llm" without run$/,
    ],
    ["a bare plugin", { plugins: [bad] }, "plugins[0]: expected an entry, got a bare plugin: write { plugin: ... }"],
    ["an entry without a plugin", { plugins: [{}] }, "plugins[0].plugin: expected a plugin, got undefined"],
    [
      "an unknown grant",
      { plugins: [{ plugin: bad, grants: ["all"] }] },
      'plugins[0].grants[0]: no such word "all"; known: full, reasoning, approvals, answer, routes',
    ],
    ["one secret, which is not told", { secrets: "correct horse" }, "secrets: expected a list of texts, got string"],
    ["a report that is none", { report: console }, "report: expected a function, got object"],
    [
      "half a logger",
      { logger: { info: () => 0 } },
      "logger: expected a logger with debug, info, warn, error, got object",
    ],
    ["no time", { busyTimeoutMs: -1 }, "busyTimeoutMs: expected 0 or more milliseconds, got -1"],
    ["no clock", { clock: Date }, /^clock: expected a clock with now, /],
  ])("names the path, what was expected and what was found: %s", async (_, change, message) => {
    const options = change === undefined ? undefined : { db: ":memory:", rooms: someRooms, ...change };
    const opening = createRoomtap(options as RoomtapOptions);
    await expect(opening).rejects.toMatchObject({
      code: "invalid_params",
      message: typeof message === "string" ? message : (expect.stringMatching(message) as string),
    });
  });

  it("waits for a room that another one drives, and has it when that is closed", async () => {
    const db = join(temporaryFolder(), "room.db");
    const { tap: first } = await open({ db, rooms: someRooms, leaseTtlMs: 600 });
    const { tap: second } = await open({ db, rooms: someRooms, leaseTtlMs: 600 });
    const [there, here] = [first, second].map((tap) => tap.rooms[0]);
    expect([there?.isDriven, here?.isDriven]).toEqual([true, false]);
    await first.close();
    while (here?.isDriven === false) await new Promise<void>((resolve) => systemClock.defer(resolve));
    expect(here?.isDriven).toBe(true);
  });
});

describe("an entrance", () => {
  it.each<readonly [string, unknown, string | RegExp]>([
    ["nothing", undefined, "a consumer: expected { id, handler }, got undefined"],
    ["no id", { handler: () => 0 }, "a consumer: id: expected a text that is not empty, got undefined"],
    ["no handler", { id: "c" }, "consumer c: handler: expected a function, got undefined"],
    ["one kind", { id: "c", handler: () => 0, kinds: "gap" }, "consumer c: kinds: expected a list, got string"],
    [
      "an unknown option",
      { id: "c", handler: () => 0, kind: [] },
      /^consumer c: kind: no such option; known: id, kinds, /,
    ],
  ])("of observers refuses %s", async (_, options, message) => {
    const { tap } = await open();
    expect(() => tap.observe(options as never)).toThrow(message);
    expect(() => tap.observe(options as never)).toThrow(expect.objectContaining({ code: "invalid_params" }) as Error);
  });

  it.each<readonly [string, unknown, string]>([
    ["a path", "x.db", "openSqliteLogReader: expected { file, clock }, got string"],
    ["no file", { clock: systemClock }, "file: expected the path of a database, got undefined"],
    ["no clock", { file: "x.db" }, "clock: expected a clock, such as systemClock, got undefined"],
  ])("of logs refuses %s", async (_, options, message) => {
    await expect(openSqliteLogReader(options as never)).rejects.toMatchObject({ code: "invalid_params", message });
  });
});
