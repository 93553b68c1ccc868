import { describe, expect, it } from "vitest";
import type { Append, RoomLog } from "../../rooms/index.ts";
import { claim, ownRoom, postOf, roomOf, settleOf, someProcess, startOf } from "../support/open-log.ts";
import type { LogUnderTest } from "./room-log.contract.ts";

const appendOf = (rows: Append["rows"], expected_seq: number, lease_generation: number): Append => ({
  room_id: "r1",
  rows,
  inbox: [],
  expected_seq,
  lease_generation,
});

/** Everything of the room that can be read. */
const everything = async (log: RoomLog) => [
  await log.planInput("r1"),
  await log.read("r1", { after_seq: 0 }),
  await log.checkpoint("r1"),
];

const checkpoint = { version: 1, through_seq: 1, log_hash: "0".repeat(64), digest: "d", state: "{}" };

/** What an engine must answer right about who may write a room. */
export function roomLeasesContract(engine: string, open: () => Promise<LogUnderTest>): void {
  describe(`${engine}: leases`, () => {
    it("are nobody's at first, of generation 0", async () => {
      const { log } = await open();
      const unclaimed = { room_id: "r1", generation: 0, holder: "", renewal: 0, released: true, process: null };
      expect(await log.lease("r1")).toEqual(unclaimed);
      const claiming = log.claimLease({ seen: unclaimed, holder: "h1", process: someProcess });
      await expect(claiming).rejects.toMatchObject({ code: "unknown_room" });
      await log.putRoom(roomOf("r1"));
      expect(await log.lease("r1")).toEqual(unclaimed);
      expect(await log.append(appendOf([startOf("1")], 0, 0))).toMatchObject({ status: "lease_lost", generation: 0 });
    });

    it("go to one of those that saw the same", async () => {
      const { log, reopen } = await open();
      await log.putRoom(roomOf("r1"));
      const seen = await log.lease("r1");
      const mark = { boot_id: "b", pid_namespace: "n", pid: 7, started: "99" };
      const results = await Promise.all(
        ["h1", "h2", "h3"].map((holder) => log.claimLease({ seen, holder, process: mark })),
      );
      const lease = { room_id: "r1", generation: 1, holder: "h1", renewal: 0, released: false, process: mark };
      expect(results).toEqual([
        { status: "claimed", lease },
        { status: "changed", lease },
        { status: "changed", lease },
      ]);
      expect(await (await reopen()).lease("r1")).toEqual(lease);
    });

    it("are not claimed when they were renewed behind the look", async () => {
      const { log } = await open();
      await ownRoom(log);
      const seen = await log.lease("r1");
      expect(await log.renewLeases([{ room_id: "r1", generation: 1 }], "test")).toEqual([]);
      const claiming = await log.claimLease({ seen, holder: "other", process: someProcess });
      expect(claiming).toMatchObject({ status: "changed", lease: { generation: 1, renewal: 1, holder: "test" } });
    });

    it("are renewed together, and those that are lost are named", async () => {
      const { log } = await open();
      for (const id of ["r1", "r2", "r3", "r4"]) await ownRoom(log, id);
      await claim(log, "r2", "other");
      await log.releaseLease("r3", 1, "test");
      const held = ["r1", "r2", "r3", "r4", "r5"].map((room_id) => ({ room_id, generation: 1 }));
      expect(await log.renewLeases(held, "test")).toEqual(["r2", "r3", "r5"]);
      const leases = await Promise.all(["r1", "r2", "r3", "r4"].map((id) => log.lease(id)));
      expect(leases.map((lease) => lease.renewal)).toEqual([1, 0, 0, 1]);
      expect(await log.renewLeases([{ room_id: "r1", generation: 1 }], "another")).toEqual(["r1"]);
    });

    it("let nobody write when they were given back", async () => {
      const { log } = await open();
      await ownRoom(log);
      expect(await log.releaseLease("r1", 1, "test")).toBe(true);
      expect(await log.releaseLease("r1", 1, "test")).toBe(false);
      expect(await log.append(appendOf([startOf("1")], 0, 1))).toMatchObject({ status: "lease_lost", generation: 1 });
      expect(await claim(log)).toBe(2);
    });

    it("R46 C-050 an old generation changes nothing, whatever it tries", async () => {
      const { log } = await open();
      await ownRoom(log);
      await log.accept(postOf("hello", { message_id: "msg-1" }));
      await log.append(appendOf([startOf("1")], 0, 1));
      expect(await claim(log, "r1", "test")).toBe(2);
      await log.append(appendOf([settleOf("1", { text: "the host was lost" })], 1, 2));
      await log.append(appendOf([startOf("1", { generation: 2 })], 2, 2));
      const before = await everything(log);
      const old = { room_id: "r1", lease_generation: 1 };
      const retry = { task_id: "k-1", execution_generation: 1, origin: null, cause: "retry" } as const;
      const refusals = [
        await log.append(appendOf([settleOf("1", { text: "late" })], 3, 1)),
        await log.append(appendOf([settleOf("1", { generation: 2 })], 3, 1)),
        await log.append(appendOf([startOf("2")], 3, 1)),
        await log.stop({ ...old, cancel_id: null, cancelled: 1 }),
        await log.closePost({ ...old, message_id: "msg-1" }),
        await log.setPaused({ ...old, member_ids: ["m-a"], paused: true }),
        await log.putRetry({ ...old, ...retry }),
        await log.putRoom({ ...roomOf("r1"), name: "Other", lease_generation: 1 }),
        await log.putCheckpoint({ ...old, ...checkpoint }),
        await log.disband(old),
      ];
      expect(refusals.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => "lease_lost"));
      expect(refusals.map((refusal) => "generation" in refusal && refusal.generation)).toEqual(
        Array.from({ length: 10 }, () => 2),
      );
      expect(await log.renewLeases([{ room_id: "r1", generation: 1 }], "test")).toEqual(["r1"]);
      expect(await log.releaseLease("r1", 1, "test")).toBe(false);
      expect(await everything(log)).toEqual(before);
      expect((await log.append(appendOf([settleOf("1", { generation: 2 })], 3, 2))).status).toBe("appended");
    });

    it("an old holder learns that a row of its own is there", async () => {
      const { log } = await open();
      await ownRoom(log);
      const first = await log.append(appendOf([startOf("1")], 0, 1));
      await claim(log, "r1", "other");
      const again = await log.append(appendOf([startOf("1")], 0, 1));
      expect(again).toEqual({ status: "exists", rows: first.status === "appended" ? first.rows : [] });
    });

    it("anybody may post", async () => {
      const { log } = await open();
      await log.putRoom(roomOf("r1"));
      expect((await log.accept(postOf("nobody has the room"))).status).toBe("accepted");
      await claim(log, "r1", "other");
      expect((await log.accept(postOf("another one has it"))).status).toBe("accepted");
    });
  });
}
