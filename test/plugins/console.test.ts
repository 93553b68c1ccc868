import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import {
  demoConfig,
  oneLine,
  parseConfig,
  parseLine,
  roundsConfig,
  StreamOutput,
  terminalText,
} from "../../plugins/index.ts";

describe("a line of input", () => {
  const post = (roomId: string, text: string) => ({ kind: "post", roomId, text });
  const wrong = (message: string) => ({ kind: "wrong", message });
  const one = ["release"];
  const two = ["release", "lobby"];

  it.each<readonly [string, readonly string[], object]>([
    ["", one, { kind: "empty" }],
    [" \t\r", two, { kind: "empty" }],
    ["@planner hello", one, post("release", "@planner hello")],
    ["  @planner hello \r", one, post("release", "@planner hello")],
    ["#release @planner hello", one, post("release", "@planner hello")],
    ["#1 is done", one, post("release", "#1 is done")],
    ["#release @planner hello", two, post("release", "@planner hello")],
    ["#lobby hello", two, post("lobby", "hello")],
    ["#lobby /answer srq-1 once", two, { kind: "answer", id: "srq-1", choice: "once" }],
    ["#lobby //answer is a command", two, post("lobby", "/answer is a command")],
    ["//tmp", one, post("release", "/tmp")],
    ["#lobby", two, wrong("nothing stands behind #lobby; type: #lobby TEXT")],
    ["#nowhere hello", two, wrong("there is no room #nowhere; begin the line with one of: #release, #lobby")],
    ["hello", two, wrong("no room is named; begin the line with one of: #release, #lobby")],
    ["/answer srq-1 once", one, { kind: "answer", id: "srq-1", choice: "once" }],
    ["/answer  srq-1  deny ", two, { kind: "answer", id: "srq-1", choice: "deny" }],
    ["/answer srq-1 always", one, wrong("expected: /answer ID once|deny")],
    ["/answer srq-1", one, wrong("expected: /answer ID once|deny")],
    ["/answer", one, wrong("expected: /answer ID once|deny")],
    ["/answer srq-1 once more", one, wrong("expected: /answer ID once|deny")],
    ["/stop", one, { kind: "stop", roomId: "release" }],
    ["/stop now", one, wrong("expected: /stop")],
    ["#lobby /state", two, { kind: "state", roomId: "lobby" }],
    ["/state", two, wrong("no room is named; begin the line with one of: #release, #lobby")],
    ["/pause @planner", one, { kind: "pause", roomId: "release", handle: "planner" }],
    ["/resume planner", one, { kind: "resume", roomId: "release", handle: "planner" }],
    ["/pause", one, wrong("expected: /pause @HANDLE")],
    ["/resume @", one, wrong("expected: /resume @HANDLE")],
    ["#lobby /retry k-1", two, { kind: "retry", roomId: "lobby", taskId: "k-1" }],
    ["/retry", one, wrong("expected: /retry TASK")],
    [
      "/dance",
      one,
      wrong(
        "unknown command /dance; known: /answer ID once|deny, /stop, /pause @HANDLE, /resume @HANDLE, /retry TASK, " +
          "/state. A post may begin with //",
      ),
    ],
  ])("%j is read", (line, rooms, asked) => {
    expect(parseLine(line, rooms)).toEqual(asked);
  });
});

describe("the demo's config", () => {
  it("is a config like any other", () => {
    for (const config of [demoConfig("scripted", undefined), demoConfig("acp", "agent.js"), roundsConfig()]) {
      expect(parseConfig(JSON.parse(JSON.stringify(config)))).toEqual(config);
    }
  });

  it("says what to do when the agent is not installed", () => {
    expect(() => demoConfig("acp", undefined)).toThrow(
      expect.objectContaining({
        code: "runner_not_installed",
        remedy: expect.stringContaining("--runner scripted") as string,
      }) as Error,
    );
  });
});

describe("text for a terminal", () => {
  it.each([
    ["\u001b[31mred\u001b[0m", "\u{fffd}[31mred\u{fffd}[0m"],
    ["a\tb\nc", "a\tb\nc"],
    ["a\rb\u0000\u007f\u009b", "a\u{fffd}b\u{fffd}\u{fffd}\u{fffd}"],
    ["left\u202eright\u2066\u200f\u2028", "left\u{fffd}right\u{fffd}\u{fffd}\u{fffd}"],
    ["é 😀 — 한", "é 😀 — 한"],
  ])("%j is shown, not obeyed", (text, shown) => {
    expect(terminalText(text)).toBe(shown);
  });

  it("is brought on one line within a bound", () => {
    expect(oneLine(" a\r\n\n b\tc ")).toBe("a b c");
    expect(oneLine("abcdef", 6)).toBe("abcdef");
    expect(oneLine("abcdefg", 6)).toBe("abcde…");
    expect(oneLine("abcd😀fg", 6)).toBe("abcd…");
  });
});

describe("the output", () => {
  /** A stream that keeps what it gets, each chunk when the test says so. */
  function slowStream() {
    const chunks: string[] = [];
    const waiting: ((fault?: Error) => void)[] = [];
    const stream = new Writable({
      highWaterMark: 1,
      write(chunk, _, done) {
        chunks.push(String(chunk));
        waiting.push(done);
      },
    });
    return { chunks, stream, next: (fault?: Error) => waiting.shift()?.(fault) };
  }

  it("resolves when the next line may follow", async () => {
    const { chunks, stream, next } = slowStream();
    const output = new StreamOutput(stream, new Writable());
    const steps: string[] = [];
    const first = output.out("one").then(() => steps.push("one is written"));
    await Promise.resolve();
    expect([chunks, steps]).toEqual([["one\n"], []]);
    next();
    await first;
    expect([output.fault, output.hasLeft]).toEqual([null, false]);
  });

  it.each([
    ["EPIPE", true],
    ["ENOSPC", false],
  ])("C-069 tells a reader that left from a fault: %s", async (code, hasLeft) => {
    const { stream, next } = slowStream();
    const output = new StreamOutput(stream, new Writable());
    const fault = Object.assign(new Error("cannot write"), { code });
    const first = output.out("one");
    next(fault);
    await expect(first).rejects.toBe(fault);
    expect([await output.lost, output.fault, output.hasLeft]).toEqual([fault, fault, hasLeft]);
    await expect(output.out("two")).rejects.toBe(fault);
  });

  it("writes a note on one line that the terminal does not obey", () => {
    const { chunks, stream } = slowStream();
    new StreamOutput(new Writable(), stream).note("two\nlines \u001b[2J");
    expect(chunks).toEqual(["two lines \u{fffd}[2J\n"]);
  });
});
