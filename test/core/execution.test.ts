import { describe, expect, it } from "vitest";
import { limits, type OpenTool } from "../../core/index.ts";
import { openBus } from "../support/bus.ts";

const tool = (tool_id: string): OpenTool => ({ tool_id, name: "read", startedAt: 0 });

describe("an execution", () => {
  it("is bound to its session, turn and claimant when it is claimed", () => {
    const execution = openBus().claim("c-a");
    expect([execution.turnId, execution.origin, execution.session.durableId]).toEqual(["t-1", "c-a", "plain"]);
    expect(execution.session.running).toBe(execution);
  });

  it("names nobody when its source is unknown", () => {
    expect(openBus().claim({ kind: "unknown" }).origin).toBeNull();
  });

  it("of a room's member takes the turn of its coordinates", () => {
    const attempt = openBus().begin({ turn_id: "t-room" });
    expect([attempt.turnId, attempt.origin]).toEqual(["t-room", "c-origin"]);
  });

  it("is refused while another one runs on the session, until its last frame", () => {
    const bus = openBus();
    const first = bus.claim();
    const claimAgain = (): unknown => bus.claim("c-b");
    expect(claimAgain).toThrow(expect.objectContaining({ code: "session_busy" }));
    bus.tap.seal(first, "interrupted");
    expect(claimAgain).toThrow(/plain already runs t-1/);
    bus.complete(first);
    expect(bus.claim("c-b").origin).toBe("c-b");
  });

  it("I9 knows a call as open, then as ended, and gives it once", () => {
    const execution = openBus().claim();
    const states = [execution.tool("c1")];
    execution.openTool(tool("c1"));
    states.push(execution.tool("c1"));
    expect([execution.endTool("c1"), execution.endTool("c1")]).toEqual([tool("c1"), undefined]);
    states.push(execution.tool("c1"));
    expect(states).toEqual(["unknown", "open", "ended"]);
  });

  it("lists its open calls in order of their starts", () => {
    const execution = openBus().claim();
    for (const id of ["b", "a", "c"]) execution.openTool(tool(id));
    execution.endTool("a");
    expect([...execution.openTools].map(({ tool_id }) => tool_id)).toEqual(["b", "c"]);
  });

  it.each([1_023, 1_024, 1_025])("I8 opens 1,024 of %i calls", (count) => {
    const execution = openBus().claim();
    const opened = Array.from({ length: count }, (_, index) => execution.openTool(tool(`c${index}`)));
    expect(opened.filter(Boolean)).toHaveLength(Math.min(count, limits.maxOpenTools));
    expect(opened.at(-1)).toBe(count <= limits.maxOpenTools);
  });

  it("keeps the streamed text until it is told to forget it", () => {
    const bus = openBus();
    const execution = bus.claim();
    bus.delta(execution, "hello");
    bus.reason(execution, "hm");
    expect([execution.keptUnits, execution.stream("message.delta")?.text]).toEqual([7, "hello"]);
    execution.forgetText();
    expect([execution.keptUnits, execution.message.text, execution.message.units]).toEqual([0, "", 5]);
  });

  it("has a stream for each kind of delta and for nothing else", () => {
    const execution = openBus().claim();
    expect([
      execution.stream("message.delta") === execution.message,
      execution.stream("reasoning.delta") === execution.reasoning,
      execution.stream("tool.started"),
    ]).toEqual([true, true, null]);
  });

  it("lets go of its calls when it is sealed, and takes no text any more", () => {
    const execution = openBus().claim();
    execution.openTool(tool("open"));
    execution.openTool(tool("ended"));
    execution.endTool("ended");
    execution.seal();
    expect([execution.sealed, [...execution.openTools], execution.tool("ended")]).toEqual([true, [], "unknown"]);
    expect([execution.message.push("late"), execution.message.flush()]).toEqual(["", ""]);
  });

  it("recognises its reasoning in a text, also when it is sealed", () => {
    const bus = openBus();
    const execution = bus.claim();
    const thought = "the key to the vault is under the mat";
    bus.reason(execution, thought);
    const heard = (): readonly boolean[] => [
      execution.repeatsReasoning(`failed: ${thought}`),
      execution.repeatsReasoning("out of memory"),
    ];
    expect(heard()).toEqual([true, false]);
    bus.tap.seal(execution, "interrupted");
    expect(heard()).toEqual([true, false]);
  });
});

describe("the seal of an execution outside rooms", () => {
  it("gives its text and no number of events", () => {
    const bus = openBus();
    const execution = bus.claim();
    bus.delta(execution, "hello");
    const sealed = { activity_count: 0, text: "hello", cut: false };
    expect(bus.tap.seal(execution, "interrupted")).toEqual(sealed);
    expect(bus.tap.seal(execution, "interrupted")).toEqual(sealed);
  });

  it("is what lets the last frame out, once", () => {
    const bus = openBus();
    const execution = bus.claim();
    const complete = () => bus.tap.complete(execution, { status: "complete" });
    expect(complete()).toBe("late_frame");
    bus.tap.seal(execution, "interrupted");
    expect([complete(), complete()]).toEqual(["written", "late_frame"]);
    expect([bus.tap.seam.refused("late_frame"), execution.session.running]).toEqual([2, null]);
  });

  it("tells observers of rooms nothing of it", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const execution = bus.claim();
    bus.delta(execution, "hello");
    bus.emit(execution, "tool.start", { tool_id: "c1" });
    bus.complete(execution);
    await bus.idle();
    expect(events).toEqual([]);
  });
});
