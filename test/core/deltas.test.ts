import { describe, expect, it } from "vitest";
import { cutUtf8, limits, noRedaction, utf8Length } from "../../core/index.ts";
import { eventsOf, kindsOf, openBus, secret, tapFrames, textOf } from "../support/bus.ts";

const masked = "key: [redacted] ok";
const text = `key: ${secret} ok`;

describe("deltas", () => {
  it("C-077 join the halves of a surrogate pair, and end a lone one as U+FFFD", async () => {
    const bus = openBus({ redactor: noRedaction });
    const { events } = bus.watch();
    const first = bus.begin();
    expect([bus.delta(first, "a\ud83d"), bus.delta(first, "\ude00b")]).toEqual(["written", "written"]);
    const { text: joined } = bus.settle(first);
    const second = bus.begin();
    bus.delta(second, "a\ud83d");
    const { text: lone } = bus.settle(second);
    await bus.idle();
    expect(eventsOf(events, "message.delta").map(({ payload }) => payload.text)).toEqual(["a", "😀b", "a", "\ufffd"]);
    expect([joined, lone]).toEqual(["a😀b", "a\ufffd"]);
    expect(events.map((event) => event.n)).toEqual([1, 2, 3, 1, 2, 3]);
  });

  it.each([
    ["\ude00a", "\ufffda"],
    ["\ud83d\ud83d\ude00", "\ufffd😀"],
    ["a\ud83db", "a\ufffdb"],
  ])("C-077 are well formed whatever comes: %j", (sent, leaves) => {
    const bus = openBus();
    const attempt = bus.begin();
    for (const unit of sent.split("")) bus.delta(attempt, unit);
    expect(bus.tap.seal(attempt, "interrupted").text).toBe(leaves);
  });

  it("C-077 keep a half pair from moving across a tool card", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.begin();
    bus.delta(attempt, "\ud83d");
    bus.emit(attempt, "tool.start", { tool_id: "t" });
    bus.delta(attempt, "\ude00");
    await bus.idle();
    expect(kindsOf(events)).toEqual(["message.delta", "tool.started", "message.delta"]);
    expect(textOf(events, "message.delta")).toBe("\ufffd\ufffd");
  });

  it("C-077 are cut by bytes between two code points", () => {
    expect(cutUtf8("ab😀c", 5)).toBe("ab");
    expect(cutUtf8("ab😀c", 6)).toBe("ab😀");
    expect(cutUtf8("\ufeffab", 4)).toBe("\ufeffa");
    expect(utf8Length("a\ud83d")).toBe(4);
  });

  it("C-046 are masked the same at each cut, with n and seq given at the release", async () => {
    for (let cut = 1; cut < text.length; cut++) {
      const bus = openBus();
      const { events } = bus.watch();
      const attempt = bus.begin();
      bus.delta(attempt, text.slice(0, cut));
      bus.delta(attempt, text.slice(cut));
      const { text: settled } = bus.settle(attempt);
      await bus.idle();
      const deltas = eventsOf(events, "message.delta");
      expect([textOf(events, "message.delta"), settled]).toEqual([masked, masked]);
      expect(deltas.map(({ n, seq }) => [n, seq])).toEqual(deltas.map((_, index) => [index + 1, index + 1]));
    }
  });

  it("C-046 keep their place among tool cards, and show at most 8 characters of a split secret", async () => {
    for (let cut = 1; cut < text.length; cut++) {
      const bus = openBus();
      const frames = tapFrames(bus);
      const { events } = bus.watch();
      const attempt = bus.begin();
      bus.delta(attempt, text.slice(0, cut));
      const held = cut > 5 && cut < 5 + secret.length;
      expect(attempt.n).toBe(1);
      bus.emit(attempt, "tool.start", { tool_id: "t" });
      // What was held takes its numbers now, before the tool does.
      expect(attempt.n).toBe(held ? 3 : 2);
      bus.delta(attempt, text.slice(cut));
      bus.settle(attempt);
      await bus.idle();
      const shown = textOf(events, "message.delta") ?? "";
      const tail = cut - 5;
      expect(shown).toBe(held && tail <= 8 ? `key: ${secret.slice(0, tail)}[redacted] ok` : masked);
      const place = events.findIndex((event) => event.kind === "tool.started");
      expect(textOf(events.slice(0, place), "message.delta")).toBe(
        cut <= 5
          ? text.slice(0, cut)
          : !held
            ? `key: [redacted]${text.slice(5 + secret.length, cut)}`
            : tail <= 8
              ? text.slice(0, cut)
              : "key: [redacted]",
      );
      expect(events.map((event) => event.n)).toEqual(events.map((_, index) => index + 1));
      expect(JSON.stringify([frames, events])).not.toContain(secret.slice(0, 9));
    }
  });

  it("C-046 come out masked when the turn is cancelled within a secret", () => {
    const bus = openBus();
    const attempt = bus.begin();
    bus.delta(attempt, `k ${secret.slice(0, 9)}`);
    expect(bus.tap.seal(attempt, "interrupted").text).toBe("k [redacted]");
  });

  it.each([
    [limits.maxDeltaUnits - 1, [8_191]],
    [limits.maxDeltaUnits, [8_192]],
    [limits.maxDeltaUnits + 1, [8_192, 1]],
    [20_000, [8_192, 8_192, 3_616]],
  ])("of %i characters leave as pieces of %j", async (length, pieces) => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.begin();
    bus.delta(attempt, "x".repeat(length));
    await bus.idle();
    const payloads = eventsOf(events, "message.delta").map(({ payload }) => payload);
    expect(payloads.map((payload) => payload.text.length)).toEqual(pieces);
    expect(payloads.map((payload) => payload.offset)).toEqual(pieces.map((_, index) => index * 8_192));
    expect(textOf(events, "message.delta")).toBe("x".repeat(length));
  });

  it("are split between two code points", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.begin();
    const long = `x${"😀".repeat(8_000)}`;
    bus.delta(attempt, long);
    await bus.idle();
    expect(eventsOf(events, "message.delta").every(({ payload }) => payload.text.isWellFormed())).toBe(true);
    expect(textOf(events, "message.delta")).toBe(long);
  });

  it("of 10 MB leave whole, while the first 1,048,576 characters are kept", () => {
    const bus = openBus();
    const attempt = bus.begin();
    bus.delta(attempt, "x".repeat(10_000_000));
    const sealed = bus.tap.seal(attempt, "interrupted");
    expect([sealed.text.length, sealed.cut, attempt.message.units]).toEqual([
      limits.maxReleasedUnits,
      true,
      10_000_000,
    ]);
  });
});
