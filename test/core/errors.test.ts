import { describe, expect, it } from "vitest";
import { manualClock, messageOf, reportLater, RoomtapError, type Notice } from "../../core/index.ts";

describe("faults", () => {
  it("have a code, a remedy and their cause", () => {
    const cause = new Error("disk");
    const fault = new RoomtapError("log_full", "no room", { cause });
    expect([fault.name, fault.code, fault.message, fault.cause]).toEqual([
      "RoomtapError",
      "log_full",
      "no room",
      cause,
    ]);
    expect(fault.remedy).toContain("Make room");
    expect(new RoomtapError("log_full", "no room", { remedy: "Buy a disk." }).remedy).toBe("Buy a disk.");
  });

  it.each([
    [new Error("said"), "said"],
    ["a text", "a text"],
    [undefined, "[object Undefined]"],
    [{ toString: 1 }, "[object Object]"],
    [
      Object.defineProperty(new Error("x"), "message", {
        get: () => {
          throw new Error("no");
        },
      }),
      "something that cannot be read",
    ],
  ])("%# give a text whatever was thrown", (fault, text) => {
    expect(messageOf(fault)).toBe(text);
  });

  it("are reported in order, in a later turn of the event loop, also behind a listener that throws", () => {
    const clock = manualClock();
    const told: string[] = [];
    const report = reportLater((notice: Notice) => {
      told.push(notice.code);
      throw new Error("broken listener");
    }, clock);
    report({ code: "a", message: "" });
    report({ code: "b", message: "" });
    expect(told).toEqual([]);
    clock.tick();
    expect(told).toEqual(["a", "b"]);
  });
});
