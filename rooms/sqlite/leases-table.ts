import { z } from "zod";
import type { LeaseRow, ProcessMark } from "../lease-row.ts";
import type { SqliteDatabase } from "./database.ts";
import { parseStored } from "./stored-json.ts";

const processSchema: z.ZodType<ProcessMark> = z.strictObject({
  boot_id: z.string(),
  pid_namespace: z.string(),
  pid: z.int(),
  started: z.string(),
});

interface RawLease {
  readonly generation: number;
  readonly holder: string;
  readonly renewal: number;
  readonly released: 0 | 1;
  readonly process: string;
}

/** Statements over leases. Each is synchronous; the caller holds the transaction. */
export class LeasesTable {
  readonly #lease;
  readonly #claim;
  readonly #renew;
  readonly #release;

  constructor(database: SqliteDatabase) {
    this.#lease = database.prepare<[string], RawLease>(
      "SELECT generation, holder, renewal, released, process FROM leases WHERE room_id = ?",
    );
    this.#claim = database.prepare<[string, number, string, string]>(
      "INSERT INTO leases (room_id, generation, holder, renewal, released, process) VALUES (?, ?, ?, 0, 0, ?)" +
        " ON CONFLICT (room_id) DO UPDATE SET generation = excluded.generation, holder = excluded.holder," +
        " renewal = 0, released = 0, process = excluded.process",
    );
    const held = "WHERE room_id = ? AND generation = ? AND holder = ? AND released = 0";
    this.#renew = database.prepare<[string, number, string]>(`UPDATE leases SET renewal = renewal + 1 ${held}`);
    this.#release = database.prepare<[string, number, string]>(`UPDATE leases SET released = 1 ${held}`);
  }

  lease(roomId: string): LeaseRow {
    const raw = this.#lease.get(roomId);
    if (raw === undefined) {
      return { room_id: roomId, generation: 0, holder: "", renewal: 0, released: true, process: null };
    }
    const mark = parseStored(processSchema, raw.process, `the lease of room ${roomId}`);
    return { room_id: roomId, ...raw, released: raw.released === 1, process: mark };
  }

  /** Gives the room to `holder`, whoever had it. */
  claim(lease: {
    readonly room_id: string;
    readonly generation: number;
    readonly holder: string;
    readonly process: ProcessMark;
  }): void {
    this.#claim.run(lease.room_id, lease.generation, lease.holder, JSON.stringify(lease.process));
  }

  /** Whether the lease was the holder's; otherwise nothing changed. */
  renew(roomId: string, generation: number, holder: string): boolean {
    return this.#renew.run(roomId, generation, holder).changes === 1;
  }

  /** Whether the lease was the holder's; otherwise nothing changed. */
  release(roomId: string, generation: number, holder: string): boolean {
    return this.#release.run(roomId, generation, holder).changes === 1;
  }
}
