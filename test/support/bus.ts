import { onTestFinished } from "vitest";
import {
  countingIds,
  createRedactor,
  makeCoordinates,
  manualClock,
  Tap,
  type ActivityEvent,
  type ActivityKind,
  type Attempt,
  type Coordinates,
  type Execution,
  type Frame,
  type JsonObject,
  type ManualClock,
  type Notice,
  type OpenRequest,
  type Redactor,
  type Session,
  type TurnSettled,
  type TurnSource,
  type TurnStarted,
  type WriteResult,
} from "../../core/index.ts";
import {
  Observers,
  type BatchConsumerOptions,
  type EventConsumerOptions,
  type Subscription,
} from "../../observers/index.ts";

/** The invented secret of the tests: 28 characters. */
export const secret = "tok_EXAMPLE_0123456789abcdef";

/** A consumer that keeps what it gets. */
export interface Watcher extends Subscription {
  readonly events: ActivityEvent[];
}

/** A consumer that keeps the batches that it gets. */
export interface BatchWatcher extends Subscription {
  readonly batches: (readonly ActivityEvent[])[];
}

export interface BusOptions {
  readonly redactor?: Redactor;
  readonly onRequest?: (request: OpenRequest) => void;
}

/** A tap and its observers on a clock that stands still. */
export class Bus {
  readonly clock: ManualClock = manualClock();
  readonly notices: Notice[] = [];
  readonly observers: Observers;
  readonly tap: Tap;
  readonly #subscriptions: Subscription[] = [];
  #turns = 0;

  constructor(options: BusOptions = {}) {
    const report = (notice: Notice): void => void this.notices.push(notice);
    this.observers = new Observers({ clock: this.clock, report });
    this.tap = new Tap({
      clock: this.clock,
      ids: countingIds(),
      redactor: options.redactor ?? createRedactor({ literals: [secret] }),
      activity: this.observers,
      report,
    });
    this.tap.requests.on("opened", (request) => options.onRequest?.(request));
  }

  /** Registers a consumer, all grants given unless said otherwise. */
  watch(options: Partial<EventConsumerOptions> = {}): Watcher {
    const events: ActivityEvent[] = [];
    const { handler } = options;
    const subscription = this.observers.observe({
      id: `w${this.#subscriptions.length + 1}`,
      grants: ["reasoning", "approvals", "full"],
      ...options,
      handler: (event) => {
        events.push(event);
        return handler?.(event);
      },
    });
    this.#subscriptions.push(subscription);
    return { ...subscription, events };
  }

  /** As `watch`, with batches: of up to 1,024 events unless said otherwise. */
  watchBatches(options: Partial<BatchConsumerOptions> = {}): BatchWatcher {
    const batches: (readonly ActivityEvent[])[] = [];
    const { handler } = options;
    const subscription = this.observers.observe({
      id: `w${this.#subscriptions.length + 1}`,
      grants: ["reasoning", "approvals", "full"],
      batch: 1_024,
      ...options,
      handler: (events) => {
        batches.push(events);
        return handler?.(events);
      },
    });
    this.#subscriptions.push(subscription);
    return { ...subscription, batches };
  }

  /** Begins an attempt, of a turn of its own unless the coordinates say otherwise; its `turn.started` is not told. */
  begin(fields: Partial<Coordinates> = {}, session?: string, origin = "c-origin"): Attempt {
    const turn = ++this.#turns;
    const member = fields.member_id ?? "m-planner";
    const coordinates = makeCoordinates({
      room_id: "r1",
      thread_id: "main",
      member_id: member,
      turn_id: `t-${turn}`,
      task_id: `k-${turn}`,
      execution_generation: 1,
      ...fields,
    });
    return this.tap.begin(coordinates, session ?? `session-${member}`, origin);
  }

  /** As `begin`, and tells that the turn started. */
  start(fields: Partial<Coordinates> = {}, session?: string): Attempt {
    const attempt = this.begin(fields, session);
    this.tap.started(attempt, startedPayload, { seq: 1, hash: "h1" });
    return attempt;
  }

  /** Claims a turn of an ordinary session, in the name of a connection unless a source is given. */
  claim(source: TurnSource | string = "c-a", session = "plain"): Execution {
    const named = typeof source === "string" ? ({ kind: "connection", socket_id: source } as const) : source;
    const plain = this.tap.sessions.open(session, { roomPlumbing: false });
    return this.tap.claim(plain, { id: `t-${++this.#turns}`, source: named });
  }

  /** Seals a claimed turn and writes its last frame. */
  complete(execution: Execution, payload: JsonObject = { text: "", status: "complete" }): WriteResult {
    this.tap.seal(execution, "interrupted");
    return this.tap.complete(execution, payload);
  }

  /** Writes an event of a session that belongs to no turn. */
  info({ runtimeId }: Session, payload: JsonObject = {}): WriteResult {
    const params = { type: "session.info", session_id: runtimeId, payload };
    return this.tap.seam.writeJson({ jsonrpc: "2.0", method: "event", params });
  }

  emit(execution: Execution, type: string, payload?: object): WriteResult {
    return this.tap.emit(execution, { type, payload: payload as { readonly [key: string]: unknown } });
  }

  delta(execution: Execution, text: string): WriteResult {
    return this.emit(execution, "message.delta", { text });
  }

  reason(execution: Execution, text: string): WriteResult {
    return this.emit(execution, "reasoning.delta", { text });
  }

  /** Seals the attempt and tells that it settled. */
  settle(attempt: Attempt, fields: Partial<TurnSettled> = {}): TurnSettled {
    const { activity_count, text } = this.tap.seal(attempt, "interrupted");
    const payload: TurnSettled = { ...settledPayload, text, activity_count, ...fields };
    this.tap.settled(attempt, payload, { seq: 2, hash: "h2" });
    return payload;
  }

  /** Lets the event loop turn until nothing is left to do, also for handlers that await. */
  async idle(): Promise<void> {
    for (let turns = 0; turns < 100_000; turns++) {
      const ran = this.clock.tick();
      await Promise.resolve();
      await Promise.resolve();
      await Promise.resolve();
      if (ran === 0 && this.clock.tick() === 0) return;
    }
    throw new Error("the bus does not come to rest");
  }

  close(): void {
    for (const subscription of this.#subscriptions) subscription.dispose();
  }
}

/** A bus that is closed when the test ends. */
export function openBus(options: BusOptions = {}): Bus {
  const bus = new Bus(options);
  onTestFinished(() => bus.close());
  return bus;
}

export const startedPayload: TurnStarted = {
  input: [{ message_id: "m1", author: { kind: "person", id: "ada" }, text: "hello" }],
  cause: "message",
  origin: "c-origin",
  seen_through_seq: 0,
  roster_digest: "d".repeat(64),
  discussion: { message_id: "m1", round: 0, slot: 0 },
};

export const settledPayload: TurnSettled = {
  status: "completed",
  reason_code: null,
  text: "",
  truncated: false,
  error: null,
  usage: null,
  activity_count: 1,
  duration_ms: 5,
};

/** Every frame that leaves, in order. */
export function tapFrames(bus: Bus, options: { readonly hidden?: boolean } = {}): Frame[] {
  const frames: Frame[] = [];
  bus.tap.seam.addFrameSink((frame) => void frames.push(frame), options);
  return frames;
}

export function kindsOf(events: readonly ActivityEvent[]): readonly ActivityKind[] {
  return events.map((event) => event.kind);
}

export function eventsOf<Kind extends ActivityKind>(
  events: readonly ActivityEvent[],
  kind: Kind,
): readonly Extract<ActivityEvent, { kind: Kind }>[] {
  return events.filter((event): event is Extract<ActivityEvent, { kind: Kind }> => event.kind === kind);
}

/** The text that a consumer puts together from deltas; null while a hole in it has not healed. */
export function textOf(events: readonly ActivityEvent[], kind: "message.delta" | "reasoning.delta"): string | null {
  let text: string | null = "";
  for (const { payload } of eventsOf(events, kind)) {
    if (payload.snapshot === true) text = payload.text;
    else if (text !== null && payload.offset === text.length) text += payload.text;
    else text = null;
  }
  return text;
}

/** Each `n` of one attempt's events in order, a merged range as its members, a gap's count as `?`. */
export function numbersOf(events: readonly ActivityEvent[]): readonly (number | "?")[] {
  return events.flatMap<number | "?">((event) => {
    if (event.kind === "gap")
      return Array.from({ length: event.payload.dropped + event.payload.withheld }, () => "?" as const);
    if (event.n === null) return [];
    const from = event.n_from ?? event.n;
    return Array.from({ length: event.n - from + 1 }, (_, index) => from + index);
  });
}

/** 1, 2, ... `last`. */
export function upTo(last: number): readonly number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}

/** A promise that the test settles. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}
