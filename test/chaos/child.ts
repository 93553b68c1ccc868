/**
 * A host in a process of its own that is to be killed. It reads one line from its stdin, an `Order`, and says a line on
 * its stdout for each fact that it notes in the journal, `ready` when its rooms are open, and `done` when it has closed
 * by itself. At the point of its order it kills itself, between two instructions.
 */
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { retryable, openSqliteLog, RoomHost, type Room } from "../../rooms/index.ts";
import { RoomtapError, systemClock, systemIds, Tap, type Notice, type Turn } from "../../core/index.ts";
import { chaosRooms, leaseTtlMs } from "./chaos-room.ts";
import { Dice } from "./dice.ts";
import { plantInDatabase, plantInLog, type PointName } from "./fault-points.ts";
import { Journal, type Entry } from "./journal.ts";
import type { Action, Order } from "./order.ts";
import { coordinatesOf } from "../support/turn-coordinates.ts";

const say = (line: string): void => void writeSync(1, `${line}\n`);
const pause = (ms: number): Promise<void> => new Promise((resolve) => void systemClock.after(ms, resolve));

/** How often an action is tried that only the holder of the lease may do, and how long between. */
const tries = 40;
const tryEveryMs = 25;

class Child {
  readonly #order: Order;
  readonly #journal: Journal;
  readonly #dice: Dice;
  #visits = 0;

  constructor(order: Order) {
    this.#order = order;
    this.#journal = new Journal(order.journal);
    this.#dice = new Dice(order.seed);
  }

  async run(): Promise<void> {
    const { file, actions } = this.#order;
    plantInDatabase((point) => this.#reach(point));
    const log = await openSqliteLog({ file, clock: systemClock, watchIntervalMs: 20, busyTimeoutMs: 20_000 });
    const planted = plantInLog(log, (point) => this.#reach(point));
    const tap = new Tap({ activity: { listening: false, push: () => undefined } });
    tap.requests.on("opened", ({ id }) => this.#answer(tap, id));
    const wild = { seed: this.#order.conductSeed, reach: (point: PointName) => this.#reach(point) };
    const rooms = chaosRooms({ onCall: (turn) => this.#called(turn), wild });
    const bounds = { leaseTtlMs, maxConcurrentTurns: 2, stopGraceMs: 20, turnDeadlineMs: 150 };
    const parts = {
      log: planted,
      tap,
      clock: systemClock,
      ids: systemIds,
      report: (notice: Notice) => this.#tell(notice),
    };
    const host = await RoomHost.open({ ...parts, rooms, ...bounds });
    say("ready");
    for (const action of actions) await this.#act(host, action);
    await host.close();
    await log.close();
    say("done");
  }

  /** Does not return from the fatal point. */
  #reach(point: PointName): void {
    const { fatal } = this.#order;
    if (fatal === null || point !== fatal.point || ++this.#visits < fatal.visit) return;
    this.#note({ kind: "at", point });
    process.kill(process.pid, "SIGKILL");
    // The signal is on its way: not one instruction more.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  }

  /** That a lease is lost is a part of the game. */
  #tell({ code, message }: Notice): void {
    if (code !== "lease_lost") say(`notice ${code} ${message.replaceAll("\n", " ")}`);
  }

  #note(entry: Entry): void {
    this.#journal.note(entry);
    say(entry.kind);
  }

  #called(turn: Turn): void {
    const { task_id, execution_generation } = coordinatesOf(turn);
    this.#note({ kind: "called", by: this.#order.name, task_id, execution_generation });
  }

  /** Some requests are answered after a while, some never. */
  #answer(tap: Tap, id: string): void {
    if (this.#dice.oneIn(4)) return;
    const choice = this.#dice.oneIn(3) ? "deny" : "once";
    systemClock.after(this.#dice.below(10), () => void tap.requests.answer(id, { choice }, null));
  }

  /** An action that this host may not do, or that has nothing to be done to, is left out. */
  async #act(host: RoomHost, action: Action): Promise<void> {
    if (action.do === "rest") return pause(action.ms);
    const room = host.room(action.room_id);
    const { do: what } = action;
    for (let left = action.isNeeded === true ? tries : 1; left > 0; left--) {
      try {
        if (await this.#carryOut(room, action)) return;
      } catch (fault) {
        if (!(fault instanceof RoomtapError) || !expected.includes(fault.code)) throw fault;
      }
      if (left > 1) await pause(tryEveryMs);
    }
    say(`left out ${what}`);
  }

  /** Whether there was anything to be done. */
  async #carryOut(room: Room, action: Exclude<Action, { do: "rest" }>): Promise<boolean> {
    const { room_id } = action;
    switch (action.do) {
      case "post": {
        const { message_id, addressed } = await room.post({ ...action.post, author: { kind: "person", id: "p" } });
        this.#note({ kind: "accepted", room_id, message_id, addressed });
        return true;
      }
      case "stop": {
        const { fence } = await room.stop();
        this.#note({ kind: "stopped", room_id, ...fence });
        return true;
      }
      case "pause":
        await room.pause([action.member_id]);
        return true;
      case "resume":
        await room.resume();
        return true;
      case "retry":
        return this.#retry(room);
      case "cancel": {
        if (!room.isDriven) return false;
        const waiting = (await room.state()).inbox.filter(({ state }) => state === "open");
        if (waiting.length === 0) return false;
        const { message_id } = this.#dice.pick(waiting);
        this.#note({ kind: "closed", message_id });
        await room.cancel({ messageId: message_id });
        return true;
      }
    }
  }

  async #retry(room: Room): Promise<boolean> {
    const { folded } = room;
    const tasks = folded.tasks.filter(({ task_id }) => retryable(folded, task_id) === "ok");
    if (tasks.length === 0 || !room.isDriven) return false;
    const { task_id, execution_generation } = this.#dice.pick(tasks);
    this.#note({ kind: "asked", task_id, execution_generation });
    await room.retry(task_id, { generation: execution_generation });
    return true;
  }
}

/** Another host drives the room, or what was to be acted on has moved on. */
const expected: readonly string[] = ["lease_lost", "task_open", "stale_generation", "not_retryable", "unknown_message"];

const lines = createInterface({ input: process.stdin });
for await (const line of lines) {
  await new Child(JSON.parse(line) as Order).run();
  break;
}
process.stdin.destroy();
