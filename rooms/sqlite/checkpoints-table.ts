import type { StoredCheckpoint } from "../room-reader.ts";
import type { SqliteDatabase } from "./database.ts";

/** Statements over stored checkpoints. Each is synchronous; the caller holds the transaction. */
export class CheckpointsTable {
  readonly #checkpoint;
  readonly #put;

  constructor(database: SqliteDatabase) {
    this.#checkpoint = database.prepare<[string], StoredCheckpoint>(
      "SELECT version, through_seq, log_hash, digest, state FROM checkpoints WHERE room_id = ?",
    );
    this.#put = database.prepare<[string, number, number, string, string, string]>(
      "INSERT OR REPLACE INTO checkpoints (room_id, version, through_seq, log_hash, digest, state)" +
        " VALUES (?, ?, ?, ?, ?, ?)",
    );
  }

  /** As it is stored: whether it is one that can be used is the reader's to find out. */
  checkpoint(roomId: string): StoredCheckpoint | undefined {
    return this.#checkpoint.get(roomId);
  }

  put(roomId: string, { version, through_seq, log_hash, digest, state }: StoredCheckpoint): void {
    this.#put.run(roomId, version, through_seq, log_hash, digest, state);
  }
}
