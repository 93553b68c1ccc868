import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock, Tap } from "../../../core/index.ts";
import { emptyState, openSqliteLog, RoomFold, type AppendResult, type RoomLog } from "../../../rooms/index.ts";
import { Pauses } from "../../../rooms/pauses.ts";
import { abandonOpenAttempts } from "../../../rooms/recovery.ts";
import { RoomWriter } from "../../../rooms/room-writer.ts";
import { interposed } from "../../support/interposed.ts";
import { TestLog } from "../../support/logs.ts";
import { HeldRunner, roomOf, TestHost } from "../../support/open-room.ts";

/** A log in which every append finds its rows there already. */
async function logOfTheOther(): Promise<RoomLog> {
  const log = await openSqliteLog({ file: ":memory:", clock: systemClock });
  onTestFinished(() => log.close());
  return interposed(log, { append: async (): Promise<AppendResult> => ({ status: "exists", rows: [] }) });
}

describe("a host that was overtaken between its plan and its write", () => {
  it("C-050 takes a start that is there for a lost lease, not for damage", async () => {
    const fold = new RoomFold(emptyState("r1"));
    const parts = { roomId: "r1", leaseGeneration: 1, fold, logHash: "", pauses: new Pauses(systemClock) };
    const writer = new RoomWriter({ ...parts, log: await logOfTheOther() });
    const { payload, ...coordinates } = new TestLog().start({ member_id: "m-a" });
    const start = { coordinates, payload, inbox: [], retries: [], due: { take: [] } };
    await expect(writer.start(start)).rejects.toMatchObject({ code: "lease_lost" });
  });

  it("C-050 takes open attempts that are settled already for a lost lease", async () => {
    const fold = new RoomFold(emptyState("r1"));
    fold.apply(new TestLog().start({ member_id: "m-a" }));
    const loaded = { fold, logHash: "", damage: null, checkpoint: { ignored: "none" } } as const;
    const tap = new Tap({ activity: { listening: false, push: () => undefined } });
    const parts = { log: await logOfTheOther(), tap, fence: { room_id: "r1", lease_generation: 1 }, loaded };
    const recovery = abandonOpenAttempts({ ...parts, runners: new Map(), stop: null });
    await expect(recovery).rejects.toMatchObject({ code: "lease_lost" });
  });
});

describe("a turn that ends as not admitted while it is stopped", () => {
  it("R41 R33 does not come back by itself", async () => {
    const runner = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(runner)] });
    await test.room.post({ text: "hello" });
    const turn = await runner.turn(0);
    const stopping = test.room.stop();
    turn.end({ status: "failed", reason_code: "not_admitted" });
    await stopping;
    await test.pass(3_000);
    expect(await test.told()).toEqual(["started m-a message", "settled m-a not_admitted"]);
    expect((await test.log.planInput("r1"))?.due).toEqual([]);
  });
});
