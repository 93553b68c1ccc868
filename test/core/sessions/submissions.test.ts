import { describe, expect, it } from "vitest";
import { limits, type LiveSession, type Prompt } from "../../../core/index.ts";
import { HeldRunner } from "../../support/held-runner.ts";
import { lateAgent, openSessions, promptOf, type OpenSessionsOptions } from "../../support/open-sessions.ts";

/** A session whose first turn, of `c-a`, runs. */
async function busy(options: OpenSessionsOptions = {}) {
  const sessions = openSessions(options);
  const live = await sessions.create();
  await sessions.submit(live, "first");
  return { sessions, live };
}

const textsOf = (live: LiveSession) => live.record.queue.map(({ origin, text }) => [origin, text]);

describe("a prompt that meets a running turn", () => {
  it("W12 redirects it, whose frames go on to name its claimant", async () => {
    const { sessions, live } = await busy();
    const result = await sessions.submit(live, { text: "rather this", submission_ref: "r-2" }, "c-b");
    await sessions.say(0, "done");
    expect(result).toEqual({
      status: "redirected",
      turn_id: sessions.events("message.start")[0]?.turn?.id,
      submission: { input_id: expect.any(String), ref: "r-2", disposition: "redirected" },
    });
    expect(sessions.held.corrections).toEqual([{ kind: "redirect", text: "rather this" }]);
    const marked = sessions.events().filter(({ turn }) => turn !== undefined);
    expect(marked.map(({ origin }) => origin)).toEqual(marked.map(() => "c-a"));
    expect(sessions.events("message.start")).toHaveLength(1);
    expect(sessions.store.transcript(live.record.session_id)).toEqual([
      "user: first",
      "user: rather this",
      "assistant: done",
    ]);
  });

  it("W24 is told as what steered it, at its place in the text", async () => {
    const { sessions, live } = await busy({ busyMode: "steer" });
    const { turn } = await sessions.turn(0);
    turn.emit({ type: "message.delta", payload: { text: "so 😀" } });
    const result = await sessions.submit(live, "also that", "c-b");
    await sessions.say(0, " on");
    expect(result).toMatchObject({ status: "steered", submission: { disposition: "steered" } });
    expect(sessions.payloads("message.input")).toEqual([
      {
        kind: "steer",
        input: { role: "user", text: "also that" },
        inputs: [{ id: result.submission.input_id }],
        inputs_complete: true,
        offset: 4,
      },
    ]);
  });

  it("W13 that is to wait stops nothing and has its own turn", async () => {
    const { sessions, live } = await busy();
    const result = await sessions.submit(live, { text: "later", queued: true }, "c-b");
    expect(result).toEqual({ status: "queued", submission: { input_id: expect.any(String), disposition: "queued" } });
    expect((await sessions.turn(0)).turn.signal.aborted).toBe(false);
    await sessions.say(0, "one");
    await sessions.say(1, "two");
    expect(sessions.events("message.start", "message.complete").map(({ origin }) => origin)).toEqual([
      "c-a",
      "c-a",
      "c-b",
      "c-b",
    ]);
  });

  it.each<readonly [string, OpenSessionsOptions, Prompt, boolean]>([
    ["mode queue", { busyMode: "queue" }, { text: "x" }, false],
    ["attachments", {}, { text: "x", attachments: ["a.png"] }, false],
    ["parts", {}, { text: [{ type: "text", text: "x" }] }, true],
    ["a correction that cannot be", { runner: new HeldRunner() }, { text: "x" }, true],
    ["a steer that cannot be", { busyMode: "steer", runner: new HeldRunner() }, { text: "x" }, false],
  ])("waits for its own turn: %s", async (_, options, prompt, stops) => {
    const { sessions, live } = await busy(options);
    expect(await sessions.submit(live, prompt, "c-b")).toMatchObject({ status: "queued" });
    const { runner = sessions.held } = options;
    const { turn } = await (runner as HeldRunner).turn(0);
    expect(turn.signal.aborted).toBe(stops);
    expect(textsOf(live)).toEqual([["c-b", "x"]]);
  });

  it("waits when the runner does not take it, or fails at it", async () => {
    const { sessions, live } = await busy({ busyMode: "steer" });
    sessions.held.says = () => false;
    expect((await sessions.submit(live, "one", "c-b")).status).toBe("queued");
    sessions.held.says = () => Promise.reject(new Error("no"));
    expect((await sessions.submit(live, "two", "c-c")).status).toBe("queued");
    expect(sessions.bus.notices.map(({ code }) => code)).toEqual(["runner_failed"]);
  });

  it("starts a turn when the one that ran ended while it was decided", async () => {
    const { sessions, live } = await busy();
    sessions.store.holds = true;
    (await sessions.turn(0)).say("done");
    await sessions.settle();
    const submitted = live.submit({ text: "next" }, "c-b");
    await sessions.settle();
    sessions.store.release();
    expect(await submitted).toMatchObject({ result: { status: "streaming" } });
  });

  it("starts a turn when the one that ran ended while the runner thought about it", async () => {
    const { sessions, live } = await busy();
    sessions.held.says = () => new Promise(() => undefined);
    const submitted = live.submit({ text: "next" }, "c-b");
    await sessions.settle();
    await sessions.say(0, "done");
    expect(await submitted).toMatchObject({ result: { status: "streaming" } });
  });

  it("is told before the end of a turn that ends at once", async () => {
    const { sessions, live } = await busy();
    sessions.store.holds = true;
    const submitted = live.submit({ text: "rather this" }, "c-b");
    await sessions.settle();
    (await sessions.turn(0)).say("done");
    await sessions.settle();
    sessions.store.release();
    expect(await submitted).toMatchObject({ result: { status: "redirected" } });
    await sessions.settle();
    expect(sessions.events("message.input", "message.complete").map(({ type }) => type)).toEqual([
      "message.input",
      "message.complete",
    ]);
    expect(sessions.store.transcript(live.record.session_id)).toEqual([
      "user: first",
      "user: rather this",
      "assistant: done",
    ]);
  });
});

describe("prompts that wait", () => {
  it("W15 are merged for each client, in order", async () => {
    const { sessions, live } = await busy();
    const waits = (text: string, origin: string) => sessions.submit(live, { text, queued: true }, origin);
    const statuses = [
      await waits("a1", "c-a"),
      await waits("b1", "c-b"),
      await waits("a2", "c-a"),
      await waits("b2", "c-b"),
    ].map(({ status, submission }) => [status, submission.disposition]);
    expect(statuses).toEqual([
      ["queued", "queued"],
      ["queued", "queued"],
      ["queued", "merged"],
      ["queued", "merged"],
    ]);
    for (const index of [0, 1, 2]) await sessions.say(index, "ok");
    expect(sessions.events("message.start").map(({ origin, payload }) => [origin, payload?.["input"]])).toEqual([
      ["c-a", { role: "user", text: "first" }],
      ["c-a", { role: "user", text: "a1\n\na2" }],
      ["c-b", { role: "user", text: "b1\n\nb2" }],
    ]);
    expect(sessions.payloads("message.start")[1]?.["inputs"]).toHaveLength(2);
  });

  it("are told by session.info behind the answer", async () => {
    const { sessions, live } = await busy();
    const answer = await live.submit({ text: "x", queued: true }, "c-b");
    const before = sessions.events("session.info").length;
    if ("begin" in answer) answer.begin();
    const [info] = sessions.events("session.info").slice(before);
    expect([info?.origin, info?.payload?.["queued"]]).toEqual(["c-a", 1]);
  });

  it("I8 are 32; the next one is refused and leaves no trace", async () => {
    const { sessions, live } = await busy();
    const add = (index: number) => live.submit({ text: "x", attachments: ["a"], queued: true }, `c-${index}`);
    for (let index = 0; index < limits.maxQueuedPrompts; index++) {
      expect(await add(index)).toMatchObject({ result: { status: "queued" } });
    }
    const { record, puts } = { record: live.record, puts: sessions.store.puts };
    expect(await live.submit({ text: "y", attachments: ["a"], message_id: "m" }, "c-z")).toMatchObject({
      refused: "queue_full",
    });
    expect([live.record, sessions.store.puts]).toEqual([record, puts]);
  });
});

describe("an idempotency key", () => {
  const twice = async (first: Prompt, second: Prompt) => {
    const sessions = openSessions();
    const live = await sessions.create();
    const result = await sessions.submit(live, first);
    return { sessions, live, result, again: await live.submit(second, "c-b") };
  };

  it("repeats the first result for the same content", async () => {
    const prompt = { text: [{ type: "text", text: "x" }], message_id: "m-1", submission_ref: "r-1" };
    const { sessions, result, again } = await twice(prompt, {
      ...prompt,
      text: [{ text: "x", type: "text" }],
      submission_ref: "r-2",
    });
    expect(again).toMatchObject({ result: { ...result, status: "duplicate" } });
    await sessions.say(0, "done");
    expect(sessions.events("message.start")).toHaveLength(1);
  });

  it.each<readonly [string, Prompt]>([
    ["text", { text: "y", message_id: "m-1" }],
    ["attachments", { text: "x", attachments: ["a"], message_id: "m-1" }],
    ["display kind", { text: "x", display_kind: "hidden", message_id: "m-1" }],
  ])("is refused with another %s", async (_, second) => {
    const { again } = await twice({ text: "x", message_id: "m-1" }, second);
    expect(again).toMatchObject({ refused: "idempotency_conflict" });
  });

  it("is decided once when two calls come at once", async () => {
    const { sessions, live } = await busy();
    const prompt = { text: "x", message_id: "m-1" };
    const answers = await Promise.all([live.submit(prompt, "c-b"), live.submit(prompt, "c-b")]);
    expect(answers).toMatchObject([{ result: { status: "redirected" } }, { result: { status: "duplicate" } }]);
    expect(sessions.held.corrections).toHaveLength(1);
  });

  it("outlives the process", async () => {
    const first = openSessions();
    const live = await first.create();
    const result = await first.submit(live, { text: "x", message_id: "m-1" });
    await first.say(0, "done");
    const again = openSessions({ store: first.store });
    const resumed = await again.resume(live.record.session_id);
    expect(await again.submit(resumed, { text: "x", message_id: "m-1" })).toEqual({ ...result, status: "duplicate" });
  });

  it("I8 is one of the last 256", async () => {
    const { sessions, live } = await busy();
    sessions.held.says = () => true;
    for (let index = 0; index < limits.maxMessageKeys; index++) {
      await sessions.submit(live, { text: `x${index}`, message_id: `m-${index}` });
    }
    const again = (index: number) => live.submit({ text: `x${index}`, message_id: `m-${index}` }, "c-a");
    expect(await again(0)).toMatchObject({ result: { status: "duplicate" } });
    await sessions.submit(live, { text: "one more", message_id: "m-more" });
    expect(await again(1)).toMatchObject({ result: { status: "duplicate" } });
    expect(await again(0)).toMatchObject({ result: { status: "redirected" } });
  });
});

describe("a store that refuses", () => {
  it("lets no prompt in, and nothing is begun", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    sessions.store.refuses = "log_full";
    await expect(live.submit(promptOf("hello"), "c-a")).rejects.toMatchObject({ code: "log_full" });
    sessions.store.refuses = null;
    await sessions.settle();
    expect([sessions.events(), live.isBusy, live.record.message_count]).toEqual([[], false, 0]);
    expect((await sessions.submit(live, "again")).status).toBe("streaming");
  });

  it("holds back the end of a turn until it takes it", async () => {
    const { sessions, live } = await busy();
    sessions.store.refuses = "log_busy";
    await sessions.say(0, "done");
    await sessions.pass(250);
    await sessions.pass(400);
    expect([live.isBusy, sessions.events("message.complete")]).toEqual([true, []]);
    sessions.store.refuses = null;
    await sessions.pass(100);
    expect(sessions.payloads("message.complete")).toEqual([{ text: "done", status: "complete", usage: null }]);
    expect(sessions.bus.notices.map(({ code }) => code)).toEqual(["log_busy"]);
  });

  it("lets a prompt wait for a turn whose end it holds back", async () => {
    const { sessions, live } = await busy();
    sessions.store.refuses = "log_busy";
    await sessions.say(0, "done");
    sessions.store.refuses = null;
    expect((await sessions.submit(live, "next", "c-b")).status).toBe("queued");
    await sessions.pass(250);
    await sessions.say(1, "two");
    expect(sessions.events("message.complete").map(({ origin }) => origin)).toEqual(["c-a", "c-b"]);
  });

  it("does not keep a turn from ending when it is broken for good", async () => {
    const { sessions, live } = await busy();
    sessions.store.refuses = "log_corrupt";
    await sessions.say(0, "done");
    expect(sessions.events("message.complete")).toHaveLength(1);
    expect([live.isBusy, live.record.last_turn?.status]).toEqual([false, "completed"]);
  });
});

describe("a correction", () => {
  const correct = async (live: LiveSession, kind: "steer" | "redirect", text = "more") => {
    const answer = await live.correct({ kind, text }, "c-b");
    if ("begin" in answer) answer.begin();
    return "refused" in answer ? answer.refused : answer.result.status;
  };

  it.each([
    ["steer", "queued"],
    ["redirect", "redirected"],
  ] as const)("is taken by the turn that runs: %s", async (kind, status) => {
    const { sessions, live } = await busy();
    expect(await correct(live, kind)).toBe(status);
    expect(sessions.held.corrections).toEqual([{ kind, text: "more" }]);
    expect(sessions.payloads("message.input")).toMatchObject([{ kind, input: { text: "more" } }]);
  });

  it("is rejected while no turn runs, and by a runner that does not take it", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    expect(await correct(live, "steer")).toBe("rejected");
    await sessions.submit(live, "first");
    sessions.held.says = () => false;
    expect(await correct(live, "redirect")).toBe("rejected");
  });

  it("is refused without a text, without a runner that can, and when that fails", async () => {
    const { sessions, live } = await busy();
    expect(await correct(live, "steer", " \n")).toBe("empty_text");
    sessions.held.says = () => Promise.reject(new Error("no"));
    expect(await correct(live, "steer")).toBe("runner_failed");
    const other = await busy({ runner: new HeldRunner() });
    expect(await correct(other.live, "steer")).toBe("not_supported");
  });

  it("waits as a prompt while the agent is being built", async () => {
    const { agent, build } = lateAgent();
    const sessions = openSessions({ agents: [agent] });
    const live = await sessions.create();
    await sessions.submit(live, "first");
    expect(live.status).toBe("starting");
    expect([await correct(live, "steer"), await correct(live, "redirect")]).toEqual(["rejected", "queued"]);
    build(sessions.held);
    await sessions.say(0, "one");
    expect(textsOf(live)).toEqual([]);
    expect((await sessions.turn(1)).turn.unseen[0]?.text).toBe("more");
  });
});
