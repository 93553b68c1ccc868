import { RoomtapError } from "../../../core/index.ts";
import {
  checkpointOf,
  emptyState,
  RoomFold,
  zeroHash,
  type Checkpoint,
  type SqliteLogReader,
} from "../../../rooms/index.ts";
import { counted } from "../../counted.ts";
import type { Output } from "../../output.ts";
import { jsonText, oneLine } from "../../terminal-text.ts";
import type { LookOptions } from "../look-options.ts";
import { roomOf, withLog } from "../open-log.ts";
import { noProgress, type Progress } from "../progress.ts";
import { stateDiff, type StateChange } from "../view/state-diff.ts";

/** What `roomtap replay` is asked for. */
export interface ReplayOptions extends LookOptions {
  readonly room: string;
  /** Fold up to this row, 0 for none; undefined for all. */
  readonly at: number | undefined;
  /** Two rows, instead of one: show what differs between the states at them. */
  readonly diff?: readonly number[] | undefined;
}

/**
 * Folds a room's log from its first row and prints the state with its digest, or what differs between two states. Hashes are
 * the business of `verify`.
 * @param progress told how many rows were folded
 * @throws RoomtapError `log_corrupt` for a row that cannot be folded, `invalid_params` for a row beyond the head
 */
export async function replayCommand(
  options: ReplayOptions,
  { out }: Output,
  progress: Progress = noProgress,
): Promise<number> {
  const { at, diff, json } = options;
  if (diff !== undefined) checkDiff(diff, at);
  return withLog(options.db, async (log) => {
    const { room_id } = await roomOf(log, options.room);
    const head = await log.head(room_id);
    const wanted = diff ?? [at ?? head.seq];
    for (const seq of wanted) {
      if (seq <= head.seq) continue;
      const name = diff === undefined ? "--at" : "--diff";
      throw new RoomtapError("invalid_params", `${name}: room ${room_id} has ${counted(head.seq, "row")}, got ${seq}`);
    }
    const checkpoints = await checkpointsAt(log, room_id, { wanted, progress });
    progress.clear();
    const [first, second] = wanted.flatMap((seq) => checkpoints.get(seq) ?? []);
    if (first === undefined) throw new RoomtapError("internal", `room ${room_id} was folded past row ${wanted.join()}`);
    const lines = second === undefined ? stateOutput(first, json) : diffOutput(first, second, json);
    for (const line of lines) await out(line);
    return 0;
  });
}

function checkDiff(diff: readonly number[], at: number | undefined): void {
  if (diff.length !== 2) {
    throw new RoomtapError("invalid_params", `--diff: expected two rows, such as --diff 2 5, got ${diff.length}`);
  }
  if (at !== undefined) throw new RoomtapError("invalid_params", "--diff names its rows: leave --at away");
}

/** The checkpoints at some rows, by row; one pass over the log. */
async function checkpointsAt(
  log: SqliteLogReader,
  roomId: string,
  { wanted, progress }: { readonly wanted: readonly number[]; readonly progress: Progress },
): Promise<ReadonlyMap<number, Checkpoint>> {
  const found = new Map<number, Checkpoint>();
  const fold = new RoomFold(emptyState(roomId));
  let logHash = zeroHash;
  const last = Math.max(...wanted);
  const take = (): void => {
    if (wanted.includes(fold.throughSeq)) found.set(fold.throughSeq, checkpointOf(fold.state(), logHash));
  };
  take();
  while (fold.throughSeq < last) {
    const after_seq = fold.throughSeq;
    const { rows } = await log.read(roomId, { after_seq, limit: last - after_seq });
    for (const row of rows) {
      fold.apply(row);
      logHash = row.hash;
      take();
    }
    progress.step(fold.throughSeq, last);
  }
  return found;
}

function stateOutput({ state, digest, log_hash }: Checkpoint, json: boolean): readonly string[] {
  const { room_id, through_seq } = state;
  const open = state.tasks.filter(({ status }) => status === null);
  if (json) return [jsonText({ room_id, through_seq, digest, log_hash, open_turns: open, state })];
  const lines = [
    `room ${room_id} through row ${through_seq}`,
    `digest ${digest}`,
    `log_hash ${log_hash}`,
    ...open.map((turn) => `open ${turn.turn_id} of ${turn.member_id} since row ${turn.started_row}`),
  ];
  return [...lines.map((line) => oneLine(line)), `state ${jsonText(state, 2)}`];
}

/** What differs from the first state to the second one, which may be the older. */
function diffOutput(from: Checkpoint, to: Checkpoint, json: boolean): readonly string[] {
  const changes = stateDiff(from.state, to.state);
  const [first, second] = [from, to].map(({ state, digest, log_hash }) => ({
    ...{ through_seq: state.through_seq, digest, log_hash },
  }));
  if (json) return [jsonText({ room_id: from.state.room_id, from: first, to: second, changes })];
  const rows = `row ${from.state.through_seq} to row ${to.state.through_seq}`;
  const head = `room ${from.state.room_id}, ${rows}: ${counted(changes.length, "change")}`;
  return [oneLine(head), ...changes.map(changeLine)];
}

function changeLine({ path, op, old, new: now }: StateChange): string {
  const where = oneLine(path);
  if (op === "added") return `+ ${where}: ${jsonText(now)}`;
  return op === "removed" ? `- ${where}: ${jsonText(old)}` : `~ ${where}: ${jsonText(old)} -> ${jsonText(now)}`;
}
