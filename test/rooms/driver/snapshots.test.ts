import { describe, expect, it } from "vitest";
import { openSqliteLog, type RoomLog } from "../../../rooms/index.ts";
import { interposed } from "../../support/interposed.ts";
import { loopClock } from "../../support/open-log.ts";
import { HeldRunner, member, roomOf, secret, TestHost, until } from "../../support/open-room.ts";

describe("a snapshot of a room", () => {
  it("has the state, and of each running attempt its number, text, tools and questions", async () => {
    const [clock, held] = [loopClock(), new HeldRunner()];
    const members = ["a", "b"].map((handle) => member(handle, held));
    const test = await TestHost.open({ rooms: [{ room_id: "r1", members }], clock });
    await test.room.post({ text: "@a go" });
    await test.room.post({ text: "@b go", thread_id: "side" });
    const [{ turn }, other] = [await held.turn(0), await held.turn(1)];
    turn.emit({ type: "message.delta", payload: { text: `my key is ${secret}, ` } });
    turn.emit({ type: "message.delta", payload: { text: "and so on." } });
    const startedAt = clock.now();
    clock.advance(40);
    turn.emit({ type: "tool.start", payload: { tool_id: "c1", name: "read" } });
    const answer = turn.ask({ method: "approval", params: { command: "rm", tool_id: "c2", tool_name: "run" } });
    const snapshot = await test.room.snapshot();
    const { attempts, ...state } = snapshot;
    expect(state).toEqual(await test.room.state());
    const [request] = test.tap.requests.open();
    const since = startedAt + 40;
    expect(attempts).toEqual([
      {
        coordinates: turn.coordinates,
        n: test.of("request.opened")[0]?.n,
        text: expect.stringMatching(/^my key is \S+, and so on\.$/),
        offset: attempts[0]?.text.length,
        reasoning_offset: 0,
        tools: [
          { tool_id: "c1", name: "read", since },
          { tool_id: "c2", name: "run", since },
        ],
        open_requests: [request?.id],
      },
      {
        coordinates: other.turn.coordinates,
        n: 1,
        text: "",
        offset: 0,
        reasoning_offset: 0,
        tools: [],
        open_requests: [],
      },
    ]);
    expect(attempts[0]?.text).not.toContain(secret);
    test.tap.requests.answer(request?.id ?? "", { choice: "deny" }, null);
    await answer;
    for (const { end } of held.turns) end({ status: "passed" });
    await test.quiet();
    expect((await test.room.snapshot()).attempts).toEqual([]);
  });

  it("has an attempt until its settled row is in the log, and no longer", async () => {
    const [clock, held] = [loopClock(), new HeldRunner()];
    const log = await openSqliteLog({ file: ":memory:", clock });
    let commit: () => void = () => undefined;
    let isEnding = false;
    const append: RoomLog["append"] = async (given) => {
      if (given.rows[0]?.kind === "turn.settled") {
        isEnding = true;
        await new Promise<void>((resolve) => (commit = resolve));
      }
      return log.append(given);
    };
    const test = await TestHost.open({ rooms: [roomOf(held)], clock, log: interposed(log, { append }) });
    await test.room.post({ text: "go" });
    const { turn, say } = await held.turn(0);
    say("done");
    await until(() => isEnding);
    // Nobody waits for the database to look.
    const before = await test.room.snapshot();
    commit();
    await test.quiet();
    const after = await test.room.snapshot();
    expect([before.log.latest_seq, before.attempts.map(({ coordinates }) => coordinates)]).toEqual([
      1,
      [turn.coordinates],
    ]);
    expect([after.log.latest_seq, after.attempts]).toEqual([2, []]);
  });
});
