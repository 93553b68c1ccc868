import { z } from "zod";
import { canonicalJson, digest } from "./canonical-json.ts";
import { foldStateSchema, foldStateVersion } from "./fold-state-schema.ts";
import type { FoldState } from "./fold-state.ts";
import { zeroHash } from "./log-row.ts";
import type { StoredCheckpoint } from "./room-reader.ts";

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

/** A checkpoint as it is kept. @param logHash hash of the row that `state` ends at */
export function toStored(state: FoldState, logHash: string): StoredCheckpoint {
  return {
    version: foldStateVersion,
    through_seq: state.through_seq,
    log_hash: logHash,
    digest: digest(state),
    state: canonicalJson(state),
  };
}

/** Why a stored checkpoint is not used. */
export type IgnoredReason =
  | "none"
  /** It, or the state in it, is not what was stored: cut off, or written by something else. */
  | "unreadable"
  /** Of a format that this version does not write. */
  | "unknown_version"
  | "other_room"
  /** It ends behind the last row of the log. */
  | "ahead"
  /** The row that it ends at has another hash: it was folded from another log. */
  | "log_hash"
  /** The state has another digest than it was stored with. */
  | "digest";

/** A state to fold on from, or why there is none: then the log is folded from its first row. */
export type StoredReading =
  | { readonly status: "used"; readonly state: FoldState }
  | { readonly status: "ignored"; readonly reason: IgnoredReason };

const storedSchema = z.looseObject({
  version: z.int(),
  through_seq: z.int().min(0),
  log_hash: z.string(),
  digest: z.string(),
  state: z.string(),
});

/**
 * Reads a stored checkpoint. It is a cache and never trusted over the log: it is used only if all of it is as it was
 * stored and the log still has the row that it ends at.
 * @param log.hashAt the hash of a row of the room's log; undefined above its head. Asked at most once
 */
export async function readStored(
  raw: unknown,
  log: { readonly room_id: string; readonly hashAt: (seq: number) => Promise<string | undefined> | string | undefined },
): Promise<StoredReading> {
  if (raw === undefined || raw === null) return ignored("none");
  const stored = storedSchema.safeParse(raw);
  if (!stored.success) return ignored("unreadable");
  const { version, through_seq, log_hash } = stored.data;
  if (version !== foldStateVersion) return ignored("unknown_version");
  const { state, digest: stateDigest } = parseState(stored.data.state) ?? {};
  if (state?.through_seq !== through_seq) return ignored("unreadable");
  if (state.room_id !== log.room_id) return ignored("other_room");
  const hash = through_seq === 0 ? zeroHash : await log.hashAt(through_seq);
  if (hash === undefined) return ignored("ahead");
  if (hash !== log_hash) return ignored("log_hash");
  if (stateDigest !== stored.data.digest) return ignored("digest");
  return { status: "used", state };
}

function ignored(reason: IgnoredReason): StoredReading {
  return { status: "ignored", reason };
}

function parseState(text: string): { readonly state: FoldState; readonly digest: string } | undefined {
  try {
    const state = foldStateSchema.parse(JSON.parse(text));
    return { state, digest: digest(state) };
  } catch {
    // No JSON, no state, or text that has no digest: cut off, or overwritten.
    return undefined;
  }
}
