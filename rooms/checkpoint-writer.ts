import { messageOf, RoomtapError } from "../core/index.ts";
import { toStored } from "./checkpoint.ts";
import type { LoadedRoom } from "./load-room.ts";
import type { RoomLog } from "./log.ts";
import type { RoomWriter } from "./room-writer.ts";
import type { TenureParts } from "./tenure-parts.ts";

/** Rows after which the folded state is stored, so that the next start reads only what follows. */
const rowsPerCheckpoint = 256;

/** Stores the folded state of a room under one lease. It is a cache: what hinders it is told and harms nothing. */
export class CheckpointWriter {
  readonly #log: RoomLog;
  readonly #told: Pick<TenureParts, "onLost" | "report">;
  #throughSeq: number;

  constructor(log: RoomLog, { checkpoint }: LoadedRoom, told: Pick<TenureParts, "onLost" | "report">) {
    this.#log = log;
    this.#told = told;
    this.#throughSeq = "through_seq" in checkpoint ? checkpoint.through_seq : 0;
  }

  /** Whether enough rows have come since it was stored last. */
  isDue(seq: number): boolean {
    return seq - this.#throughSeq >= rowsPerCheckpoint;
  }

  /** Without effect when no row has come since it was stored last. */
  async store({ state, logHash, fence }: Pick<RoomWriter, "state" | "logHash" | "fence">): Promise<void> {
    if (state.through_seq === this.#throughSeq) return;
    this.#throughSeq = state.through_seq;
    try {
      const { status } = await this.#log.putCheckpoint({ ...toStored(state, logHash), ...fence });
      if (status === "lease_lost") this.#told.onLost();
    } catch (fault) {
      const code = fault instanceof RoomtapError ? fault.code : "internal";
      this.#told.report(code, `its checkpoint was not stored: ${messageOf(fault)}`, fault);
    }
  }
}
