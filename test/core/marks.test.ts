import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  hostTurns,
  originOf,
  type EventFrame,
  type Execution,
  type Frame,
  type Turn,
  type TurnEnd,
  type TurnMark,
  type TurnSource,
} from "../../core/index.ts";
import { openBus, tapFrames, type Bus } from "../support/bus.ts";
import { HeldRunner, type HeldTurn } from "../support/held-runner.ts";
import { startRun, type OpenRun } from "../support/open-run.ts";

type Mark = Partial<TurnMark>;

const connection = (socket_id: string): TurnSource => ({ kind: "connection", socket_id });

function eventsOf(frames: readonly Frame[]): readonly EventFrame["params"][] {
  return frames.flatMap((frame) => ("id" in frame ? [] : [frame.params]));
}

/** The two keys of an event that tell whose turn it is, as far as it has them. */
function markOf(params: EventFrame["params"]): Mark {
  return {
    ...("origin" in params ? { origin: params.origin } : {}),
    ...("turn" in params ? { turn: params.turn } : {}),
  } as Mark;
}

function marksOf(frames: readonly Frame[]): readonly Mark[] {
  return eventsOf(frames).map(markOf);
}

function typesOf(frames: readonly Frame[]): readonly string[] {
  return eventsOf(frames).map(({ type }) => type);
}

function mark(id: string, source: TurnSource): Mark {
  const origin = originOf(source);
  return { ...(origin === null ? {} : { origin }), turn: { id, source } };
}

/** A whole turn with an event of each kind: of the host, of the runner, of the session itself, of a failure. */
function playTurn(bus: Bus, execution: Execution): void {
  const { tap } = bus;
  tap.write(execution, { type: "message.start", payload: { input: null } });
  bus.reason(execution, "hm");
  bus.delta(execution, "hello");
  bus.emit(execution, "subagent.started", { name: "scout" });
  bus.emit(execution, "tool.start", { tool_id: "c1", name: "read" });
  bus.emit(execution, "tool.complete", { tool_id: "c1", outcome: "ok" });
  bus.emit(execution, "tool.complete", { tool_id: "c2", outcome: "ok" });
  tap.write(execution, { type: "message.input", payload: { kind: "steer" } });
  bus.info(execution.session, { queued: 1 });
  void tap.requests.ask(execution, { method: "approval", params: { tool_id: "c3", tool_name: "shell" } });
  bus.emit(execution, "error", { message: "the agent is lost" });
  bus.delta(execution, "tok_EX");
  tap.seal(execution, "interrupted");
  bus.info(execution.session, { queued: 0 });
  tap.complete(execution, { text: "hello", status: "error" });
}

/** What `playTurn` leaves behind, in order. */
const played = [
  "message.start",
  "reasoning.delta",
  "message.delta",
  "subagent.started",
  "tool.start",
  "tool.complete",
  "tool.start",
  "tool.complete",
  "message.input",
  "session.info",
  "tool.start",
  "error",
  "message.delta",
  "request.cancel",
  "request.resolved",
  "tool.complete",
  "session.info",
  "message.complete",
];

/** Plays a turn of a source and gives its frames. */
function framesOf(source: TurnSource, bus = openBus()): readonly Frame[] {
  const frames = tapFrames(bus);
  playTurn(bus, bus.claim(source));
  return frames;
}

describe("the events of a claimed turn", () => {
  it("name who claimed it, from the first to the last, whoever builds them", () => {
    const frames = framesOf(connection("c-a"));
    expect(typesOf(frames).toSorted()).toEqual(played.toSorted());
    expect([typesOf(frames)[0], typesOf(frames).at(-1)]).toEqual(["message.start", "message.complete"]);
    expect(marksOf(frames)).toStrictEqual(played.map(() => mark("t-1", connection("c-a"))));
  });

  it("W16 name the kick-off after a crash", () => {
    expect(marksOf(framesOf({ kind: "auto_continue" }))).toStrictEqual(
      played.map(() => ({ origin: "auto_continue", turn: { id: "t-1", source: { kind: "auto_continue" } } })),
    );
  });

  it.each(hostTurns)("W17 name the host and its %s, never who claimed before", (sub) => {
    const bus = openBus();
    playTurn(bus, bus.claim("c-a"));
    expect(marksOf(framesOf({ kind: "host", sub }, bus))).toStrictEqual(
      played.map(() => ({ origin: "host", turn: { id: "t-2", source: { kind: "host", sub } } })),
    );
  });

  it("have a turn and no origin when the source is unknown", () => {
    const bus = openBus();
    playTurn(bus, bus.claim("c-a"));
    expect(marksOf(framesOf({ kind: "unknown" }, bus))).toStrictEqual(
      played.map(() => ({ turn: { id: "t-2", source: { kind: "unknown" } } })),
    );
  });

  it("keep their mark whatever a frame brings along", () => {
    const bus = openBus();
    const frames = tapFrames(bus);
    const execution = bus.claim("c-a");
    const session_id = execution.session.runtimeId;
    const brought = { origin: "x", turn: { id: "t-x", source: connection("x") }, seq: 99 };
    for (const type of ["message.delta", "tool.start", "error", "x.y"]) {
      const payload = { text: "a", tool_id: "c1", message: "m" };
      const params = { type, session_id, payload, ...brought };
      bus.tap.seam.writeJson({ jsonrpc: "2.0", method: "event", params }, execution);
    }
    const params = { type: "session.info", session_id, ...brought };
    bus.tap.seam.writeJson({ jsonrpc: "2.0", method: "event", params });
    bus.complete(execution);
    bus.tap.seam.writeJson({ jsonrpc: "2.0", method: "event", params });
    const own = mark("t-1", connection("c-a"));
    // The tool that is still open is ended before the last frame.
    expect(marksOf(frames)).toStrictEqual([...Array.from({ length: 7 }, () => own), {}]);
    expect(eventsOf(frames).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it("leave events of other sessions and of none alone", () => {
    const bus = openBus();
    bus.claim("c-a");
    const frames = tapFrames(bus);
    bus.info(bus.tap.sessions.open("other", { roomPlumbing: false }));
    bus.tap.seam.writeJson({ jsonrpc: "2.0", method: "event", params: { type: "notice" } });
    expect(marksOf(frames)).toStrictEqual([{}, {}]);
  });
});

type Ending = (open: OpenRun, held: HeldTurn) => void;

/** Runs a turn of `c-a` to its end and writes its last frame. */
async function endedRun(end: Ending): Promise<{ readonly open: OpenRun; readonly turn: Turn }> {
  const runner = new HeldRunner();
  const open = startRun({ runner, turnDeadlineMs: 1_000, stopGraceMs: 0 });
  open.bus.tap.write(open.run.execution, { type: "message.start", payload: { input: null } });
  const held = await runner.turn(0);
  end(open, held);
  await open.pass(0);
  open.bus.tap.complete(open.run.execution, { status: open.settled?.status });
  return { open, turn: held.turn };
}

function endsWith(how: TurnEnd): Ending {
  return (_, { end }) => end(how);
}

describe("an idle session", () => {
  it.each<[string, Ending, string]>([
    ["its completion", endsWith({ status: "completed", text: "done" }), "completed"],
    ["an error", (_, { fail }) => fail(new Error("broken")), "runner_error"],
    ["an interrupt", ({ run }) => run.stop("interrupted"), "interrupted"],
    ["its deadline", ({ bus }) => bus.clock.advance(1_000), "turn_deadline"],
    ["the loss of its child", endsWith({ status: "failed", reason_code: "runner_lost" }), "runner_lost"],
  ])("W19 wears no mark once a turn was ended by %s", async (_, end, word) => {
    const { bus, run, frames, settled } = (await endedRun(end)).open;
    expect(settled?.reason_code ?? settled?.status).toBe(word);
    bus.info(run.execution.session);
    const own = mark("t-1", connection("c-a"));
    expect(marksOf(frames)).toStrictEqual([own, own, {}]);
    expect(typesOf(frames)).toEqual(["message.start", "message.complete", "session.info"]);
  });
});

describe("a turn that has ended", () => {
  it.each<[string, Ending]>([
    ["by itself", endsWith({ status: "completed", text: "done" })],
    ["by the host, its runner still at work", ({ run }) => run.stop("stopped")],
  ])("W20 %s writes nothing into the next one", async (_, end) => {
    const { open, turn } = await endedRun(end);
    const { bus } = open;
    const next = startRun({ runner: new HeldRunner(), bus, source: "c-b" });
    expect(turn.emit({ type: "message.delta", payload: { text: "late" } })).toBe("late_frame");
    expect([bus.tap.seam.refused("late_frame"), next.frames]).toEqual([1, []]);
    bus.delta(next.run.execution, "own");
    expect(eventsOf(next.frames)).toMatchObject([{ seq: 3, type: "message.delta", payload: { text: "own" } }]);
    expect(marksOf(next.frames)).toStrictEqual([mark("t-2", connection("c-b"))]);
  });
});

describe("the events of a room's turn", () => {
  it("W17 name the host and the room in a later round", () => {
    const bus = openBus();
    const frames = tapFrames(bus);
    const first = bus.start();
    bus.delta(first, "hello");
    bus.settle(first);
    const later = bus.begin({}, undefined, "host");
    bus.delta(later, "hello again");
    bus.info(later.session);
    bus.settle(later);
    bus.info(later.session);
    const own = { origin: "host", turn: { id: "t-2", source: { kind: "host", sub: "room" } } };
    expect(marksOf(frames)).toStrictEqual([mark("t-1", connection("c-origin")), own, own, {}]);
  });
});

const acts = ["claim", "delta", "tool", "start", "info", "seal", "complete", "late"] as const;

const sources: fc.Arbitrary<TurnSource> = fc.oneof(
  fc.constantFrom("c-a", "c-b").map(connection),
  fc.constantFrom(...hostTurns).map((sub): TurnSource => ({ kind: "host", sub })),
  fc.constantFrom<TurnSource>({ kind: "auto_continue" }, { kind: "unknown" }),
);

/** Does it to the turn that runs. */
function act(bus: Bus, execution: Execution, word: (typeof acts)[number]): void {
  if (word === "delta") bus.delta(execution, "hello tok_EX");
  if (word === "tool") bus.emit(execution, "tool.start", { tool_id: "c1" });
  if (word === "start") bus.tap.write(execution, { type: "message.start" });
  if (word === "seal") bus.tap.seal(execution, "interrupted");
  if (word === "complete") bus.complete(execution);
}

describe("whatever happens on a session", () => {
  it("each event has the mark of the turn that runs, or none", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom(...acts), sources), { maxLength: 40 }), (steps) => {
        const bus = openBus();
        const frames = tapFrames(bus);
        const session = bus.tap.sessions.open("plain", { roomPlumbing: false });
        const claimed: Mark[] = [];
        const past: Execution[] = [];
        let running: Execution | null = null;
        const expected: Mark[] = [];
        for (const [word, source] of steps) {
          if (word === "claim" && running === null) {
            running = bus.claim(source);
            claimed.push(mark(`t-${claimed.length + 1}`, source));
          } else if (word === "late") {
            for (const execution of past) expect(bus.delta(execution, "late")).toBe("late_frame");
          } else if (word === "info") bus.info(session);
          else if (running !== null) act(bus, running, word);
          const own = running === null || word === "late" ? {} : (claimed.at(-1) ?? {});
          while (expected.length < frames.length) expected.push(own);
          if (word === "complete" && running !== null) {
            past.push(running);
            running = null;
          }
        }
        expect(marksOf(frames)).toStrictEqual(expected);
        expect(eventsOf(frames).map(({ seq }) => seq)).toEqual(frames.map((_, index) => index + 1));
      }),
    );
  });
});

describe("a runner's frame that clients would take for the host's", () => {
  it.each(["session.info", "session.title", "session.x", "request.x", "gateway.ready", "room.log"])(
    "is refused: %s",
    (type) => {
      const bus = openBus();
      const frames = tapFrames(bus);
      expect(bus.tap.emit(bus.claim("c-a"), { type, payload: {} })).toBe("invalid_frame");
      expect(frames).toEqual([]);
    },
  );

  it("passes in a hidden session, where nobody sees it", () => {
    const bus = openBus();
    expect(bus.tap.emit(bus.begin(), { type: "session.info", payload: {} })).toBe("written");
  });
});
