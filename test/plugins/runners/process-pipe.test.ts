import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { limits, systemClock, Tap, type RunnerFrame } from "../../../core/index.ts";
import { createProcessRunner } from "../../../plugins/runners/process-runner.ts";
import { fakeTurn, type FakeTurn } from "../../support/fake-turn.ts";
import { temporaryFolder } from "../../support/open-log.ts";
import { plays, told } from "../../support/told-agent.ts";
import { isThere, openChild, said, toldRunnerPath } from "../../support/told-runner.ts";

/** A turn that looks at each text and keeps none. */
function lookingTurn(post: string, look: (text: string, count: number) => void): FakeTurn {
  let count = 0;
  const emit = ({ payload }: RunnerFrame): "written" => {
    look(String(payload?.["text"]), ++count);
    return "written";
  };
  return Object.assign(fakeTurn({ post }), { emit });
}

describe("a child that writes without end", { timeout: 60_000 }, () => {
  it("I8 has all of 1,000,000 deltas taken, in order, a chunk at a time", async () => {
    const { runner } = openChild();
    await runner.run(plays([]));
    let [came, wrong, peakBytes, turnsOfLoop] = [0, 0, 0, 0];
    const heldBytes = (): number => process.memoryUsage().arrayBuffers;
    const before = heldBytes();
    const turn = lookingTurn(told({ flood: 1_000_000 }), (text, count) => {
      if (text !== String(came % 10)) wrong++;
      came = count;
      if (count % 1_000 === 0) peakBytes = Math.max(peakBytes, heldBytes() - before);
    });
    let isOver = false;
    const running = runner.run(turn).finally(() => (isOver = true));
    while (!isOver) {
      turnsOfLoop++;
      await new Promise<void>((resolve) => systemClock.defer(resolve));
    }
    expect(await running).toEqual({ status: "completed", usage: null });
    expect([came, wrong]).toEqual([1_000_000, 0]);
    // Of the 80 MB on the pipe the host held some chunks and those that no collection had freed yet, and what else it does had its turns between them.
    expect(peakBytes).toBeLessThan(33_554_432);
    expect(turnsOfLoop).toBeGreaterThan(1_000);
  });

  it("waits in emit while the host does not read", async () => {
    const { runner } = openChild();
    const progress = join(temporaryFolder(), "progress");
    let written = 0;
    const turn = lookingTurn(told({ flood: 500_000, progress }), (_text, count) => {
      if (count > 1) return;
      // The host stands still. Unhindered, the child would be through meanwhile.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
      written = Number(readFileSync(progress, "utf8"));
    });
    expect(await runner.run(turn)).toMatchObject({ status: "completed" });
    expect(written).toBeGreaterThan(0);
    expect(written).toBeLessThan(50_000);
    expect(Number(readFileSync(progress, "utf8"))).toBe(500_000);
  });
});

describe("a line of a child", { timeout: 60_000 }, () => {
  it("of 100 MB ends the child, and every turn in it once", async () => {
    const { runner, notices } = openChild();
    const other = plays([{ pid: true }, { hang: true }], { member: "m2" });
    const ends = [runner.run(other)];
    const pid = await said(other);
    const before = process.memoryUsage().arrayBuffers;
    ends.push(runner.run(plays([{ rawBytes: 100_000_000 }, { say: "never" }])));
    const error = `${toldRunnerPath} was killed because it wrote a line of more than 8388608 bytes`;
    expect(await Promise.all(ends)).toEqual(Array(2).fill({ status: "failed", reason_code: "runner_lost", error }));
    // Twice the bound, and as much again that no collection had freed yet.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 * 8_388_608);
    expect(isThere(pid)).toBe(false);
    expect(notices).toEqual([{ code: "agent_lost", message: error, subject: toldRunnerPath }]);
    expect(await runner.run(plays([{ say: "next" }]))).toMatchObject({ status: "completed" });
  });

  it.each([
    ["no JSON", "npm warn", "it is no JSON"],
    ["nothing", "", "it is no JSON"],
    ["a text", '"x"', "it is no message"],
    ["no known message", '{"type":"reboot"}', "type is not as expected"],
    ["a key that is none", '{"type":"end","key":0,"end":{}}', "key is not as expected"],
    ["a frame without a type", '{"type":"frame","key":1,"frame":{}}', "frame.type is not as expected"],
    [
      "a payload that is a list",
      '{"type":"frame","key":1,"frame":{"type":"x","payload":[]}}',
      "frame.payload is not as expected",
    ],
    ["more than a message", '{"type":"ready","x":1}', "it is no message"],
    ["the group of everybody", '{"type":"groups","pids":[1]}', "pids.0 is not as expected"],
    ["bytes that are no text", "\u0000\u0001", "it is no JSON"],
  ])("that is %s ends the child, and what stands behind it is not read", async (_word, line, problem) => {
    const { runner } = openChild();
    const frame = '{"type":"frame","key":1,"frame":{"type":"message.delta","payload":{"text":"behind"}}}';
    const turn = plays([{ say: "before" }, { raw: `${line}\n${frame}\n` }, { deaf: true }]);
    const error = `${toldRunnerPath} was killed because it wrote a line that is no message: ${problem}`;
    expect(await runner.run(turn)).toEqual({ status: "failed", reason_code: "runner_lost", error });
    expect(turn.text).toBe("before");
  });

  it("about a turn that never was, or a question that nobody asked, harms nobody", async () => {
    const { runner } = openChild();
    const lines = [
      { type: "frame", key: 99, frame: { type: "message.delta", payload: { text: "whose?" } } },
      { type: "end", key: 99, end: { status: "completed" } },
      { type: "ask", key: 99, ask: 99, question: { method: "clarify", params: {} } },
      { type: "steered", steer: 99, taken: true },
      { type: "ready" },
      { type: "broken", problem: "no" },
    ];
    const raw = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    const turn = plays([{ raw }, { say: "fine" }]);
    expect(await runner.run(turn)).toEqual({ status: "completed", usage: null });
    expect([turn.text, turn.questions]).toEqual(["fine", []]);
  });

  it("ends a turn once: a second end of it counts nothing", async () => {
    const { runner } = openChild();
    const end = `${JSON.stringify({ type: "end", key: 1, end: { status: "completed", text: "first" } })}\n`;
    const turn = plays([{ raw: end + end }, { say: "late" }]);
    expect(await runner.run(turn)).toEqual({ status: "completed", text: "first" });
    expect(await runner.run(plays([{ say: "next" }]))).toMatchObject({ status: "completed" });
  });

  it("may hold a text of any length that its turn ends with: the host cuts it as any other", async () => {
    const { runner } = openChild();
    const text = "\u0001".repeat(limits.maxAnswerBytes);
    const end = await runner.run(plays([{ endLong: 2 * limits.maxAnswerBytes }]));
    expect(end).toMatchObject({ status: "completed" });
    expect("text" in end ? end.text?.slice(0, limits.maxAnswerBytes) : "").toBe(text);
  });

  it("of notices is handed on 64 times", async () => {
    const { runner, notices } = openChild();
    const notice = `${JSON.stringify({ type: "notice", code: "busy", message: "m", subject: "s" })}\n`;
    await runner.run(plays([{ raw: notice.repeat(70) }, { say: "on" }]));
    expect(notices).toEqual(Array(64).fill({ code: "busy", message: "m", subject: "s" }));
  });
});

describe("a child that asks and does not read what it is answered", () => {
  it("is killed at the bound", async () => {
    const { runner } = openChild({ limits: { maxBacklogBytes: 65_536 } });
    const line = (ask: number): string => `${JSON.stringify({ type: "ask", key: 1, ask, question: null })}\n`;
    const raw = Array.from({ length: 20_000 }, (_, at) => line(at + 1)).join("");
    const none = { outcome: "cancelled" as const, reason: "no_handler", by: null };
    const turn = Object.assign(plays([{ raw }, { loop: true }]), { ask: () => Promise.resolve(none) });
    expect(await runner.run(turn)).toMatchObject({
      reason_code: "runner_lost",
      error: `${toldRunnerPath} was killed because it asked on and left 65536 bytes of answers unread`,
    });
  });
});

describe("what no runner may emit", () => {
  it("is counted by the host as of any other runner", async () => {
    const tap = new Tap({ activity: { listening: false, push: () => undefined } });
    const session = tap.sessions.open("s-1", { roomPlumbing: false });
    const execution = tap.claim(session, { id: "t-1", source: { kind: "unknown" } });
    const runner = createProcessRunner(
      { kind: "module", path: toldRunnerPath, process: true },
      { clock: systemClock, report: () => undefined },
    );
    const turn = Object.assign(plays([{ odd: true }, { say: "end" }]), {
      emit: (frame: RunnerFrame) => tap.emit(execution, frame),
      ask: (question: Parameters<FakeTurn["ask"]>[0]) => tap.requests.ask(execution, question),
    });
    await runner.run(turn);
    await runner.run(Object.assign(turn, { unseen: plays([{ askTimes: 3 }]).unseen }));
    await runner.close();
    expect(tap.seam.refused("invalid_frame")).toBe(7);
    expect(tap.requests.refusedQuestions).toBe(3);
  });
});
