import { cleanPayload, createRedactor } from "../../core/index.ts";
import type { SqliteLogReader } from "../../rooms/index.ts";
import type { Client, LogRow, ResultOf } from "../client/index.ts";
import type { RowSource } from "./find-turn.ts";

/** Rooms per page of a list. */
const pageLength = 500;

/** Rows of a database, their texts masked: a row may be older than the rule that knows its secret. */
export function databaseRows(log: SqliteLogReader, secrets: readonly string[]): RowSource {
  const redactor = createRedactor({ literals: secrets });
  return {
    name: log.file,
    roomIds: () => log.roomIds(),
    rows: async (roomId, after_seq) => {
      const { rows } = await log.read(roomId, { after_seq });
      // Masking changes texts, never the shape.
      return rows.map((row) => ({ ...row, payload: cleanPayload(row.payload, redactor).payload }) as unknown as LogRow);
    },
  };
}

/** Rows of the rooms of a server that the caller may see; the server masks them. */
export function serverRows(client: Client): RowSource {
  return {
    name: "the server",
    roomIds: () => roomsOfServer(client, { include_disbanded: true }),
    rows: async (room_id, since_seq) => {
      const limit = pageLength;
      return (await client.call("groups.log", { room_id, since_seq, limit, include_disbanded: true })).events;
    },
  };
}

/** Ids of the rooms of a server that the caller may see, in order. */
export async function roomsOfServer(
  client: Client,
  { include_disbanded = false }: { readonly include_disbanded?: boolean } = {},
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let offset: number | null = 0; offset !== null;) {
    const page: ResultOf<"groups.list"> = await client.call("groups.list", {
      ...{ limit: pageLength, offset, include_disbanded },
    });
    ids.push(...page.rooms.map(({ room_id }) => room_id));
    offset = page.next_offset;
  }
  return ids;
}
