import { describe, expect, it } from "vitest";
import type { OpenRequest } from "../../../core/index.ts";
import { openSqliteLog, type AppendResult, type RoomLog } from "../../../rooms/index.ts";
import { interposed } from "../../support/interposed.ts";
import { loopClock, turnsOfLoop } from "../../support/open-log.ts";
import { HeldRunner, roomOf, runnerOf, TestHost, until } from "../../support/open-room.ts";

/** Asks after a while, works on, and completes with what people answered; it takes no notice of a stop. */
const asking = runnerOf(async (turn) => {
  await turnsOfLoop(5);
  const { outcome, choice } = await turn.ask({ method: "approval", params: { command: "rm" } });
  await turnsOfLoop(5);
  return { status: "completed", text: `${outcome} ${choice ?? ""}` };
});

describe("finish", () => {
  it("cancels the turn that waits for a person, and gives their turns to those behind it", async () => {
    const held = new HeldRunner();
    const members = [
      { handle: "a", runner: asking },
      { handle: "b", runner: held },
    ];
    const test = await TestHost.open({ rooms: [{ room_id: "r1", members }] });
    await test.room.post({ text: "go" });
    const finishing = test.host.finish();
    (await held.turn(0)).say("I can");
    const unanswered = await finishing;
    expect(unanswered.map(({ method, params }) => [method, params["command"]])).toEqual([["approval", "rm"]]);
    await test.delivered();
    expect(await test.told()).toEqual([
      "started m-a message",
      "settled m-a shutdown",
      "started m-b message",
      "settled m-b completed",
    ]);
    expect(test.of("request.resolved")[0]?.payload).toMatchObject({ outcome: "cancelled", reason: "shutdown" });
  });

  it("waits for a turn whose question is answered at the last moment", async () => {
    const open: OpenRequest[] = [];
    const test = await TestHost.open({
      rooms: [roomOf(asking)],
      onRequest: (request, tap) => {
        open.push(request);
        queueMicrotask(() => void tap.requests.answer(request.id, { choice: "once" }, "c-1"));
      },
    });
    await test.room.post({ text: "go" });
    expect(await test.host.finish()).toEqual([]);
    expect([open.length, ...(await test.told())]).toEqual([1, "started m-a message", "settled m-a completed"]);
  });

  it("comes back at once when there is nothing to do", async () => {
    const test = await TestHost.open({ rooms: [roomOf(asking)] });
    expect(await test.host.finish()).toEqual([]);
    const none = await TestHost.open({ rooms: [] });
    expect(await none.host.finish()).toEqual([]);
  });

  it("ends when the host is closed meanwhile", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)] });
    await test.room.post({ text: "go" });
    await held.turn(0);
    const finishing = test.host.finish();
    await test.close();
    expect(await finishing).toEqual([]);
  });
});

describe("close", () => {
  it("calls no runner for a turn that was being started, and settles it", async () => {
    const clock = loopClock();
    const log = await openSqliteLog({ file: ":memory:", clock });
    const held = new HeldRunner();
    let commit = (): void => undefined;
    const append: RoomLog["append"] = async (given): Promise<AppendResult> => {
      if (given.rows[0]?.kind === "turn.started") await new Promise<void>((resolve) => (commit = resolve));
      return log.append(given);
    };
    const test = await TestHost.open({ rooms: [roomOf(held, ["a", "b"])], clock, log: interposed(log, { append }) });
    const posted = test.room.post({ text: "go" });
    await test.pass(50);
    let closed = false;
    const closing = test.host.close().then(() => (closed = true));
    await test.pass(50);
    expect(closed).toBe(false);
    commit();
    await closing;
    // Closing was told first: nobody waits for a start then.
    expect((await posted).starts).toBe(false);
    expect([held.turns.length, ...(await test.told())]).toEqual([0, "started m-a message", "settled m-a shutdown"]);
    expect((await log.inbox("r1")).map(({ owed }) => owed)).toEqual([["m-b"]]);
  });

  it("gives what waits its turns at the next start", async () => {
    const clock = loopClock();
    const log = await openSqliteLog({ file: ":memory:", clock });
    const held = new HeldRunner();
    const once = await TestHost.open({ rooms: [roomOf(held, ["a", "b"])], clock, log });
    await once.room.post({ text: "go" });
    await held.turn(0);
    const closing = once.host.close(25);
    await once.pass(25);
    await closing;
    await expect(once.room.post({ text: "more" })).rejects.toMatchObject({ code: "closed" });
    const again = await TestHost.open({ rooms: [roomOf(held, ["a", "b"])], clock, log });
    (await held.turn(1)).say("b here");
    await again.quiet();
    expect(await again.told()).toEqual([
      "started m-a message",
      "settled m-a shutdown",
      "started m-b message",
      "settled m-b completed",
    ]);
  });

  it("holds to the shorter grace when it is asked twice", async () => {
    const test = await TestHost.open({ rooms: [roomOf(new HeldRunner())] });
    await test.room.post({ text: "go" });
    await until(() => test.host.runs.length === 1);
    let closed = 0;
    const closing = [test.host.close(30_000), test.host.close(100)].map((it) => it.then(() => closed++));
    await test.pass(75);
    expect(closed).toBe(0);
    await test.pass(50);
    await Promise.all(closing);
    expect(await test.told()).toEqual(["started m-a message", "settled m-a shutdown"]);
  });

  it.each([-1, Number.NaN])("refuses a grace of %s", async (graceMs) => {
    const test = await TestHost.open({ rooms: [roomOf(new HeldRunner())] });
    await expect(test.host.close(graceMs)).rejects.toMatchObject({ code: "invalid_params" });
  });

  it("withdraws questions at once, and opens no new ones", async () => {
    const seen: unknown[] = [];
    const runner = runnerOf(async (turn) => {
      for (let count = 0; count < 3; count++) {
        seen.push((await turn.ask({ method: "approval", params: { command: "rm" } })).reason);
      }
      return { status: "completed", text: "went on" };
    });
    const test = await TestHost.open({ rooms: [roomOf(runner)] });
    await test.room.post({ text: "go" });
    await until(() => test.tap.requests.open().length === 1);
    await test.host.close();
    await test.delivered();
    expect(seen).toEqual(["shutdown", "interrupted", "interrupted"]);
    expect(test.of("request.opened")).toHaveLength(1);
    expect(await test.told()).toEqual(["started m-a message", "settled m-a shutdown"]);
  });
});
