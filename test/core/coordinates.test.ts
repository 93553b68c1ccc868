import { describe, expect, it } from "vitest";
import {
  activityEventSchema,
  coordinatesSchema,
  coordinatesText,
  idSchema,
  makeCoordinates,
  parseEventFrame,
} from "../../core/index.ts";
import { openBus } from "../support/bus.ts";

const fields = {
  room_id: "r1",
  thread_id: "main",
  member_id: "constructor",
  turn_id: "t-1",
  task_id: "k-1",
  execution_generation: 1,
};

describe("ids and coordinates", () => {
  it.each([
    ["constructor", true],
    ["toString", true],
    ["a", true],
    ["9.b_c:d-e", true],
    ["a".repeat(128), true],
    ["a".repeat(129), false],
    ["", false],
    ["__proto__", false],
    ["-a", false],
    ["a b", false],
    ["a\u0000", false],
    ["é", false],
  ])("C-080 take the id %j: %s", (id, taken) => {
    expect(idSchema.safeParse(id).success).toBe(taken);
  });

  it("are one frozen object of six fields, whose text is made once", () => {
    const coordinates = makeCoordinates({ ...fields, extra: 1 } as typeof fields);
    expect(coordinates).toEqual(fields);
    expect(Object.isFrozen(coordinates)).toBe(true);
    expect(coordinatesText(coordinates)).toBe(JSON.stringify(fields));
    expect(coordinatesSchema.safeParse({ ...fields, extra: 1 }).success).toBe(false);
    expect(coordinatesSchema.safeParse({ ...fields, execution_generation: 0 }).success).toBe(false);
  });

  it("read back the events that a consumer got", async () => {
    const bus = openBus();
    const { events } = bus.watch({ grants: [], maxEvents: 2 });
    const attempt = bus.start();
    for (let k = 0; k < 3; k++) bus.emit(attempt, "tool.complete", { tool_id: `t${k}`, result: "r".repeat(50_000) });
    bus.reason(attempt, "hidden");
    bus.settle(attempt);
    await bus.idle();
    expect(events.some(({ kind }) => kind === "gap")).toBe(true);
    for (const event of events) expect(activityEventSchema.parse(JSON.parse(JSON.stringify(event)))).toEqual(event);
  });
});

describe("a frame from outside", () => {
  it.each([
    [{ jsonrpc: "2.0", method: "event", params: { type: "x", new_key: 1 } }, true],
    [{ jsonrpc: "2.0", method: "event", params: { type: "" } }, false],
    [{ jsonrpc: "1.0", method: "event", params: { type: "x" } }, false],
    [{ jsonrpc: "2.0", method: "event", params: { type: "x", payload: [] } }, false],
    [null, false],
  ])("is taken or refused with the place that is wrong: %j", (value, ok) => {
    const parsed = parseEventFrame(value);
    expect(parsed).toEqual(ok ? { ok, frame: value } : { ok, problem: expect.stringContaining(": ") });
  });
});
