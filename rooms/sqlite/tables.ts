import type { SqliteDatabase } from "./database.ts";
import { InboxTable } from "./inbox-table.ts";
import { LogTable } from "./log-table.ts";
import { RoomsTable } from "./rooms-table.ts";

/** All tables of a database, with their statements prepared. */
export interface Tables {
  readonly rooms: RoomsTable;
  readonly inbox: InboxTable;
  readonly log: LogTable;
}

export function prepareTables(database: SqliteDatabase): Tables {
  return { rooms: new RoomsTable(database), inbox: new InboxTable(database), log: new LogTable(database) };
}
