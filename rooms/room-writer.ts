import { isPassing, RoomtapError, type Coordinates, type TurnSettled } from "../core/index.ts";
import type { FoldState } from "./fold-state.ts";
import type { RoomFold } from "./fold.ts";
import type { DueRow } from "./inbox-row.ts";
import type { Fenced } from "./lease-row.ts";
import type { Append, AppendResult, RoomLog } from "./log.ts";
import type { LogRow, NewRow, SettledRow, StartedRow } from "./log-row.ts";
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
  /** What every write is checked against. */
  readonly leaseGeneration: number;
  /** Hash of the last row that `fold` has. */
  readonly logHash: string;
  /** Closed with the room: from then on nothing is tried again. */
  readonly pauses: Pauses;
}

/** How an attempt is written down as ended. */
export interface JudgedEnd {
  readonly payload: TurnSettled;
  /** When the task is to be tried again by itself. */
  readonly due?: Omit<DueRow, "room_id"> | undefined;
}

/** The end of an attempt, to be written. */
export interface Settle {
  readonly coordinates: Coordinates;
  /** Asked before each try: what it depends on is read from the database. */
  readonly judge: () => Promise<JudgedEnd>;
  /** Told of each try that failed. */
  readonly onRefusal: (fault: RoomtapError) => void;
}

/**
 * The one hand that writes a room's log. Its steps run one after the other, and each row is folded as soon as it is
 * durable: so what a step decides on still holds when its row is appended.
 */
export class RoomWriter {
  readonly #parts: RoomWriterParts;
  #steps: Promise<unknown> = Promise.resolve();
  #state: FoldState;
  #logHash: string;
  #isHeldUp = false;

  constructor(parts: RoomWriterParts) {
    this.#parts = parts;
    this.#state = parts.fold.state();
    this.#logHash = parts.logHash;
  }

  /** What a change of the room is done under. */
  get fence(): Fenced {
    return { room_id: this.#parts.roomId, lease_generation: this.#parts.leaseGeneration };
  }

  /** Whether the database refused a settle for now: all further steps wait until it is tried again. */
  get isHeldUp(): boolean {
    return this.#isHeldUp;
  }

  /** Hash of the last row. */
  get logHash(): string {
    return this.#logHash;
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
  async start(start: PlannedStart): Promise<StartedRow | { readonly roomFull: string }> {
    const { coordinates, payload, inbox, retries, due } = start;
    const rows: readonly NewRow[] = [{ kind: "turn.started", coordinates, payload }];
    const result = await this.#append({ rows, inbox, retries, due });
    if (result.status === "room_full") return { roomFull: result.message };
    // Another holder made the same plan and began first, or the answer to an earlier commit was lost. Whoever begins
    // with the log again knows which, and settles what is open.
    if (result.status === "exists")
      throw new RoomtapError("lease_lost", `turn ${coordinates.turn_id} was begun already`);
    if (result.status !== "appended") throw new RoomtapError(result.status, result.message);
    const row = this.#fold(result.rows);
    if (row?.kind !== "turn.started") throw new RoomtapError("internal", "a start was appended as something else");
    return row;
  }

  /**
   * Inside a step: appends the settle, and tries again while the database refuses it for now, until the room closes.
   * @throws RoomtapError when the log refuses it for good
   */
  async settle(settle: Settle): Promise<SettledRow> {
    const { pauses } = this.#parts;
    for (let waitMs = firstRetryMs; ; waitMs = Math.min(waitMs * 2, maxRetryMs)) {
      try {
        return await this.#settleNow(settle);
      } catch (fault) {
        if (!isPassing(fault) || pauses.closed) throw fault;
        this.#isHeldUp = true;
        settle.onRefusal(fault);
        await pauses.wait(waitMs);
        this.#isHeldUp = false;
      }
    }
  }

  async #settleNow({ coordinates, judge }: Settle): Promise<SettledRow> {
    const { payload, due } = await judge();
    const rows: readonly NewRow[] = [{ kind: "turn.settled", coordinates, payload }];
    const result = await this.#append({ rows, inbox: [], due: due === undefined ? undefined : { put: due } });
    // It is there already when a commit before succeeded, and only its answer was lost.
    if (result.status !== "appended" && result.status !== "exists") {
      throw new RoomtapError(result.status, result.message);
    }
    const row = this.#fold(result.rows);
    if (row?.kind !== "turn.settled") throw new RoomtapError("internal", "a settle was appended as something else");
    return row;
  }

  #append(append: Pick<Append, "rows" | "inbox" | "retries" | "due">): Promise<AppendResult> {
    const { log, fold } = this.#parts;
    return log.append({ ...append, ...this.fence, expected_seq: fold.throughSeq });
  }

  /** Takes in what was appended; gives the last row. */
  #fold(rows: readonly LogRow[]): LogRow | undefined {
    const { fold } = this.#parts;
    for (const row of rows) {
      // What an earlier commit wrote, whose answer was lost, may be in here already.
      if (row.seq > fold.throughSeq) fold.apply(row);
    }
    this.#logHash = rows.at(-1)?.hash ?? this.#logHash;
    return rows.at(-1);
  }
}

/** Whether the write came too late: the room is somebody else's. */
export function isLost(fault: unknown): boolean {
  return fault instanceof RoomtapError && fault.code === "lease_lost";
}
