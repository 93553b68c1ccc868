import { onTestFinished } from "vitest";
import {
  Client,
  countingIds,
  createRedactor,
  FanOut,
  Mailbox,
  manualClock,
  Seam,
  SessionRegistry,
  type Encoding,
  type Execution,
  type Frame,
  type JsonObject,
  type ManualClock,
  type MayReceive,
  type Notice,
  type Outlet,
  type ReplayBounds,
  type Scope,
  type Session,
  type WriteResult,
} from "../../core/index.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** One JSON text per line. */
export const lines: Encoding = (text) => encoder.encode(`${text}\n`);

/** A transport that takes what it is given when it is told to, or at once. */
export class TestOutlet implements Outlet {
  /** False: a write is confirmed by `drain` alone. */
  isReading: boolean;
  /** Each write as its text. */
  readonly writes: string[] = [];
  readonly closes: (readonly [code: number, reason: string])[] = [];
  readonly #waiting: (() => void)[] = [];

  constructor(isReading: boolean) {
    this.isReading = isReading;
  }

  write(pieces: readonly Uint8Array[], done: () => void): void {
    this.writes.push(pieces.map((piece) => decoder.decode(piece)).join(""));
    if (this.isReading) done();
    else this.#waiting.push(done);
  }

  close(code: number, reason: string): void {
    this.closes.push([code, reason]);
  }

  /** Confirms what was written. */
  drain(): void {
    for (const done of this.#waiting.splice(0)) done();
  }

  /** Each line that was written, parsed. */
  get frames(): readonly Frame[] {
    return this.lines.map((line) => JSON.parse(line) as Frame);
  }

  get lines(): readonly string[] {
    return this.writes
      .join("")
      .split("\n")
      .filter((line) => line !== "");
  }

  /** The number of each event that was written; null for what has none. */
  get seqs(): readonly (number | null)[] {
    return this.frames.map((frame) => ("id" in frame ? null : (frame.params?.seq ?? null)));
  }
}

export interface Watcher {
  readonly client: Client;
  readonly outlet: TestOutlet;
}

export interface WireOptions {
  readonly replay?: ReplayBounds;
  readonly mayReceive?: MayReceive;
}

/** A seam, its fan-out and clients without sockets, on a clock that stands still. */
export class Wire {
  readonly clock: ManualClock = manualClock();
  readonly sessions = new SessionRegistry(countingIds());
  readonly notices: Notice[] = [];
  readonly seam: Seam;
  readonly fanOut: FanOut;
  #clients = 0;

  constructor(options: WireOptions = {}) {
    const { clock, sessions } = this;
    this.seam = new Seam({
      clock,
      sessions,
      redactor: createRedactor(),
      activity: { listening: false, push: () => undefined },
      report: (notice) => void this.notices.push(notice),
    });
    this.fanOut = new FanOut({
      seam: this.seam,
      clock,
      mayReceive: options.mayReceive ?? (() => true),
      ...(options.replay === undefined ? {} : { replay: options.replay }),
    });
  }

  session(durableId = "D"): Session {
    return this.sessions.open(durableId, { roomPlumbing: false });
  }

  /** A connection, attached to the sessions from their heads on. */
  connect(
    options: { readonly reads?: boolean; readonly to?: readonly Session[]; readonly scopes?: readonly Scope[] } = {},
  ): Watcher {
    const outlet = new TestOutlet(options.reads ?? true);
    const client: Client = new Client({
      origin: `c-${++this.#clients}`,
      principal: "local",
      scopes: options.scopes ?? ["admin"],
      mailbox: new Mailbox({
        outlet,
        encoding: lines,
        clock: this.clock,
        onOverflow: () => void this.fanOut.disconnect(client),
      }),
    });
    this.fanOut.connect(client);
    for (const session of options.to ?? []) this.fanOut.attach(client, session, { after: session.seq });
    return { client, outlet };
  }

  /** Writes an event of a session, or of none, as the host does. */
  write(session: Session | null, type: string, payload?: JsonObject, execution?: Execution): WriteResult {
    const named = session === null ? {} : { session_id: session.runtimeId };
    return this.seam.writeJson({ jsonrpc: "2.0", method: "event", params: { type, ...named, payload } }, execution);
  }

  /** Writes `count` small events. */
  burst(session: Session, count: number): void {
    for (let k = 0; k < count; k++) this.write(session, "status.update", { text: "x" });
  }

  /** Lets the event loop turn until nothing is left to do. */
  turn(): void {
    while (this.clock.tick() > 0);
  }
}

/** A wire that is closed when the test ends. */
export function openWire(options: WireOptions = {}): Wire {
  const wire = new Wire(options);
  onTestFinished(() => wire.fanOut.close());
  return wire;
}

/** 1, 2, ... or `from`, ..., `last`. */
export function numbers(from: number, last: number): readonly number[] {
  return Array.from({ length: last - from + 1 }, (_, index) => from + index);
}
