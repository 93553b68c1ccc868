import { describe, expect, it } from "vitest";
import type { Runner } from "../../../core/index.ts";
import { HeldRunner, member, roomOf, TestHost, until } from "../../support/open-room.ts";
import { ask, openTold, told, tool, watchEnd } from "../../support/told-agent.ts";

/** A room in which each member answers in a thread of its own, all by one agent process. */
async function sharedAgent(runner: Runner): Promise<{ readonly test: TestHost; readonly other: HeldRunner }> {
  const other = new HeldRunner();
  const members = ["a", "b", "c"].map((handle) => member(handle, runner));
  const rooms = [{ room_id: "r1", members }, roomOf(other, ["a"], "r2")];
  const test = await TestHost.open({ rooms, stopGraceMs: 600_000, leaseTtlMs: 600_000 });
  await test.host.room("r2").post({ text: "go" });
  await other.turn(0);
  return { test, other };
}

/** Waits for what another process does, with the host's time standing still. */
async function came(isSo: () => boolean): Promise<void> {
  await until(isSo, 500_000);
}

describe("an agent process that several members share", { timeout: 60_000 }, () => {
  it("R49 when it is killed ends the turn of each once, withdraws what is open, and leaves others alone", async () => {
    const { runner } = openTold();
    const { test, other } = await sharedAgent(runner);
    const post = (handle: string, ...steps: object[]) =>
      test.room.post({ text: `@${handle} ${told(...steps)}`, thread_id: `t-${handle}` });
    await post("a", ask({ toolCallId: "X", title: "Do", rawInput: { command: "rm" } }));
    await post("b", tool({ toolCallId: "Y", title: "Read" }), { pid: true }, { hang: true });
    await post("c", { say: "busy" }, { hang: true });
    await came(() => test.tap.requests.open().length === 1 && test.of("message.delta").length === 2);
    const [pid] = test.of("message.delta").filter(({ coordinates }) => coordinates.member_id === "m-b");
    process.kill(Number(pid?.payload.text), "SIGKILL");
    await came(() => test.room.runs.size === 0);
    await test.delivered();
    const ends = (await test.rows()).flatMap((row) => (row.kind === "turn.settled" ? [row] : []));
    const words = ends.map(({ member_id, payload }) => `${member_id} ${payload.status} ${payload.reason_code}`);
    expect(words.toSorted()).toEqual(["m-a failed runner_lost", "m-b failed runner_lost", "m-c failed runner_lost"]);
    expect(test.tap.requests.open()).toEqual([]);
    expect(test.of("request.resolved").map(({ payload }) => [payload.outcome, payload.reason])).toEqual([
      ["cancelled", "runner_lost"],
    ]);
    const tools = test.of("tool.completed").map(({ payload }) => `${payload.tool_id} ${payload.outcome}`);
    expect(tools.toSorted()).toEqual(["X interrupted", "Y interrupted"]);
    expect(test.host.runs).toHaveLength(1);
    other.turns[0]?.say("untouched");
    await came(() => test.host.runs.length === 0);
    expect(await test.told("r2")).toEqual(["started m-a message", "settled m-a completed"]);
  });

  it("R49 is started anew for the next turn", async () => {
    const { runner } = openTold();
    const { test, other } = await sharedAgent(runner);
    await test.room.post({ text: `@a ${told({ exit: 9 })}` });
    await came(() => test.room.folded.through_seq === 2);
    await test.room.post({ text: `@a ${told({ say: "back" })}` });
    await came(() => test.room.folded.through_seq === 4);
    expect(await test.told()).toEqual([
      "started m-a mention",
      "settled m-a runner_lost",
      "started m-a mention",
      "settled m-a completed",
    ]);
    other.turns[0]?.say("untouched");
    await came(() => test.host.runs.length === 0);
  });

  it("R39 that hears no stop is given up at the end of the grace, and killed with what it started", async () => {
    const { runner } = openTold({ limits: { cancelGraceMs: 50, endGraceMs: 50 } });
    const { test, other } = await sharedAgent(runner);
    const { port, ended } = await watchEnd();
    await test.room.post({ text: `@a ${told({ connect: port }, { say: "busy" }, { deaf: true })}` });
    await came(() => test.of("message.delta").length === 1);
    await test.room.stop();
    await came(() => test.room.folded.through_seq === 2);
    expect(await test.told()).toEqual(["started m-a mention", "settled m-a stopped"]);
    expect(await ended).toBe("gone");
    other.turns[0]?.say("untouched");
    await came(() => test.host.runs.length === 0);
  });
});
