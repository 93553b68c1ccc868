import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  createRoomtap,
  definePlugin,
  systemClock,
  type ActivityEvent,
  type Clock,
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

  it("says that another one has the database", async () => {
    const db = join(temporaryFolder(), "room.db");
    await open({ db });
    await expect(createRoomtap({ db, rooms: someRooms })).rejects.toMatchObject({ code: "database_in_use" });
  });
});
