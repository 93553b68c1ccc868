import { ApprovalRulesTable } from "./approval-rules-table.ts";
import { CheckpointsTable } from "./checkpoints-table.ts";
import type { SqliteDatabase } from "./database.ts";
import { InboxTable } from "./inbox-table.ts";
import { LeasesTable } from "./leases-table.ts";
import { LogTable } from "./log-table.ts";
import { NamedValuesTable } from "./named-values-table.ts";
import { RenamesTable } from "./renames-table.ts";
import { RoomsTable } from "./rooms-table.ts";
import { SessionMessagesTable } from "./session-messages-table.ts";
import { SessionsTable } from "./sessions-table.ts";
import { StopsTable } from "./stops-table.ts";
import { WaitingTable } from "./waiting-table.ts";

/** All tables of a database, with their statements prepared. */
export interface Tables {
  readonly rooms: RoomsTable;
  readonly leases: LeasesTable;
  readonly inbox: InboxTable;
  readonly waiting: WaitingTable;
  readonly stops: StopsTable;
  readonly renames: RenamesTable;
  readonly log: LogTable;
  readonly checkpoints: CheckpointsTable;
  readonly sessions: SessionsTable;
  readonly sessionMessages: SessionMessagesTable;
  readonly approvalRules: ApprovalRulesTable;
  readonly namedValues: NamedValuesTable;
}

export function prepareTables(database: SqliteDatabase): Tables {
  return {
    rooms: new RoomsTable(database),
    leases: new LeasesTable(database),
    inbox: new InboxTable(database),
    waiting: new WaitingTable(database),
    stops: new StopsTable(database),
    renames: new RenamesTable(database),
    log: new LogTable(database),
    checkpoints: new CheckpointsTable(database),
    sessions: new SessionsTable(database),
    sessionMessages: new SessionMessagesTable(database),
    approvalRules: new ApprovalRulesTable(database),
    namedValues: new NamedValuesTable(database),
  };
}
