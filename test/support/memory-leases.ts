import type { ManualClock } from "../../core/index.ts";
import type { LeaseRow, ProcessMark, RoomLeases } from "../../rooms/lease-row.ts";

/** Leases in memory, with the rules of the contract: what hosts that share a database share. */
export class MemoryLeases implements RoomLeases {
  readonly #rows = new Map<string, LeaseRow>();
  /** How often all leases of a host were renewed, and how often each lease was looked at. */
  renewals = 0;
  looks = 0;
  /** Set: what the database throws. */
  fault: Error | null = null;

  lease(roomId: string): Promise<LeaseRow> {
    this.looks++;
    return this.#answer(() => this.row(roomId));
  }

  claimLease({ seen, holder, process }: Parameters<RoomLeases["claimLease"]>[0]): ReturnType<RoomLeases["claimLease"]> {
    return this.#answer(() => {
      const lease = this.row(seen.room_id);
      if (lease.generation !== seen.generation || lease.renewal !== seen.renewal) return { status: "changed", lease };
      return { status: "claimed", lease: this.#put({ ...lease, ...claimed(lease, holder, process) }) };
    });
  }

  renewLeases(
    held: readonly { readonly room_id: string; readonly generation: number }[],
    holder: string,
  ): Promise<readonly string[]> {
    this.renewals++;
    return this.#answer(() =>
      held.flatMap(({ room_id, generation }) => {
        const lease = this.row(room_id);
        if (!isOf(lease, generation, holder)) return room_id;
        this.#put({ ...lease, renewal: lease.renewal + 1 });
        return [];
      }),
    );
  }

  releaseLease(roomId: string, generation: number, holder: string): Promise<boolean> {
    return this.#answer(() => {
      const lease = this.row(roomId);
      if (!isOf(lease, generation, holder)) return false;
      this.#put({ ...lease, released: true });
      return true;
    });
  }

  /** The row as it is now. */
  row(roomId: string): LeaseRow {
    const none = { room_id: roomId, generation: 0, holder: "", renewal: 0, released: true, process: null };
    return this.#rows.get(roomId) ?? none;
  }

  #put(lease: LeaseRow): LeaseRow {
    this.#rows.set(lease.room_id, lease);
    return lease;
  }

  async #answer<Result>(make: () => Result): Promise<Result> {
    await Promise.resolve();
    if (this.fault !== null) throw this.fault;
    return make();
  }
}

function claimed(lease: LeaseRow, holder: string, process: ProcessMark): Partial<LeaseRow> {
  return { generation: lease.generation + 1, renewal: 0, holder, process, released: false };
}

function isOf(lease: LeaseRow, generation: number, holder: string): boolean {
  return lease.generation === generation && lease.holder === holder && !lease.released;
}

/** Lets what was begun go as far as it can without time. */
export async function flush(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}

/** Lets time go by on the clocks, all alike and in small steps. */
export async function pass(ms: number, ...clocks: readonly ManualClock[]): Promise<void> {
  await flush();
  for (let left = ms; left > 0; left -= 100) {
    for (const clock of clocks) {
      clock.advance(Math.min(left, 100));
      await flush();
    }
  }
}
