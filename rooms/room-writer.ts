import { RoomtapError, type Coordinates, type TurnSettled } from "../core/index.ts";
import type { FoldState } from "./fold-state.ts";
import type { RoomFold } from "./fold.ts";
import type { LogRow, NewRow, RoomLog, SettledRow, StartedRow } from "./log.ts";
import type { Pauses } from "./pauses.ts";
import type { PlannedStart } from "./plan.ts";

/** Waits between tries to write what the database refuses for now: 250 ms, doubling to 5 s. */
const firstRetryMs = 250;
/** The longest of them. */
export const maxRetryMs = 5_000;

/** What a writer is made of. */
export interface RoomWriterParts {
  readonly roomId: string;
  readonly log: RoomLog;
  /** What the log holds so far. */
  readonly fold: RoomFold;
  /** Closed with the room: from then on nothing is tried again. */
  readonly pauses: Pauses;
}

/**
 * The one hand that writes a room's log. Its steps run one after the other, and each row is folded as soon as it is
 * durable: so what a step decides on still holds when its row is appended.
 */
export class RoomWriter {
  readonly #parts: RoomWriterParts;
  #steps: Promise<unknown> = Promise.resolve();
  #state: FoldState;

  constructor(parts: RoomWriterParts) {
    this.#parts = parts;
    this.#state = parts.fold.state();
  }

  /** The folded state after the last row. */
  get state(): FoldState {
    if (this.#state.through_seq !== this.#parts.fold.throughSeq) this.#state = this.#parts.fold.state();
    return this.#state;
  }

  /** Runs `step` when those before it are over. */
  inOrder<Result>(step: () => Promise<Result>): Promise<Result> {
    const result = this.#steps.then(step);
    this.#steps = result.catch(() => undefined);
    return result;
  }

  /** Resolves when the steps that were asked for are over. */
  async idle(): Promise<void> {
    await this.#steps;
  }

  /**
   * Inside a step: appends the start and takes its posts from the inbox. `room_full` is a value.
   * @throws RoomtapError what the log throws, or its refusal
   */
  async start({ coordinates, payload, inbox }: PlannedStart): Promise<StartedRow | { readonly roomFull: string }> {
    const { log, roomId, fold } = this.#parts;
    const rows: readonly NewRow[] = [{ kind: "turn.started", coordinates, payload }];
    const result = await log.append({ room_id: roomId, rows, inbox, expected_seq: fold.throughSeq });
    if (result.status === "room_full") return { roomFull: result.message };
    if (result.status === "exists") throw new RoomtapError("internal", `the start of ${coordinates.turn_id} is there`);
    if (result.status !== "appended") throw new RoomtapError(result.status, result.message);
    const row = this.#fold(result.rows);
    if (row?.kind !== "turn.started") throw new RoomtapError("internal", "a start was appended as something else");
    return row;
  }

  /**
   * Inside a step: appends the settle, and tries again while the database refuses it for now, until the room closes.
   * @param onRefusal told of each try that failed
   * @throws RoomtapError when the log refuses it for good
   */
  async settle(
    coordinates: Coordinates,
    payload: TurnSettled,
    onRefusal: (fault: RoomtapError) => void,
  ): Promise<SettledRow> {
    const { pauses } = this.#parts;
    for (let waitMs = firstRetryMs; ; waitMs = Math.min(waitMs * 2, maxRetryMs)) {
      try {
        return await this.#settleNow(coordinates, payload);
      } catch (fault) {
        if (!isPassing(fault) || pauses.closed) throw fault;
        onRefusal(fault);
        await pauses.wait(waitMs);
      }
    }
  }

  async #settleNow(coordinates: Coordinates, payload: TurnSettled): Promise<SettledRow> {
    const { log, roomId, fold } = this.#parts;
    const rows: readonly NewRow[] = [{ kind: "turn.settled", coordinates, payload }];
    const result = await log.append({ room_id: roomId, rows, inbox: [], expected_seq: fold.throughSeq });
    // It is there already when a commit before succeeded, and only its answer was lost.
    if (result.status !== "appended" && result.status !== "exists") {
      throw new RoomtapError(result.status, result.message);
    }
    const row = this.#fold(result.rows);
    if (row?.kind !== "turn.settled") throw new RoomtapError("internal", "a settle was appended as something else");
    return row;
  }

  /** Takes in what was appended; gives the last row. */
  #fold(rows: readonly LogRow[]): LogRow | undefined {
    for (const row of rows) this.#parts.fold.apply(row);
    return rows.at(-1);
  }
}

/** Whether it is trouble of the database that may go by itself. */
export function isPassing(fault: unknown): fault is RoomtapError {
  if (!(fault instanceof RoomtapError)) return false;
  return ["log_busy", "log_full", "log_read_only", "log_unavailable"].includes(fault.code);
}
