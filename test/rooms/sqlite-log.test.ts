import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openSqliteLog, type SqliteRoomLog } from "../../rooms/index.ts";
import { loopClock, temporaryFolder } from "../support/open-log.ts";
import { roomChangesContract } from "./room-changes.contract.ts";
import { roomLeasesContract } from "./room-leases.contract.ts";
import { roomLogContract, type LogUnderTest } from "./room-log.contract.ts";

async function open(): Promise<LogUnderTest> {
  const clock = loopClock();
  const file = join(temporaryFolder(), "test.db");
  let log: SqliteRoomLog = await openSqliteLog({ file, clock });
  onTestFinished(() => log.close());
  return {
    log,
    setBack: (ms) => clock.setNow(clock.now() - ms),
    async reopen() {
      await log.close();
      log = await openSqliteLog({ file, clock });
      return log;
    },
  };
}

for (const contract of [roomLogContract, roomLeasesContract, roomChangesContract]) contract("SQLite", open);
