import { describe, expect, expectTypeOf, it } from "vitest";
import { activityKinds, RoomtapError, type ActivityEvent, type EventOf } from "../../core/index.ts";
import { kindsOf, type EventFor, type KindPattern } from "../../plugins/index.ts";

describe("a pattern", () => {
  it.each([
    ["*", activityKinds],
    ["tool.started", ["tool.started"]],
    ["tool.*", ["tool.started", "tool.completed", "tool.output_risk"]],
    ["turn.*", ["turn.started", "turn.settled", "turn.error"]],
    ["message.*", ["message.delta", "message.interim"]],
    ["reasoning.*", ["reasoning.delta"]],
    ["request.*", ["request.opened", "request.resolved"]],
    ["gap", ["gap"]],
  ] as const)("%s names kinds in the order of the table", (pattern, kinds) => {
    expect(kindsOf(pattern)).toEqual(kinds);
  });

  it.each([
    "tool.finished",
    "tools.*",
    "tool",
    "tool.",
    "to.*",
    ".*",
    "*.*",
    "**",
    "",
    "TOOL.*",
    "gap.*",
    "constructor",
  ])('C-068 "%s" that names no kind is refused, and the known ones are listed', (pattern) => {
    const refusal = expect.objectContaining({
      code: "unknown_kind",
      message: `no activity kind matches "${pattern}"; known: ${activityKinds.join(", ")}, a family such as tool.*, or *`,
    }) as Error;
    expect(() => kindsOf(pattern)).toThrow(refusal);
    expect(() => kindsOf(pattern)).toThrow(RoomtapError);
  });
});

describe("the type of a handler's event", () => {
  it("is what the pattern names, and a gap", () => {
    expectTypeOf<EventFor<"tool.started">>().toEqualTypeOf<EventOf<"tool.started"> | EventOf<"gap">>();
    expectTypeOf<EventFor<"request.*">>().toEqualTypeOf<
      EventOf<"request.opened"> | EventOf<"request.resolved"> | EventOf<"gap">
    >();
    expectTypeOf<EventFor<"*">>().toEqualTypeOf<ActivityEvent>();
  });

  it("knows no pattern that names nothing", () => {
    expectTypeOf<"tool.*">().toExtend<KindPattern>();
    expectTypeOf<"tool.finished">().not.toExtend<KindPattern>();
    expectTypeOf<"gap.*">().not.toExtend<KindPattern>();
  });
});
