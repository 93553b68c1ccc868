import { tmpdir } from "node:os";
import { realpathSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../core/index.ts";
import { createProcessRunner } from "../../../plugins/runners/process-runner.ts";
import { fakeTurn } from "../../support/fake-turn.ts";
import { isText, plays } from "../../support/told-agent.ts";
import { isThere, openChild, said } from "../../support/told-runner.ts";

const clarify = { method: "clarify", params: { question: "Deploy?" } };

describe("a turn in a child", () => {
  it("has all that its runner needs, as it is", async () => {
    const { runner } = openChild();
    const turn = plays([{ turn: true }], { earlier: [{ author: { kind: "agent", id: "m-two" }, text: "before" }] });
    expect(await runner.run(turn)).toEqual({ status: "completed", usage: null });
    const { turn_id, coordinates, member, session, unseen, earlier } = turn;
    const given = { turn_id, coordinates, member, session, unseen, earlier };
    expect(JSON.parse(turn.text)).toEqual({ ...given, signal: {}, frozen: true });
  });

  it("has no coordinates outside rooms", async () => {
    const turn = Object.assign(plays([{ turn: true }]), { coordinates: null });
    await openChild().runner.run(turn);
    expect(JSON.parse(turn.text)).toMatchObject({ coordinates: null });
  });

  it("is told by emit what can be known there, and the host gets each frame", async () => {
    const { runner } = openChild();
    const turn = plays([{ odd: true }]);
    await runner.run(turn);
    expect(turn.text.trim().split(" ")).toEqual([...Array(7).fill("invalid_frame"), "written", "written"]);
    const others = turn.frames.filter(({ type }) => type !== "message.delta");
    expect(others).toEqual([
      ...Array(7).fill({}),
      { type: "odd", payload: { unserialisable: true } },
      { type: "x", payload: undefined },
    ]);
  });

  it("is refused a frame whose line is over the bound, and goes on", async () => {
    const { runner } = openChild({ limits: { maxLineBytes: 4_096 } });
    const turn = plays([{ large: 3_900 }, { large: 4_096 }]);
    expect(await runner.run(turn)).toMatchObject({ status: "completed" });
    expect(turn.frames.map(({ payload }) => payload?.["text"])).toEqual([
      "x".repeat(3_900),
      "written",
      undefined,
      "invalid_frame",
    ]);
  });

  it("emits late frames to its own end, whatever runs then", async () => {
    const { runner } = openChild();
    const first = plays([{ keep: true }]);
    await runner.run(first);
    const second = plays([{ late: true }]);
    await runner.run(second);
    expect([first.text, second.text]).toEqual(["late", "late_frame"]);
  });

  it("C-032 gets the whole answer to what it asks", async () => {
    const { runner } = openChild();
    const turn = plays([{ ask: clarify, shows: true }]);
    const answered = { outcome: "answered" as const, by: { origin: "c-b" }, result: { answer: "yes" } };
    const asking = Object.assign(turn, { ask: () => Promise.resolve(answered) });
    await runner.run(asking);
    expect(JSON.parse(turn.text)).toEqual(answered);
  });

  it("has no question beyond 1,024 that wait", async () => {
    const { runner } = openChild();
    const turn = plays([{ askTimes: 1_030 }]);
    const none = { outcome: "cancelled" as const, reason: "no_handler", by: null };
    await runner.run(Object.assign(turn, { ask: () => Promise.resolve(none) }));
    expect(turn.text).toBe("no_handler 1024, too_many_requests 6");
  });

  it("hears why it is to stop", async () => {
    const { runner } = openChild();
    const turn = plays([{ pid: true }, { reason: true }]);
    const running = runner.run(turn);
    await said(turn);
    turn.stop();
    expect(await running).toEqual({ status: "cancelled" });
    expect(turn.text).toMatch(/stopped$/);
  });

  it.each([
    ["completed", { status: "completed", text: "done", usage: { tokens: 3, bad: "x" } }, { usage: { tokens: 3 } }],
    ["passed", { status: "passed" }, { status: "passed" }],
    [
      "failed",
      { status: "failed", reason_code: "provider_auth", error: "no key" },
      { reason_code: "provider_auth", error: "no key" },
    ],
    ["no end", { status: "done" }, { status: "failed", reason_code: "runner_error" }],
  ])("ends as its runner says: %s", async (_word, end, told) => {
    expect(await openChild().runner.run(plays([{ end }]))).toMatchObject(told);
  });

  it("runs beside others in one child, told apart", async () => {
    const { runner } = openChild();
    const [one, two] = [
      plays([{ pid: true }, { hang: true }], { member: "m1" }),
      plays([{ pid: true }], { member: "m2" }),
    ];
    const running = runner.run(one);
    await said(one);
    await runner.run(two);
    expect(two.text).toBe(one.text);
    one.stop();
    expect(await running).toEqual({ status: "cancelled" });
  });

  it("waits for no earlier turn of its session: it has another child", async () => {
    const { runner } = openChild();
    const slow = plays([{ pid: true }, { deaf: true }]);
    const running = runner.run(slow);
    await said(slow);
    const next = plays([{ pid: true }]);
    expect(await runner.run(next)).toMatchObject({ status: "completed" });
    expect(next.text).not.toBe(slow.text);
    await runner.close();
    expect(await running).toMatchObject({ status: "failed", reason_code: "runner_lost" });
    expect([slow.text, next.text].map(isThere)).toEqual([false, false]);
  });
});

describe("a correction of a turn in a child", () => {
  it("is handed to its runner", async () => {
    const { runner } = openChild();
    const turn = plays([{ say: "up" }, { hang: true }]);
    const running = runner.run(turn);
    await turn.seen(isText("up"));
    expect(await runner.steer?.(turn, { kind: "redirect", text: "rather this" })).toBe(true);
    expect(turn.text).toBe("upredirect: rather this");
    turn.stop();
    await running;
    expect(await runner.steer?.(turn, { kind: "steer", text: "late" })).toBe(false);
    expect(await runner.steer?.(fakeTurn(), { kind: "steer", text: "none" })).toBe(false);
  });

  it("fails as its runner does", async () => {
    const { runner } = openChild({ config: { options: { steer: "throws" } } });
    const turn = plays([{ say: "up" }, { hang: true }]);
    const running = runner.run(turn);
    await turn.seen(isText("up"));
    await expect(runner.steer?.(turn, { kind: "steer", text: "x" })).rejects.toThrow("no correction today");
    turn.stop();
    await running;
  });

  it("is not taken by a child that is lost, or has 32 to answer", async () => {
    const { runner } = openChild();
    const turn = plays([{ pid: true }, { loop: true }]);
    const running = runner.run(turn);
    const pid = Number(await said(turn));
    const taken = Array.from({ length: 33 }, async () => runner.steer?.(turn, { kind: "steer", text: "x" }));
    expect(await taken[32]).toBe(false);
    process.kill(pid, "SIGKILL");
    expect(await Promise.all(taken)).toEqual(Array(33).fill(false));
    expect(await running).toMatchObject({ reason_code: "runner_lost" });
  });

  it("is none for an agent of the Agent Client Protocol", () => {
    const runner = createProcessRunner(
      { kind: "acp", command: "node", process: true },
      { clock: systemClock, report: () => undefined },
    );
    expect("steer" in runner).toBe(false);
  });
});

describe("what a child has", () => {
  it("is the environment its config names, PATH and HOME, its folder and its options", async () => {
    const folder = realpathSync(tmpdir());
    const options = { model: "small", deep: { list: [1, null, "x"] } };
    const { runner } = openChild({ config: { env: { K: "V" }, cwd: folder, options } });
    const turns = [plays([{ env: true }]), plays([{ cwd: true }]), plays([{ options: true }])];
    for (const turn of turns) await runner.run(turn);
    const { PATH, HOME } = process.env;
    expect(turns.map(({ text }) => text).slice(1)).toEqual([folder, JSON.stringify(options)]);
    expect(JSON.parse(turns[0]?.text ?? "")).toEqual({ PATH, HOME, K: "V" });
  });

  it("is its own output, which is never taken for frames and holds up nothing", async () => {
    const { runner } = openChild();
    const line = '{"type":"frame","key":1,"frame":{"type":"message.delta","payload":{"text":"no"}}}\n';
    const turn = plays([{ stdout: line }, { stdout: "x".repeat(1_000_000) }, { stderr: line }, { say: "fine" }]);
    expect(await runner.run(turn)).toMatchObject({ status: "completed" });
    expect(turn.text).toBe("fine");
  });

  it("is a kind and a rerun, as the config says", () => {
    expect(openChild().runner).toMatchObject({ kind: "module", rerun: undefined });
    expect(openChild({ config: { rerun: "safe" } }).runner).toMatchObject({ kind: "module", rerun: "safe" });
  });
});
