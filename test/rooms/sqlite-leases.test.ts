import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ManualClock } from "../../core/index.ts";
import { SqliteRoomLog } from "../../rooms/index.ts";
import { openHostDatabase } from "../../rooms/sqlite/open.ts";
import { loopClock, roomOf, someProcess, temporaryFolder } from "../support/open-log.ts";

const rounds = 1_000;

/** Without a wait for the disk at each commit: what a power cut leaves is no question here. */
async function openFast(file: string, clock: ManualClock): Promise<SqliteRoomLog> {
  const database = await openHostDatabase({ file, clock });
  database.pragma("synchronous = OFF");
  const log = new SqliteRoomLog(database, { clock });
  onTestFinished(() => log.close());
  return log;
}

describe("a lease between two hosts", () => {
  const step = fc.record({
    holder: fc.nat(1),
    do: fc.constantFrom("claim", "renew", "release", "release_old", "step_clock"),
    stepMs: fc.integer({ min: -600_000, max: 600_000 }),
  });

  it(
    "R47 C-084 only rises, has one owner, and is not told by clocks, in 1,000 rounds",
    { timeout: 60_000 },
    async () => {
      const file = join(temporaryFolder(), "test.db");
      const clocks = [loopClock(1_764_512_000_000), loopClock(1_764_512_000_000 + 600_000)] as const;
      const logs = [await openFast(file, clocks[0]), await openFast(file, clocks[1])] as const;
      await logs[0].putRoom(roomOf("r1"));
      // What each believes to hold, and whose it is in truth.
      const believed = [0, 0];
      let [generation, owner] = [0, -1];
      for (const { holder, do: what, stepMs } of fc.sample(step, { numRuns: rounds, seed: 84 })) {
        const log = logs[holder === 0 ? 0 : 1];
        const name = `host-${holder}`;
        const own = believed[holder] ?? 0;
        const isOwner = owner === holder && own === generation;
        switch (what) {
          case "claim": {
            const claimed = await log.claimLease({ seen: await log.lease("r1"), holder: name, process: someProcess });
            expect(claimed).toMatchObject({ status: "claimed", lease: { generation: generation + 1, holder: name } });
            [generation, owner] = [generation + 1, holder];
            believed[holder] = generation;
            break;
          }
          case "renew":
            expect(await log.renewLeases([{ room_id: "r1", generation: own }], name)).toEqual(isOwner ? [] : ["r1"]);
            break;
          case "release":
            expect(await log.releaseLease("r1", own, name)).toBe(isOwner);
            if (isOwner) owner = -1;
            break;
          case "release_old":
            expect(await log.releaseLease("r1", own - 1, name)).toBe(false);
            break;
          default:
            clocks[holder === 0 ? 0 : 1].setNow(1_764_512_000_000 + stepMs);
        }
        const lease = await logs[1].lease("r1");
        expect([lease.generation, lease.released]).toEqual([generation, owner === -1]);
        if (owner !== -1) expect(lease.holder).toBe(`host-${owner}`);
      }
      expect(generation).toBeGreaterThan(100);
    },
  );
});
