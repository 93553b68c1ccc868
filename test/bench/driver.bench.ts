import { mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock, systemIds, Tap, type ActivityEvent, type Runner } from "../../core/index.ts";
import { openSqliteLog, RoomHost, type SqliteRoomLog } from "../../rooms/index.ts";
import { atMost, holds, median, medianRatio, round, sideBySide, type BenchResult } from "./measure.ts";

/** A database holds 256 rooms, so the largest case is a process with two of them; the small one is made the same way. */
const hostsPerCase = 2;
const handles = ["a", "b", "c"] as const;
const rounds = 5;

/** Answers in the same tick, with what a short answer of an agent sends. */
const scripted: Runner = {
  kind: "bench",
  async run(turn) {
    turn.emit({ type: "tool.start", payload: { tool_id: "t1", name: "read_file" } });
    turn.emit({ type: "tool.complete", payload: { tool_id: "t1", outcome: "ok" } });
    for (const text of ["What ", "I ", "found ", "is ", "this."])
      turn.emit({ type: "message.delta", payload: { text } });
    return { status: "completed" };
  },
  close: async () => undefined,
};

interface OpenHost {
  readonly host: RoomHost;
  readonly log: SqliteRoomLog;
}

/** Rooms over two hosts of one process, each on a database of its own. */
class Case {
  readonly #hosts: OpenHost[] = [];
  readonly #acceptedAt = new Map<string, number>();
  /** Ms from `accepted` to the first `turn.started` of the post, of all rounds. */
  readonly waits: number[] = [];
  peakBytes = 0;
  #settled = 0;
  #posts = 0;

  async open(folder: string, roomCount: number): Promise<this> {
    for (let index = 0; index < hostsPerCase; index++) {
      const log = await openSqliteLog({ file: join(folder, `${roomCount}-${index}.db`), clock: systemClock });
      const activity = { listening: true, push: (event: ActivityEvent) => this.#saw(event) };
      const rooms = Array.from({ length: roomCount / hostsPerCase }, (_, number) => ({
        room_id: `host-${index}-room-${number}`,
        members: handles.map((handle) => ({ handle, runner: scripted })),
        policy: { maxRounds: 1, maxOwedPasses: 0 },
      }));
      const parts = { log, tap: new Tap({ activity }), clock: systemClock, ids: systemIds, report: () => undefined };
      this.#hosts.push({ host: await RoomHost.open({ ...parts, rooms }), log });
    }
    return this;
  }

  /** A post to every room at once. Gives ms per turn, once all of them have settled. */
  async turns(): Promise<number> {
    const before = this.#settled;
    const text = `what is new? ${++this.#posts}`;
    const begin = performance.now();
    const rooms = this.#hosts.flatMap(({ host }) => host.rooms);
    await Promise.all(
      rooms.map(async (room) => {
        await room.post({ text });
        this.#acceptedAt.set(room.record.room_id, performance.now());
      }),
    );
    await Promise.all(this.#hosts.map(({ host }) => host.quiet()));
    const turns = this.#settled - before;
    if (turns !== rooms.length * handles.length) throw new Error(`expected a turn of every member, got ${turns}`);
    return (performance.now() - begin) / turns;
  }

  /** Whether every room has a start and a settle for each turn, and nothing waits. */
  async isWhole(): Promise<boolean> {
    for (const { host, log } of this.#hosts) {
      for (const { record } of host.rooms) {
        const input = await log.planInput(record.room_id);
        if (input?.inbox.length !== 0 || input.head.seq !== this.#posts * handles.length * 2) return false;
      }
    }
    return true;
  }

  async close(): Promise<void> {
    for (const { host, log } of this.#hosts) {
      await host.close();
      await log.close();
    }
  }

  #saw({ kind, coordinates }: ActivityEvent): void {
    if (kind === "turn.settled") {
      this.#settled++;
      if (this.#settled % 16 === 0) this.peakBytes = Math.max(this.peakBytes, process.memoryUsage.rss());
    }
    if (kind !== "turn.started") return;
    const roomId = coordinates?.room_id ?? "";
    const acceptedAt = this.#acceptedAt.get(roomId);
    this.#acceptedAt.delete(roomId);
    if (acceptedAt !== undefined) this.waits.push(performance.now() - acceptedAt);
  }
}

function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Writes beside the sources, because the system's folder for temporary files may lie in memory. */
export async function run(): Promise<BenchResult> {
  const folder = mkdtempSync(join(dirname(fileURLToPath(import.meta.url)), ".tmp-driver-"));
  try {
    const few = await new Case().open(folder, 50);
    const many = await new Case().open(folder, 500);
    const times = await sideBySide({ few: () => few.turns(), many: () => many.turns() }, rounds);
    const whole = (await few.isWhole()) && (await many.isWhole());
    const rowOf = (rooms: number, { waits }: Case, samples: readonly number[]) => ({
      rooms,
      turns_per_s: round(1_000 / median(samples)),
      ms_per_turn: round(median(samples)),
      p99_accepted_to_started_ms: round(percentile(waits, 0.99)),
    });
    // Of the whole process: both cases are open side by side.
    const peak_memory_mb = Math.round(many.peakBytes / 1_048_576);
    const rows = [rowOf(50, few, times.few), { ...rowOf(500, many, times.many), peak_memory_mb }];
    await few.close();
    await many.close();
    return {
      rows,
      gates: [
        holds("every turn has its two rows, and nothing waits", whole),
        // No limit of its own: with the tolerance, the time may grow by 1.3.
        atMost("time per turn, 500 rooms / 50 rooms", medianRatio(times.many, times.few), 1),
      ],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
