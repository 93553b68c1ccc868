import { afterEach, describe, expect, it, vi } from "vitest";
import { createRedactor, type Notice } from "../../core/index.ts";
import { maskedReport, warningReport } from "../../plugins/index.ts";

const secret = "correct  horse\nbattery";
const redactor = createRedactor({ literals: [secret] });

function told(notice: Notice): Notice {
  const notices: Notice[] = [];
  maskedReport((each) => void notices.push(each), redactor)(notice);
  return notices[0] ?? { code: "none", message: "" };
}

describe("a notice", () => {
  it("I13 comes with its secrets masked, also those that one line would break", () => {
    const cause = new Error(secret);
    expect(told({ code: "handler_threw", message: `it threw: ${secret}!\nTwice`, subject: "c", cause })).toEqual({
      code: "handler_threw",
      message: "it threw: [redacted]! Twice",
      subject: "c",
      cause: expect.objectContaining({ name: "Error", message: "[redacted]" }) as Error,
    });
  });

  it("is cut to 1,000 characters, and no secret in two", () => {
    expect(told({ code: "c", message: "m".repeat(1_000) }).message).toBe("m".repeat(1_000));
    expect(told({ code: "c", message: "m".repeat(1_001) }).message).toBe(`${"m".repeat(999)}…`);
    const { message } = told({ code: "c", message: `${"m".repeat(990)}${secret}` });
    expect(message).toBe(`${"m".repeat(990)}[redacted]`);
  });
});

describe("a warning of the process", () => {
  afterEach(() => void vi.restoreAllMocks());

  it("has the notice's code, and as its detail the masked stack", () => {
    const emitted = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const cause = new TypeError(`no ${secret}`);
    warningReport(redactor)({ code: "handler_threw", message: "it threw", cause });
    warningReport(redactor)({ code: "lagging", message: "too slow" });
    const detail = cause.stack?.replace(secret, "[redacted]");
    expect(emitted.mock.calls).toEqual([
      ["it threw", { type: "RoomtapWarning", code: "handler_threw", detail }],
      ["too slow", { type: "RoomtapWarning", code: "lagging" }],
    ]);
    expect(detail).toMatch(/^TypeError: no \[redacted\]\n {4}at /);
  });
});
