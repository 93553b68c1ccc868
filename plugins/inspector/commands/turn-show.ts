import { RoomtapError } from "../../../core/index.ts";
import type { Client } from "../../client/index.ts";
import type { Output } from "../../output.ts";
import type { Style } from "../../style.ts";
import { jsonText } from "../../terminal-text.ts";
import { findTurn } from "../find-turn.ts";
import { withLog } from "../open-log.ts";
import { withServer, type RemoteOptions } from "../remote.ts";
import { databaseRows, serverRows } from "../row-sources.ts";
import { turnLines } from "../view/turn-lines.ts";
import { turnTree, type TurnTree } from "../view/turn-tree.ts";
import { isOpen, watchTurn } from "../watch-turn.ts";

/** What `roomtap turn show` is asked for. */
export interface TurnShowOptions {
  /** The id of a turn, or the beginning of one that no other turn has. */
  readonly id: string;
  /** The only room to look into. */
  readonly room?: string | undefined;
  readonly json: boolean;
  /** Texts and payloads as long as they are. */
  readonly full: boolean;
  readonly style: Style;
}

/** UTF-16 units of a text on its line. */
const maxLineUnits = 160;

/** Shows a turn of a database: what its rows say. @param options.secrets literals to mask beside the default rules */
export async function turnOfDatabase(
  options: TurnShowOptions & { readonly db: string; readonly secrets: readonly string[] },
  output: Output,
): Promise<number> {
  return withLog(options.db, async (log) => {
    const { room_id, turn_id, rows } = await findTurn(databaseRows(log, options.secrets), {
      ...{ id: options.id, roomId: options.room },
    });
    const room = await log.room(room_id);
    const handles = new Map(room?.members.map(({ member_id, handle }) => [member_id, handle]));
    await show(turnTree([], rows, { turnId: turn_id }), handles, options, output);
    return 0;
  });
}

/**
 * Shows a turn of a server: its rows, and while it is open what its attempt has shown. With `follow` it is watched until it has
 * settled, or `stop`, and what it did meanwhile is shown as well.
 */
export async function turnOfServer(
  options: TurnShowOptions & RemoteOptions & { readonly follow: boolean },
  output: Output,
  stop: AbortSignal,
): Promise<number> {
  const look = async (client: Client): Promise<number> => {
    const turn = await findTurn(serverRows(client), { id: options.id, roomId: options.room });
    const { room_id, turn_id } = turn;
    const handles = await handlesOf(client, room_id);
    if (!isOpen(turn)) {
      await show(turnTree([], turn.rows, { turnId: turn_id }), handles, options, output);
      return 0;
    }
    const until = options.follow ? aborted(stop) : undefined;
    const { rows, events, running, hasReasoning } = await watchTurn(client, turn, { until });
    await show(turnTree(events, rows, { turnId: turn_id, running }), handles, options, output);
    if (!hasReasoning) output.note("reasoning is not shown: this credential has no grant for it");
    return stop.aborted && typeof stop.reason === "number" ? stop.reason : 0;
  };
  return withServer(options, output.note, look, { reconnect: options.follow });
}

async function handlesOf(client: Client, room_id: string): Promise<ReadonlyMap<string, string>> {
  const { room } = await client.call("rooms.state", { room_id });
  return new Map(room.roster.map(({ member_id, handle }) => [member_id, handle]));
}

async function show(
  tree: TurnTree | undefined,
  handles: ReadonlyMap<string, string>,
  { json, full, style }: TurnShowOptions,
  { out }: Output,
): Promise<void> {
  if (tree === undefined) throw new RoomtapError("internal", "a turn that was found has no row");
  if (json) return out(jsonText(tree));
  const nameOf = (id: string): string => (handles.has(id) ? `@${handles.get(id) ?? ""}` : id);
  const look = { style, maxUnits: full ? Infinity : maxLineUnits, nameOf };
  for (const line of turnLines(tree, look)) await out(line);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
