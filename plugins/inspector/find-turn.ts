import { RoomtapError } from "../../core/index.ts";
import type { LogRow } from "../client/index.ts";

/** Where rows are read from: a database, or a server. */
export interface RowSource {
  /** How it is called in messages. */
  readonly name: string;
  /** In order. */
  roomIds(): Promise<readonly string[]>;
  /** A page of rows above `afterSeq`, oldest first; empty behind the last one. */
  rows(roomId: string, afterSeq: number): Promise<readonly LogRow[]>;
}

/** A turn, by its rows. */
export interface FoundTurn {
  readonly room_id: string;
  readonly turn_id: string;
  /** Its rows, oldest first, and behind them those that its input refers to. */
  readonly rows: readonly LogRow[];
}

/** Ids that an error names. */
const maxNamedTurns = 10;

/**
 * Finds a turn by its id, or by the beginning of one that no other turn has.
 * @param where.roomId the only room to look into; default all
 * @throws RoomtapError `unknown_turn`; `invalid_params` when several turns begin so, naming some
 */
export async function findTurn(
  source: RowSource,
  where: { readonly id: string; readonly roomId?: string | undefined },
): Promise<FoundTurn> {
  const { id, roomId } = where;
  if (id === "") throw new RoomtapError("invalid_params", "ID: expected the id of a turn, or its beginning");
  const found = new Map<string, LogRow[]>();
  for (const room of roomId === undefined ? await source.roomIds() : [roomId]) {
    await collect(source, room, { id, found });
    // An id that stands there whole is meant, whatever others begin with it.
    if (found.has(id)) break;
  }
  const turns = found.has(id) ? [id] : [...found.keys()];
  const [turn_id] = turns;
  if (turn_id === undefined) {
    const place = roomId === undefined ? source.name : `room ${roomId} of ${source.name}`;
    const remedy = "See `roomtap log ROOM --json` for the ids of its turns.";
    throw new RoomtapError("unknown_turn", `no turn in ${place} begins with ${id}`, { remedy });
  }
  if (turns.length > 1) throw ambiguous(id, turns);
  const rows = found.get(turn_id) ?? [];
  const room_id = rows[0]?.room_id ?? "";
  return { room_id, turn_id, rows: [...rows, ...(await referred(source, rows))] };
}

async function collect(
  source: RowSource,
  roomId: string,
  { id, found }: { readonly id: string; readonly found: Map<string, LogRow[]> },
): Promise<void> {
  for (let after = 0; ;) {
    const rows = await source.rows(roomId, after);
    for (const row of rows) {
      if (!row.turn_id.startsWith(id)) continue;
      const known = found.get(row.turn_id);
      if (known !== undefined) known.push(row);
      // That there are more than can be named is all that is to be known of further ones; the one itself is not missed.
      else if (found.size <= maxNamedTurns || row.turn_id === id) found.set(row.turn_id, [row]);
    }
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.seq;
  }
}

function ambiguous(id: string, turns: readonly string[]): RoomtapError {
  const named = turns.slice(0, maxNamedTurns).join(", ");
  const more = turns.length > maxNamedTurns ? ", ..." : "";
  const remedy = "Give more of the id.";
  return new RoomtapError("invalid_params", `several turns begin with ${id}: ${named}${more}`, { remedy });
}

/** Rows that the input of a turn refers to. */
async function referred(source: RowSource, rows: readonly LogRow[]): Promise<readonly LogRow[]> {
  const started = rows.find((row) => row.kind === "turn.started");
  const seqs = new Set(started?.payload.input.flatMap((item) => ("row_seq" in item ? [item.row_seq] : [])));
  const found: LogRow[] = [];
  for (const seq of [...seqs].sort((a, b) => a - b)) {
    if (started === undefined || found.some((row) => row.seq === seq)) continue;
    const page = await source.rows(started.room_id, seq - 1);
    found.push(...page.filter((row) => seqs.has(row.seq) && !found.includes(row)));
  }
  return found;
}
