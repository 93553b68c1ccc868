import { describe, expect, it } from "vitest";
import type { Board, PluginCaller, RouteResponse } from "../../../plugins/index.ts";
import { admin, callerWith, CrewHost } from "../../support/crew-host.ts";
import { HeldRunner, roomOf, runnerOf, until } from "../../support/open-room.ts";

/** What a live stream gives, piece by piece. */
function piecesOf({ body }: RouteResponse): AsyncIterator<string> {
  return (body as AsyncIterable<string>)[Symbol.asyncIterator]();
}

const boardIn = (piece: IteratorResult<string>): Board =>
  JSON.parse(String(piece.value).replace(/^event: board\ndata: /, "")) as Board;

/** A room whose member asks for an approval and waits. */
async function asking(grants?: Parameters<CrewHost["load"]>[0]) {
  const held = new HeldRunner();
  const host = await CrewHost.open({
    rooms: [roomOf(held), roomOf(new HeldRunner(), ["b"], "r2")],
    ...(grants && { grants }),
  });
  await host.post("clean up");
  const { turn } = await held.turn(0);
  turn.emit({ type: "message.delta", payload: { text: "I will" } });
  turn.emit({ type: "reasoning.delta", payload: { text: "hm" } });
  turn.emit({ type: "tool.start", payload: { tool_id: "c1", name: "run", args: { command: "rm" } } });
  const answer = turn.ask({ method: "approval", params: { tool_id: "c1", command: "rm -rf build" } });
  await host.told();
  const [request] = host.tap.requests.open();
  return { host, held, answer, id: request?.id ?? "" };
}

describe("Crew", () => {
  it("shows what a member does while it does it, with no word of it read from text", async () => {
    const { host, held, answer, id } = await asking();
    const board = (await host.json("/rooms/r1")) as Board;
    expect(board.members).toMatchObject([
      {
        ...{ member_id: "m-a", handle: "a", state: "needs_input", tool: { tool_id: "c1", name: "run" } },
        turns: [
          {
            ...{ status: "running", cause: "message", input: "clean up", streamed: { text: "I will" } },
            ...{ reasoning: { text: "hm" }, tool_calls: { count: 1, certainty: "exact" } },
            tools: [{ tool_id: "c1", name: "run", state: "running", args: { command: "rm" }, outcome: null }],
            requests: [{ id, state: "open", scope: "approvals", command: "rm -rf build", choices: ["once", "deny"] }],
          },
        ],
      },
    ]);
    expect(await host.json("/")).toEqual({
      rooms: [
        {
          room_id: "r1",
          name: "r1",
          members: { needs_input: 1 },
          open_requests: 1,
          tool_calls: { count: 1, certainty: "exact" },
        },
        {
          room_id: "r2",
          name: "r2",
          members: { idle: 1 },
          open_requests: 0,
          tool_calls: { count: 0, certainty: "exact" },
        },
      ],
    });
    host.tap.requests.answer(id, { choice: "deny" }, "ada");
    await answer;
    (await held.turn(0)).end({ status: "failed", reason_code: "runner_error", error: "no" });
    await host.rooms.quiet();
    await host.told();
    expect(((await host.json("/rooms/r1")) as Board).members).toMatchObject([
      {
        ...{ state: "failed", tool: null, last: { status: "failed", reason_code: "runner_error" } },
        turns: [
          {
            ...{ status: "failed", usage: null, error: "no" },
            tools: [{ outcome: "denied", state: "ended" }],
            requests: [{ state: "resolved", outcome: "denied", by: { origin: "ada" } }],
          },
        ],
      },
    ]);
  });

  it("says who waits: a turn that no event has told of yet", async () => {
    const held = new HeldRunner();
    const host = await CrewHost.open({ rooms: [roomOf(held, ["a", "b"])] });
    await host.post("@all look");
    await held.turn(0);
    await host.told();
    const { members } = (await host.json("/rooms/r1")) as Board;
    expect(members.map(({ state, waits }) => [state, waits?.behind ?? null])).toEqual([
      ["running", null],
      ["queued", "thread"],
    ]);
  });

  it("loads without any grant and shows what it may: no route, no answer, no text of an approval", async () => {
    const { host, id } = await asking([]);
    expect(host.plugins.routes.match("GET", "/plugins/crew/")).toBeNull();
    const call = (args: readonly string[], name = "board") =>
      host.plugins.run("crew", name, { args, caller: admin, signal: new AbortController().signal });
    const board = (await call(["r1", "--json"])) as Board;
    const [turn] = board.members[0]?.turns ?? [];
    expect(turn?.requests).toMatchObject([{ id, state: "open", is_withheld: true }]);
    expect(turn?.requests[0]).not.toHaveProperty("command");
    expect(turn?.missing).toMatchObject({ dropped: 0, withheld: 1, kinds: { "reasoning.delta": 1 } });
    expect(turn?.tool_calls).toEqual({ count: 1, certainty: "exact" });
    await expect(call([id, "once"], "answer")).rejects.toMatchObject({ code: "not_granted" });
    expect(host.tap.requests.open()).toHaveLength(1);
  });

  it("rebuilds from state and log what it would have seen, but for what is unseen", async () => {
    let turns = 0;
    const held = new HeldRunner();
    const runner = runnerOf((turn) => {
      if (++turns === 2) return held.run(turn);
      turn.emit({ type: "tool.start", payload: { tool_id: "c", name: "read" } });
      turn.emit({ type: "tool.complete", payload: { tool_id: "c", outcome: "ok" } });
      return { status: "completed", text: "first" };
    });
    const host = await CrewHost.open({ rooms: [roomOf(runner)], late: true });
    await host.post("one");
    await host.rooms.quiet();
    await host.post("two");
    const { turn } = await held.turn(0);
    turn.emit({ type: "message.delta", payload: { text: "half " } });
    turn.emit({ type: "tool.start", payload: { tool_id: "d", name: "run" } });
    await host.told();
    await host.load();
    turn.emit({ type: "message.delta", payload: { text: "done" } });
    turn.emit({ type: "tool.complete", payload: { tool_id: "d", outcome: "unknown" } });
    await host.told();
    const [member] = ((await host.json("/rooms/r1")) as Board).members;
    expect(member).toMatchObject({ state: "running", last: { status: "completed" } });
    expect(member?.turns).toMatchObject([
      {
        status: "completed",
        answer: { text: "first" },
        cause: "message",
        tool_calls: { count: 0, certainty: "at_least" },
      },
      {
        ...{ status: "running", input: "two", streamed: { text: "half done", lacks_start: false } },
        tools: [{ tool_id: "d", state: "ended", outcome: "unknown" }],
        tool_calls: { count: 1, certainty: "at_least" },
      },
    ]);
  });

  it("shows a room that is made later", async () => {
    const host = await CrewHost.open({ rooms: [roomOf(new HeldRunner())] });
    await host.rooms.create({ room_id: "late", members: [{ handle: "z", runner: new HeldRunner() }] });
    await host.post("go", "late");
    await host.told();
    expect(await host.json("/rooms/late")).toMatchObject({ members: [{ handle: "z", state: "running" }] });
  });
});

describe("Crew's routes", () => {
  it("know no room but the caller's", async () => {
    const { host } = await asking();
    const caller: PluginCaller = { ...admin, rooms: ["r2"] };
    expect(await host.json("/", caller)).toMatchObject({ rooms: [{ room_id: "r2" }] });
    for (const path of ["/rooms/r1", "/rooms/r1/live", "/rooms/none"]) {
      expect(await host.call("GET", path, { caller })).toMatchObject({ status: 404 });
    }
    expect(await host.call("POST", "/rooms/r1/requests/x", { caller, body: '{"choice":"once"}' })).toMatchObject({
      status: 404,
    });
    expect(await host.call("GET", "/", { caller: null })).toMatchObject({ status: 401 });
  });

  it("keep what is asked from those who may not answer, and reasoning from those who were not granted it", async () => {
    const { host, id } = await asking();
    const seen = (await host.json("/rooms/r1", callerWith("read", "write"))) as Board;
    const [turn] = seen.members[0]?.turns ?? [];
    expect(turn?.reasoning).toBeNull();
    expect(turn?.requests).toEqual([expect.objectContaining({ id, is_withheld: true, state: "open" })]);
    expect(JSON.stringify(turn?.requests)).not.toContain("rm -rf");
    expect(JSON.stringify(await host.json("/rooms/r1", callerWith("read", "approvals")))).toContain("rm -rf");
  });

  it.each([
    ["what is no JSON", "{", 400, "invalid_params"],
    ["another key", '{"choice":"once","all":true}', 400, "invalid_params"],
    ["a word that is not offered", '{"choice":"always"}', 400, "invalid_choice"],
    ["a result in place of a choice", '{"result":{"choice":"once"}}', 400, "invalid_choice"],
  ])("refuse %s as an answer, and nothing is answered", async (_, body, status, code) => {
    const { host, id } = await asking();
    const response = await host.call("POST", `/rooms/r1/requests/${id}`, { body });
    expect(response).toMatchObject({ status, json: { error: code } });
    expect(host.tap.requests.open()).toHaveLength(1);
  });

  it("answer once; who comes later learns the outcome", async () => {
    const { host, id, answer } = await asking();
    const path = `/rooms/r1/requests/${id}`;
    const first = await host.call("POST", path, { body: '{"choice":"once"}' });
    expect(first).toMatchObject({
      status: 200,
      json: { status: "ok", outcome: { outcome: "answered", choice: "once" } },
    });
    expect(await answer).toMatchObject({ choice: "once", by: { origin: "plugin:crew" }, reason: "ada by crew" });
    expect(await host.call("POST", path, { body: '{"choice":"deny"}' })).toMatchObject({
      status: 409,
      json: { status: "already_resolved", outcome: { choice: "once" } },
    });
    expect(await host.call("POST", "/rooms/r2/requests/srq-000000000000", { body: '{"choice":"deny"}' })).toMatchObject(
      {
        status: 404,
        json: { error: "unknown_request" },
      },
    );
  });

  it("stream the whole board, then the latest one: a slow reader leaves no backlog", async () => {
    const { host, held } = await asking();
    const gone = new AbortController();
    const pieces = piecesOf(await host.call("GET", "/rooms/r1/live", { signal: gone.signal }));
    expect(boardIn(await pieces.next()).members[0]?.state).toBe("needs_input");
    const { turn } = await held.turn(0);
    for (let word = 0; word < 50; word++) turn.emit({ type: "message.delta", payload: { text: `${word} ` } });
    let second: IteratorResult<string> | null = null;
    void pieces.next().then((piece) => (second = piece));
    await host.told();
    await until(() => second !== null);
    const { streamed } = boardIn(second as unknown as IteratorResult<string>).members[0]?.turns[0] ?? {};
    expect(streamed?.text).toMatch(/^I will0 1 .* 49 $/);
    let end: IteratorResult<string> | null = null;
    void pieces.next().then((piece) => (end = piece));
    gone.abort();
    await until(() => end !== null);
    expect(end).toEqual({ done: true, value: undefined });
  });

  it("say now and then that they live, and end with the plugin", async () => {
    const { host } = await asking();
    const pieces = piecesOf(await host.call("GET", "/rooms/r1/live"));
    await pieces.next();
    let next: IteratorResult<string> | null = null;
    void pieces.next().then((piece) => (next = piece));
    for (let passed = 0; passed < 40 && next === null; passed++) {
      host.clock.advance(500);
      await host.told();
    }
    expect(next).toEqual({ done: false, value: ": heartbeat\n\n" });
    let end: IteratorResult<string> | null = null;
    void pieces.next().then((piece) => (end = piece));
    await host.plugins.unload("crew");
    await until(() => end !== null);
    expect(end).toMatchObject({ done: true });
  });

  it("let 64 read live boards, and tell one more to come again", async () => {
    const { host } = await asking();
    const gone = new AbortController();
    const open = async () => host.call("GET", "/rooms/r1/live", { signal: gone.signal });
    const readers = await Promise.all(Array.from({ length: 64 }, async () => piecesOf(await open())));
    await Promise.all(readers.map((each) => each.next()));
    expect(await open()).toMatchObject({ status: 503, json: { error: "too_many_readers" } });
    await readers[0]?.return?.();
    expect((await open()).status).toBeUndefined();
    gone.abort();
  });
});

describe("Crew's commands", () => {
  const signal = new AbortController().signal;

  it("show a board as text, and answer", async () => {
    const { host, id, answer } = await asking();
    const text = await host.plugins.run("crew", "board", { args: ["r1"], caller: admin, signal });
    expect(text).toBe(
      [
        "#r1: 1 member, 1 open request",
        "? @a needs input in run",
        "  ▶ running [message, 1 tool call]: clean up",
        '    ⚙ run {"command":"rm"}',
        `    ? approval waits [once|deny] → roomtap answer ${id} once`,
        "      rm -rf build",
        "    │ I will",
      ].join("\n"),
    );
    const run = (args: readonly string[], caller = admin) =>
      host.plugins.run("crew", "answer", { args, caller, signal });
    await expect(run([id, "maybe"])).rejects.toMatchObject({ code: "invalid_choice" });
    expect(await run([id, "once"], { ...admin, rooms: ["r2"] })).toEqual({ status: "unknown_request" });
    expect(await run([id, "deny"])).toMatchObject({ status: "ok" });
    expect(await answer).toMatchObject({ outcome: "denied" });
  });

  it("answer what is asked before the board has heard of it", async () => {
    const { host, held } = await asking();
    const { turn } = await held.turn(0);
    const answer = turn.ask({ method: "approval", params: { command: "make" } });
    const id = host.tap.requests.open()[1]?.id ?? "";
    const call = { args: [id, "once"], caller: admin, signal };
    expect(await host.plugins.run("crew", "answer", call)).toMatchObject({ status: "ok" });
    expect(await answer).toMatchObject({ choice: "once" });
  });

  it.each([
    [["none"], "unknown_room"],
    [[], "invalid_params"],
    [["r1", "--xml"], "invalid_params"],
  ])("refuse board %j", async (args, code) => {
    const { host } = await asking();
    await expect(host.plugins.run("crew", "board", { args, caller: admin, signal })).rejects.toMatchObject({ code });
  });
});
