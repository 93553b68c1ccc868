import { digest } from "./canonical-json.ts";
import type { FoldState } from "./fold-state.ts";

/** A folded state, told apart from every other by its digest, and bound to the log it was folded from. */
export interface Checkpoint {
  readonly state: FoldState;
  /** SHA-256 over the canonical JSON of `state`, 64 hex. Equal for two runs of one script, whatever their times. */
  readonly digest: string;
  /** Hash of the row at `state.through_seq`; 64 zeros for an empty log. */
  readonly log_hash: string;
}

/** @param logHash hash of the row that `state` ends at */
export function checkpointOf(state: FoldState, logHash: string): Checkpoint {
  return { state, digest: digest(state), log_hash: logHash };
}
