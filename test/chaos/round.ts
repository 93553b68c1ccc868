import { systemClock } from "../../core/index.ts";
import { openSqliteLog, verifyLog, type SqliteRoomLog } from "../../rooms/index.ts";
import { preparePostInput } from "../../rooms/post.ts";
import { Signal } from "../../core/index.ts";
import type { ProcessPool } from "./chaos-process.ts";
import { leaseTtlMs, roomIds } from "./chaos-room.ts";
import { findFaults } from "./checks.ts";
import { finishRound } from "./clean-host.ts";
import { Dice } from "./dice.ts";
import { pointNames, pointOf, type PointName } from "./fault-points.ts";
import { Journal, readJournal, type Entry } from "./journal.ts";
import { actionsOf, postOf, type Order } from "./order.ts";

/** A process that lives for longer hangs. */
const patienceMs = 30_000;

/** How long a process stands still: longer than its leases are believed in. */
const stallMs = 1.5 * leaseTtlMs;

/** With so many kills, nobody who dies is followed by another. */
const maxKills = 3;

/** The parent posts once in so many lines that it hears, so often a round. */
const linesPerPost = 4;
const maxPosts = 6;

export interface RoundParts {
  /** Names the round; of everything that chance decides in it. */
  readonly name: string;
  readonly dice: Dice;
  readonly pool: ProcessPool;
  /** Of the database; the journal stands beside it. */
  readonly file: string;
  /** The next points to die at. */
  readonly draw: () => PointName;
}

/** What happened in a round. */
export interface RoundResult {
  readonly kills: number;
  /** Posts that were answered `accepted`. */
  readonly messages: number;
  /** Points at which a process died. */
  readonly reached: readonly PointName[];
  readonly faults: readonly string[];
}

/** Two hosts on one database, killed and replaced while posts come in; then a clean host, and all that must hold then. */
export class Round {
  readonly #parts: RoundParts;
  readonly #journalFile: string;
  readonly #journal: Journal;
  readonly #faults: string[] = [];
  #log: Promise<SqliteRoomLog> | undefined;
  #posting: Promise<void> = Promise.resolve();
  #isOpen = false;
  #lines = 0;
  #posts = 0;
  #kills = 0;

  constructor(parts: RoundParts) {
    this.#parts = parts;
    this.#journalFile = `${parts.file}.journal`;
    this.#journal = new Journal(this.#journalFile);
  }

  async play(): Promise<RoundResult> {
    const before = this.#entries().length;
    await this.#crash();
    const { name, dice } = this.#parts;
    const log = await this.#open();
    try {
      for await (const { room_id, problem } of verifyLog(log, systemClock)) {
        if (problem !== null) this.#faults.push(`verify ${room_id} behind the crash: ${problem.message}`);
      }
      this.#faults.push(...(await finishRound(log, this.#journal, `${name}-clean`)));
      this.#faults.push(...(await findFaults(log, this.#entries(), dice)));
    } finally {
      await log.close();
      this.#journal.close();
    }
    const entries = this.#entries().slice(before);
    return {
      kills: this.#kills,
      messages: entries.filter(({ kind }) => kind === "accepted").length,
      reached: entries.flatMap((entry) => (entry.kind === "at" ? entry.point : [])),
      faults: this.#faults,
    };
  }

  /** All that was noted since the database was made. */
  #entries(): readonly Entry[] {
    return readJournal(this.#journalFile);
  }

  /** Two lines of processes, side by side or the second one waiting for the leases of the first. */
  async #crash(): Promise<void> {
    const { name, dice, draw } = this.#parts;
    const drawn = draw();
    const { needs } = pointOf(drawn);
    // Recovery is come to only behind a crash in mid-turn.
    const isRecovery = needs === "crash_before";
    const first = isRecovery ? "turn.middle" : drawn;
    const second = isRecovery ? drawn : dice.oneIn(4) ? null : draw();
    const isTogether = dice.oneIn(3) && needs !== "new_file" && !isRecovery;
    const opened = new Signal();
    const life = this.#live(`${name}-a`, first, opened.fire);
    if (!isTogether) await opened.fired;
    await Promise.all([life, this.#live(`${name}-b`, second)]);
    await this.#posting;
  }

  /**
   * The life of one process, and of the one that may follow it. Chance is its own, so that what happens to it does not
   * depend on who was faster.
   */
  async #live(name: string, point: PointName | null, onOpen: () => void = () => undefined): Promise<void> {
    const dice = new Dice(`${name} life`);
    const process = this.#parts.pool.take();
    // Without a point of its own it is killed at whatever it does then.
    const lastLine = point === null ? dice.between(1, 40) : Infinity;
    const stallLine = dice.oneIn(8) ? dice.between(1, 10) : Infinity;
    let lines = 0;
    const stopTimer = systemClock.after(patienceMs, () => {
      this.#faults.push(`process ${name} did not come to an end (${point})`);
      process.kill();
    });
    const ending = await process.carryOut(this.#order(name, point, dice), (line) => {
      this.#heard(line, name);
      lines++;
      if (line === "ready") onOpen();
      if (lines === lastLine) process.kill();
      if (lines === stallLine) process.stall(stallMs);
    });
    stopTimer();
    onOpen();
    if (ending.how === "broken") this.#faults.push(`process ${name} (${point}): ${ending.message}`);
    if (ending.how !== "killed") return;
    this.#kills++;
    if (this.#kills < maxKills && dice.oneIn(2)) {
      await this.#live(`${name}:next`, dice.oneIn(2) ? null : dice.pick(pointNames));
    }
  }

  #order(name: string, point: PointName | null, dice: Dice): Order {
    const { name: conductSeed, file } = this.#parts;
    const { needs, times = 1 } = point === null ? { needs: undefined } : pointOf(point);
    const fatal = point === null ? null : { point, visit: dice.between(1, times) };
    const actions = actionsOf(dice, name, needs);
    return { name, file, journal: this.#journalFile, seed: name, conductSeed, fatal, actions };
  }

  /** Between what the hosts do, the parent posts, as a third process. */
  #heard(line: string, name: string): void {
    if (line.startsWith("notice ")) this.#faults.push(`process ${name}: ${line}`);
    if (line === "ready") this.#isOpen = true;
    if (!this.#isOpen || ++this.#lines % linesPerPost !== 0 || this.#posts >= maxPosts) return;
    const event_id = `${this.#parts.name}-parent-${++this.#posts}`;
    this.#posting = this.#posting.then(() => this.#post(event_id)).catch((fault) => void this.#faults.push(`${fault}`));
  }

  async #post(event_id: string): Promise<void> {
    const dice = new Dice(event_id);
    const log = await this.#open();
    const room_id = dice.pick(roomIds);
    const room = await log.room(room_id);
    if (room === undefined) return;
    const { post } = preparePostInput({ ...postOf(dice, event_id), author: { kind: "person", id: "q" } }, room);
    const result = await log.accept(post);
    if (result.status !== "accepted") throw new Error(`a post was answered ${result.status}`);
    const { message_id, owed } = result.post;
    this.#journal.note({ kind: "accepted", room_id, message_id, addressed: owed });
  }

  /** Not before a host has: the first one to open a new file is to make it. */
  #open(): Promise<SqliteRoomLog> {
    const { file } = this.#parts;
    this.#log ??= openSqliteLog({ file, clock: systemClock, busyTimeoutMs: 20_000 });
    return this.#log;
  }
}
