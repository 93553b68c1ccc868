import { EventEmitter } from "node:events";
import { onTestFinished, describe, expect, it } from "vitest";
import { createClient } from "../../../plugins/client/index.ts";
import {
  boardLines,
  crewCommand,
  plainStyle,
  WebSocket,
  type Board,
  type CrewCommandOptions,
  type Terminal,
} from "../../../plugins/index.ts";
import { createRoomtap } from "../../../index.ts";
import { collectedOutput } from "../../support/collected-output.ts";
import { turnsOfLoop } from "../../support/turns-of-loop.ts";
import { HeldRunner } from "../../support/open-room.ts";

/** A terminal whose keys the test presses, and what was drawn on it. */
function fakeTerminal() {
  const [stdout, stdin] = [new EventEmitter(), new EventEmitter()];
  const drawn: string[] = [];
  const raw: boolean[] = [];
  const restores = new Set<() => void>();
  let wake = (): void => undefined;
  const terminal: Terminal = {
    output: Object.assign(stdout, {
      columns: 80,
      rows: 24,
      write: (text: string) => {
        drawn.push(text);
        wake();
        return true;
      },
    }),
    input: Object.assign(stdin, {
      setRawMode: (isRaw: boolean) => raw.push(isRaw),
      setEncoding: () => undefined,
      resume: () => undefined,
      pause: () => undefined,
    }),
    onExit: (restore) => {
      restores.add(restore);
      return () => void restores.delete(restore);
    },
  };
  const shows = async (text: string): Promise<void> => {
    while (!(drawn.at(-1) ?? "").includes(text)) await new Promise<void>((resolve) => (wake = resolve));
  };
  return { terminal, drawn, raw, restores, shows, press: (key: string) => stdin.emit("data", key) };
}

/** A room behind a real socket, whose member asks and waits. */
async function served() {
  const held = new HeldRunner();
  const rooms = [{ room_id: "desk", members: [{ handle: "a", runner: held }] }];
  const tap = await createRoomtap({ db: ":memory:", rooms });
  onTestFinished(() => tap.close({ graceMs: 0 }));
  const gateway = tap.openGateway();
  const { port } = await gateway.listen({ port: 0 });
  let told: (id: string) => void = () => undefined;
  const asked = new Promise<string>((resolve) => (told = resolve));
  tap.observe({
    ...{ id: "test", kinds: ["request.opened"] },
    handler: ({ payload }) => "id" in payload && told(payload.id),
  });
  await tap.room("desk").post({ text: "clean up" });
  const { turn } = await held.turn(0);
  turn.emit({ type: "message.delta", payload: { text: "I will\u001b[31m" } });
  turn.emit({ type: "tool.start", payload: { tool_id: "c1", name: "run", args: { command: "rm" } } });
  const answer = turn.ask({ method: "approval", params: { tool_id: "c1", command: "rm -rf build" } });
  const id = await asked;
  const client = createClient({ url: `ws://127.0.0.1:${port}/api/ws`, token: gateway.token ?? "", WebSocket });
  onTestFinished(() => client.close());
  await client.connect();
  const stop = new AbortController();
  const output = collectedOutput();
  const run = (options: Partial<CrewCommandOptions>, terminal: Terminal | null = null): Promise<number> => {
    const wanted = { room: "desk", json: false, once: false, ...options };
    return crewCommand(wanted, output, { client, terminal, style: plainStyle, stop: stop.signal });
  };
  return { tap, held, answer, id, stop, output, run };
}

/** Its arguments passed before anybody looked. */
const texts = ["    ⚙ run", "      rm -rf build", "    │ I will�[31m"];

describe("roomtap crew", () => {
  it("prints one board without a terminal", async () => {
    const { run, output } = await served();
    expect(await run({})).toBe(0);
    expect(output.lines).toEqual(expect.arrayContaining(texts));
    expect(output.lines[0]).toBe("#desk: 1 member, 1 open request");
  });

  it("prints the same board as JSON that the reducer makes", async () => {
    const { run, output, id } = await served();
    expect(await run({ once: true, json: true })).toBe(0);
    const board = output.json() as Board;
    expect(boardLines(board)).toEqual(expect.arrayContaining(texts));
    expect(board.members[0]).toMatchObject({ state: "needs_input", turns: [{ requests: [{ id, state: "open" }] }] });
  });

  it("prints a board per change, the latest one, and ends with the status of its stop", async () => {
    const { run, output, held, tap, id, stop } = await served();
    const ended = run({ json: true });
    while (output.lines.length === 0) await turnsOfLoop(1);
    tap.requests.answer(id, "deny");
    (await held.turn(0)).say("no");
    await tap.finish();
    const last = (): Board => JSON.parse(output.lines.at(-1) ?? "null") as Board;
    while (last().members[0]?.state !== "idle") await turnsOfLoop(1);
    stop.abort(143);
    expect(await ended).toBe(143);
    expect(last().members[0]?.turns[0]).toMatchObject({
      ...{ status: "completed", tool_calls: { count: 1, certainty: "exact" } },
      tools: [{ tool_id: "c1", outcome: "denied" }],
    });
    expect(output.lines.length).toBeLessThan(8);
  });

  it("draws on a terminal, answers by a key, and puts the terminal back", async () => {
    const { run, answer } = await served();
    const { terminal, shows, press, drawn, raw, restores } = fakeTerminal();
    const ended = run({}, terminal);
    await shows("rm -rf build");
    press("a");
    await shows("answered once");
    expect(await answer).toMatchObject({ outcome: "answered", choice: "once" });
    press("q");
    expect(await ended).toBe(0);
    expect(drawn.at(-1)).toBe("\u001b[?25h\u001b[?1049l");
    expect([raw, restores.size]).toEqual([[true, false], 0]);
  });

  it("puts the terminal back when it is stopped, and when the room is refused", async () => {
    const { run, stop } = await served();
    const { terminal, shows, drawn } = fakeTerminal();
    const ended = run({}, terminal);
    await shows("rm -rf build");
    stop.abort(130);
    expect(await ended).toBe(130);
    expect(drawn.at(-1)).toBe("\u001b[?25h\u001b[?1049l");
    const other = fakeTerminal();
    await expect(run({ room: "none" }, other.terminal)).rejects.toMatchObject({ reason: "unknown_room" });
    expect(other.drawn).toEqual([]);
  });
});
