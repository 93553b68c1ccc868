import { RoomtapError } from "../core/index.ts";
import type { RoomFold } from "./fold.ts";
import { loadRoom } from "./load-room.ts";
import type { RoomPolicy } from "./policy.ts";
import { planOf, type RoomLook } from "./room-look.ts";
import type { PlanInput } from "./room-reader.ts";
import type { HostParts } from "./tenure-parts.ts";

/**
 * Reads a room that this process does not drive: folds what its log says, and goes on from there when it is asked again.
 * What runs elsewhere is known by its rows alone: not what it asks and which tools it uses.
 */
export class RoomFollower {
  readonly #roomId: string;
  readonly #policy: RoomPolicy;
  readonly #host: Pick<HostParts, "log" | "clock">;
  #fold: RoomFold | null = null;
  #steps: Promise<unknown> = Promise.resolve();

  constructor(roomId: string, policy: RoomPolicy, host: Pick<HostParts, "log" | "clock">) {
    this.#roomId = roomId;
    this.#policy = policy;
    this.#host = host;
  }

  /**
   * The room as it is now, as `of` sees it.
   * @throws RoomtapError `unknown_room`, `log_corrupt`, and what the log throws
   */
  look<Result>(of: (look: RoomLook) => Result): Promise<Result> {
    const result = this.#steps.then(async () => of(await this.#look()));
    this.#steps = result.catch(() => undefined);
    return result;
  }

  async #look(): Promise<RoomLook> {
    const { log, clock } = this.#host;
    const fold = (this.#fold ??= await this.#load());
    const input = await log.planInput(this.#roomId);
    if (input === undefined) throw new RoomtapError("unknown_room", `there is no room ${this.#roomId}`);
    await this.#catchUp(fold, input);
    const state = fold.state();
    const rows = { log, roomId: this.#roomId };
    const { plan, due } = await planOf({ rows, input, state, policy: this.#policy, runs: [], now: clock.now() });
    return { input, state, plan, dueWaiting: due.waiting, runs: [] };
  }

  async #load(): Promise<RoomFold> {
    const { fold, damage } = await loadRoom(this.#host.log, this.#roomId, this.#host.clock);
    if (damage !== null) throw damage;
    return fold;
  }

  /** Up to the head that was read with the rest, and no further: all is of one instant. */
  async #catchUp(fold: RoomFold, { head }: PlanInput): Promise<void> {
    while (fold.throughSeq < head.seq) {
      const limit = head.seq - fold.throughSeq;
      const { rows } = await this.#host.log.read(this.#roomId, { after_seq: fold.throughSeq, limit });
      if (rows.length === 0) return;
      for (const row of rows) fold.apply(row);
    }
  }
}
