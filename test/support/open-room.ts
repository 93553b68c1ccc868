import { onTestFinished } from "vitest";
import {
  countingIds,
  createRedactor,
  systemIds,
  Tap,
  type ActivityEvent,
  type ActivityKind,
  type EventOf,
  type ManualClock,
  type Notice,
  type OpenRequest,
  type Runner,
} from "../../core/index.ts";
import { Observers } from "../../observers/index.ts";
import {
  openSqliteLog,
  RoomHost,
  type LogRow,
  type MemberDefinition,
  type Quota,
  type Room,
  type RoomDefinition,
  type SqliteRoomLog,
} from "../../rooms/index.ts";
import { loopClock } from "./open-log.ts";
import { turnsOfLoop } from "./turns-of-loop.ts";

export { HeldRunner, runnerOf, says, type HeldTurn } from "./held-runner.ts";
export { until } from "./turns-of-loop.ts";

/** The invented secret of the cases, registered with the redactor of every host here. */
export const secret = "tok_EXAMPLE_0123456789abcdef";

/** A member with this handle. */
export const member = (handle: string, runner: Runner | null): MemberDefinition => ({ handle, runner });

/** A room whose members all have one runner. */
export const roomOf = (runner: Runner, handles: readonly string[] = ["a"], room_id = "r1"): RoomDefinition => ({
  room_id,
  members: handles.map((handle) => member(handle, runner)),
});

export interface HostOptions {
  readonly rooms: readonly RoomDefinition[];
  /** Default `:memory:`. */
  readonly file?: string;
  readonly clock?: ManualClock;
  readonly quota?: Quota;
  readonly maxConcurrentTurns?: number;
  readonly stopGraceMs?: number;
  readonly turnDeadlineMs?: number;
  readonly leaseTtlMs?: number;
  /** In place of the file: one that the test opened itself, on the same clock. */
  readonly log?: SqliteRoomLog;
  readonly onRequest?: (request: OpenRequest, tap: Tap) => void;
}

/** Nobody speaks twice to one post, unless a test says so. */
const oneRound = { maxRounds: 1, maxOwedPasses: 0 };

/** A host on manual time and real turns of the event loop, watched by one consumer that is granted everything. */
export class TestHost {
  readonly clock: ManualClock;
  readonly log: SqliteRoomLog;
  readonly tap: Tap;
  readonly events: ActivityEvent[] = [];
  readonly notices: Notice[] = [];
  readonly #observers: Observers;
  #host: RoomHost | null = null;
  #closing: Promise<void> | null = null;

  private constructor(log: SqliteRoomLog, clock: ManualClock, onRequest: HostOptions["onRequest"]) {
    this.log = log;
    this.clock = clock;
    this.#observers = new Observers({ clock, report: (notice) => this.notices.push(notice) });
    this.#observers.observe({
      id: "test",
      grants: ["reasoning", "approvals", "full"],
      payload: "full",
      maxEvents: 100_000,
      handler: (event) => void this.events.push(event),
    });
    this.tap = new Tap({
      clock,
      ids: countingIds(),
      redactor: createRedactor({ literals: [secret] }),
      activity: this.#observers,
      report: (notice) => this.notices.push(notice),
    });
    this.tap.requests.on("opened", (request) => onRequest?.(request, this.tap));
  }

  /** Closed with the test. */
  static async open(options: HostOptions): Promise<TestHost> {
    const { file = ":memory:", clock = loopClock(), quota, onRequest } = options;
    const log = options.log ?? (await openSqliteLog({ file, clock, quota }));
    onTestFinished(() => log.close());
    const test = new TestHost(log, clock, onRequest);
    const { maxConcurrentTurns, stopGraceMs, turnDeadlineMs, leaseTtlMs } = options;
    const report = (notice: Notice): void => void test.notices.push(notice);
    const rooms = options.rooms.map((room) => ({ policy: oneRound, ...room }));
    const bounds = { maxConcurrentTurns, stopGraceMs, turnDeadlineMs, leaseTtlMs };
    test.#host = await RoomHost.open({ log, tap: test.tap, clock, ids: systemIds, report, rooms, ...bounds });
    onTestFinished(() => test.close());
    return test;
  }

  get host(): RoomHost {
    if (this.#host === null) throw new TypeError("not open");
    return this.#host;
  }

  /** The first room. */
  get room(): Room {
    return this.host.room(this.host.rooms[0]?.record.room_id ?? "");
  }

  /** Waits until nothing moves and every event has been delivered. */
  async quiet(): Promise<void> {
    await this.host.quiet();
    await this.delivered();
  }

  async delivered(): Promise<void> {
    await this.#observers.drain(1_000);
  }

  /** All rows of a room. */
  async rows(roomId = this.room.record.room_id): Promise<readonly LogRow[]> {
    const rows: LogRow[] = [];
    for (;;) {
      const page = await this.log.read(roomId, { after_seq: rows.length });
      rows.push(...page.rows);
      if (!page.has_more) return rows;
    }
  }

  /** A word per row: `started m-a message`, `settled m-a completed`. */
  async told(roomId?: string): Promise<readonly string[]> {
    return (await this.rows(roomId)).map((row) =>
      row.kind === "turn.started"
        ? `started ${row.member_id} ${row.payload.cause}`
        : `settled ${row.member_id} ${row.payload.reason_code ?? row.payload.status}`,
    );
  }

  /** Events of one kind that were delivered. */
  of<Kind extends ActivityKind>(kind: Kind): readonly EventOf<Kind>[] {
    return this.events.filter((event): event is ActivityEvent & EventOf<Kind> => event.kind === kind);
  }

  kinds(): readonly ActivityKind[] {
    return this.events.map((event) => event.kind);
  }

  /** Moves time in steps, with turns of the event loop between. */
  async pass(ms: number, stepMs = 25): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      await turnsOfLoop(2);
      this.clock.advance(stepMs);
    }
    await turnsOfLoop(2);
  }

  /** Closes rooms and log, as a process that ends; time goes on until that is done. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    let closed = false;
    const close = async (): Promise<void> => {
      await this.host.close(0);
      await this.delivered();
      await this.log.close();
    };
    const closing = close().finally(() => (closed = true));
    while (!closed) {
      await turnsOfLoop(1);
      this.clock.advance(25);
    }
    await closing;
  }
}
