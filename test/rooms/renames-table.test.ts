import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { limits } from "../../core/index.ts";
import { connect } from "../../rooms/sqlite/database.ts";
import { openLog, ownRoom, temporaryFolder } from "../support/open-log.ts";

describe("renames of a room", () => {
  it("I8 are the last 10,000, of each room for itself", async () => {
    const file = join(temporaryFolder(), "test.db");
    const log = await openLog(file);
    await ownRoom(log, "r2");
    await ownRoom(log);
    const fill = connect(file);
    // All but one of them, for both rooms, with the oldest in front.
    const count = limits.maxReceiptsPerRoom - 1;
    fill.exec(
      "INSERT INTO renames (room_id, event_id, name, revision, renamed_at)" +
        ` WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})` +
        " SELECT room_id, 'e' || i, 'old', 1, 9000000000000 FROM n, rooms",
    );
    const counted = fill.prepare<[], number>("SELECT count(*) FROM renames WHERE room_id = 'r1'").pluck();
    const rename = async (event_id: string, name: string): Promise<string> =>
      (await log.rename({ room_id: "r1", lease_generation: 1, event_id, name })).status;
    const counts = [counted.get()];
    for (const event of ["new1", "new2"]) {
      expect(await rename(event, "new")).toBe("renamed");
      counts.push(counted.get());
    }
    expect(counts).toEqual([count, count + 1, count + 1]);
    expect([await rename("e2", "other"), await rename("e1", "other")]).toEqual(["idempotency_conflict", "renamed"]);
    expect(fill.prepare("SELECT count(*) FROM renames WHERE room_id = 'r2'").pluck().get()).toBe(count);
    fill.close();
  });
});
