/** A process, so that another one on the same machine can prove that it is gone. */
export interface ProcessMark {
  /** Of the machine's present boot; "" where it cannot be told. */
  readonly boot_id: string;
  /** Of the pid namespace; "" where it cannot be told. */
  readonly pid_namespace: string;
  readonly pid: number;
  /** Clock ticks since boot; "" where it cannot be told. */
  readonly started: string;
}

/** Who may write a room. No wall time in it: nothing is compared between two clocks. */
export interface LeaseRow {
  readonly room_id: string;
  /** + 1 at each claim. 0: never claimed. */
  readonly generation: number;
  /** Random per host; "" when it was never claimed. */
  readonly holder: string;
  /** + 1 at each renewal. */
  readonly renewal: number;
  /** Nobody holds it: it was given back, or never claimed. */
  readonly released: boolean;
  readonly process: ProcessMark | null;
}

/** What a change of a room is done under: the caller's lease. */
export interface Fenced {
  readonly room_id: string;
  readonly lease_generation: number;
}

/**
 * The caller has no lease of the room: another one claimed it, or it was given back. It must stop what it runs and write
 * nothing more.
 */
export interface LeaseLost {
  readonly status: "lease_lost";
  readonly message: string;
  /** The room's present generation; 0 when nobody ever claimed it. */
  readonly generation: number;
}

/** One writer per room (I10). */
export interface RoomLeases {
  lease(roomId: string): Promise<LeaseRow>;
  /**
   * Claims the room: generation + 1, if the lease is still as `seen` (generation and renewal). Whether a held lease may
   * be claimed is the caller's to decide.
   * @throws RoomtapError `unknown_room`
   */
  claimLease(claim: {
    readonly seen: LeaseRow;
    readonly holder: string;
    readonly process: ProcessMark;
  }): Promise<
    { readonly status: "claimed"; readonly lease: LeaseRow } | { readonly status: "changed"; readonly lease: LeaseRow }
  >;
  /** Renews all of a host's leases in one transaction. Gives the rooms whose lease it no longer is. */
  renewLeases(
    held: readonly { readonly room_id: string; readonly generation: number }[],
    holder: string,
  ): Promise<readonly string[]>;
  /** Gives the lease back; of an old generation it changes nothing. */
  releaseLease(roomId: string, generation: number, holder: string): Promise<boolean>;
}
