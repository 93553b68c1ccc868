import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hostTurns, originOf, sourceOf, type TurnSource } from "../../core/index.ts";
import { turnMark } from "../../core/turn-source.ts";

const sources: readonly [TurnSource, string | null][] = [
  [{ kind: "connection", socket_id: "c-7f3a" }, "c-7f3a"],
  [{ kind: "auto_continue" }, "auto_continue"],
  [{ kind: "unknown" }, null],
  ...hostTurns.map((sub): [TurnSource, string] => [{ kind: "host", sub }, "host"]),
];

describe("the source of a turn", () => {
  it.each(sources)("%j is named %s", (source, origin) => {
    expect(originOf(source)).toBe(origin);
  });

  it.each<[string | null, TurnSource]>([
    [null, { kind: "unknown" }],
    ["auto_continue", { kind: "auto_continue" }],
    ["host", { kind: "host", sub: "room" }],
    ["c-7f3a", { kind: "connection", socket_id: "c-7f3a" }],
  ])("that a row calls %j is %j", (origin, source) => {
    expect(sourceOf(origin)).toEqual(source);
  });

  it("comes back from a row under the same name", () => {
    const words = fc.constantFrom(null, "auto_continue", "host");
    fc.assert(
      fc.property(fc.oneof(words, fc.string()), (origin) => {
        expect(originOf(sourceOf(origin))).toBe(origin);
      }),
    );
  });
});

describe("the mark of a turn", () => {
  it.each(sources)("by %j has its name, its id and its source", (source, origin) => {
    const mark = turnMark("t-1", source);
    expect(mark).toStrictEqual(
      origin === null ? { turn: { id: "t-1", source } } : { origin, turn: { id: "t-1", source } },
    );
  });

  it("is frozen through and through", () => {
    const mark = turnMark("t-1", { kind: "host", sub: "tick" });
    expect([mark, mark.turn, mark.turn.source].map((part) => Object.isFrozen(part))).toEqual([true, true, true]);
  });
});
