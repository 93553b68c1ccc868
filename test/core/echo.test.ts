import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Echo, repeats } from "../../core/echo.ts";
import { eventsOf, openBus } from "../support/bus.ts";

const reasoning = "The user must not learn that the key lies under the mat, so I say that I have forgotten it.";

describe("an error's text", () => {
  it.each([
    ["", reasoning, false],
    [reasoning, "", false],
    ["no such file", reasoning, false],
    [`failed while thinking: ${reasoning}`, reasoning, true],
    ["key lies under the mat", reasoning, true],
    ["the user must not lie, and the mat is dirty", reasoning, false],
    ["boom: short and whole!!", "short and whole!!", true],
    ["y".repeat(65_536), reasoning, false],
    ["y".repeat(65_537), reasoning, true],
  ])("%# %j repeats its reasoning or not", (text, source, answer) => {
    expect(repeats(text, source)).toBe(answer);
  });

  it("repeats any run of 63 characters, wherever it stands in both", () => {
    const source = Array.from({ length: 100 }, (_, k) => `${k * 7_919}-`).join("");
    fc.assert(
      fc.property(fc.nat(source.length - 63), fc.string(), fc.string(), (at, before, after) => {
        expect(repeats(before + source.slice(at, at + 63) + after, source)).toBe(true);
      }),
    );
  });

  it("repeats any run of 63 characters of a source that grows", () => {
    const source = Array.from({ length: 100 }, (_, k) => `${k * 7_919}-`).join("");
    fc.assert(
      fc.property(fc.array(fc.nat(source.length - 63), { maxLength: 6 }), fc.string(), (places, other) => {
        const echo = new Echo();
        for (const at of places.toSorted((a, b) => a - b)) {
          expect(echo.repeats(`${other}!`, source.slice(0, at + 63))).toBe(
            repeats(`${other}!`, source.slice(0, at + 63)),
          );
          expect(echo.repeats(`x${source.slice(at, at + 63)}y`, source.slice(0, at + 63))).toBe(true);
        }
      }),
    );
  });

  it("is compared anew once the source was forgotten", () => {
    const echo = new Echo();
    expect(echo.repeats(reasoning, reasoning)).toBe(true);
    expect(echo.repeats(reasoning, "something else")).toBe(false);
    expect(echo.repeats(reasoning, "")).toBe(false);
  });

  it("is cut to its reason when it repeats reasoning, in the event and in the row", async () => {
    const bus = openBus();
    const { events } = bus.watch({ grants: [] });
    const attempt = bus.begin();
    bus.reason(attempt, reasoning);
    bus.emit(attempt, "error", { message: `model failed at: ${reasoning}`, reason: "runner_error" });
    bus.emit(attempt, "error", { message: "model failed", reason: "runner_error" });
    await bus.idle();
    expect(eventsOf(events, "turn.error").map(({ payload }) => payload)).toEqual([
      { message: "", reason: "runner_error" },
      { message: "model failed", reason: "runner_error" },
    ]);
    expect(bus.tap.cleanError(attempt, reasoning.slice(0, 70))).toBe("");
    expect(bus.tap.cleanError(attempt, "model failed")).toBe("model failed");
  });
});
