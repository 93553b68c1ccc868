import {
  activityKinds,
  Attempt,
  consumerDefaults,
  coordinatesText,
  envelopeBytes,
  estimateBytes,
  kindIndex,
  makeCoordinates,
  messageOf,
  noRedaction,
  RoomtapError,
  SessionRegistry,
  type ActivityEvent,
  type ActivityKind,
  type Coordinates,
} from "../../core/index.ts";
import { Observers, type BatchOutcome, type ConsumerOptions, type Subscription } from "../../observers/index.ts";
import { Gate } from "./gate.ts";

/** Bounds that no handler gets more than, so that a test comes to them soon. */
export interface TestBounds {
  readonly maxEvents?: number | undefined;
  /** At least 16 KiB. */
  readonly maxBytes?: number | undefined;
}

/** A call of a handler that threw or rejected. */
export interface HandlerFault {
  /** `demo#1`: the plugin's id, and the place of the handler among its registrations. */
  readonly consumer: string;
  /** The kind of the event, of the first one in a batch. */
  readonly kind: string;
  readonly message: string;
}

interface Registered {
  readonly id: string;
  readonly kinds: readonly string[];
  readonly rooms: readonly string[] | undefined;
  readonly grants: readonly string[];
  readonly isMeta: boolean;
  readonly call: (events: readonly ActivityEvent[]) => unknown;
}

type AnyHandler = (given: unknown) => unknown;

/** Whose a consumer is. */
const pluginOf = (consumer: string): string => consumer.slice(0, consumer.lastIndexOf("#"));

/**
 * Observers whose handlers can be held up, have small bounds, and are handed events that no turn of this process made:
 * recorded ones, and such as should not come.
 */
export class TestObservers extends Observers {
  /** Calls that threw or rejected, oldest first; the first 1,000. */
  readonly faults: HandlerFault[] = [];
  /** Ids of consumers in the order in which they were undone; the last 1,000. */
  readonly undone: string[] = [];
  readonly #bounds: TestBounds;
  readonly #gates = new Map<string, Gate>();
  readonly #registered = new Map<string, Registered>();
  readonly #sessions = new SessionRegistry();
  readonly #attempts = new Map<string, Attempt>();
  #refusedFrom = Infinity;
  #calls = 0;

  constructor(parts: NonNullable<ConstructorParameters<typeof Observers>[0]> & { readonly bounds: TestBounds }) {
    super(parts);
    this.#bounds = parts.bounds;
  }

  /** Calls of handlers so far. */
  get calls(): number {
    return this.#calls;
  }

  /** Ids of the consumers that a plugin has now. */
  consumersOf(plugin: string): readonly string[] {
    return [...this.#registered.keys()].filter((id) => pluginOf(id) === plugin);
  }

  /** Ids of all consumers whose calls are not held up. */
  get running(): readonly string[] {
    return [...this.#registered.keys()].filter((id) => !this.gate(pluginOf(id)).isClosed);
  }

  /** Where the calls of a plugin's handlers are held up. */
  gate(plugin: string): Gate {
    const known = this.#gates.get(plugin);
    if (known !== undefined) return known;
    const gate = new Gate();
    this.#gates.set(plugin, gate);
    return gate;
  }

  /** Refuses the registration that is a plugin's `place`-th, and those behind it; Infinity: none. */
  refuseFrom(place: number): void {
    this.#refusedFrom = place;
  }

  override observe(options: ConsumerOptions): Subscription {
    const { id } = options;
    const place = Number(id.slice(id.lastIndexOf("#") + 1));
    if (place >= this.#refusedFrom) throw new RoomtapError("invalid_params", `consumer ${id}: the test refuses it`);
    const handler = options.handler as AnyHandler;
    const gate = this.gate(pluginOf(id));
    const call: AnyHandler = (given) => gate.pass(() => this.#call(id, handler, given));
    const held = { ...options, ...this.#bounded(options), handler: call } as ConsumerOptions;
    const subscription = super.observe(held);
    const isBatch = options.batch !== undefined;
    this.#registered.set(id, {
      id,
      kinds: options.kinds ?? activityKinds,
      rooms: options.rooms,
      grants: options.grants ?? [],
      isMeta: options.payload === "meta",
      call: isBatch ? call : ([event]) => call(event),
    });
    const dispose = (): void => {
      subscription.dispose();
      if (!this.#registered.delete(id)) return;
      this.undone.push(id);
      if (this.undone.length > 1_000) this.undone.shift();
    };
    return { ...subscription, dispose };
  }

  /** Puts an event into the queues as it is, as if an attempt with its coordinates had told it. */
  feed(event: ActivityEvent): void {
    const kind = kindIndex.get(event.kind);
    if (kind === undefined || event.coordinates === null) return;
    const attempt = this.#attemptOf(makeCoordinates(event.coordinates));
    const told = { ...event, coordinates: attempt.coordinates } as ActivityEvent;
    this.push(told, attempt, kind, envelopeBytes + estimateBytes(event.payload));
  }

  /**
   * Calls the handlers that would be told of the event, past their queues: for what no queue of this version carries. Who
   * is granted less than the event has is left out. To be called when nothing is on its way.
   * @returns how many were called
   */
  async hand(event: ActivityEvent | { readonly kind: string }): Promise<number> {
    const told = Object.freeze({ ...event }) as ActivityEvent;
    const to = [...this.#registered.values()].filter((each) => wants(each, told));
    for (const { call } of to) {
      try {
        await call([told]);
      } catch {
        // It stands in `faults`.
      }
    }
    return to.length;
  }

  #call(id: string, handler: AnyHandler, given: unknown): unknown {
    this.#calls++;
    let result: unknown;
    try {
      result = handler(given);
    } catch (fault) {
      this.#note(id, given, messageOf(fault));
      throw fault;
    }
    const isAwaited = typeof result === "object" && result !== null && "then" in result;
    return isAwaited ? this.#awaited(id, result as PromiseLike<unknown>, given) : this.#judged(id, result, given);
  }

  async #awaited(id: string, result: PromiseLike<unknown>, given: unknown): Promise<unknown> {
    try {
      return this.#judged(id, await result, given);
    } catch (fault) {
      this.#note(id, given, messageOf(fault));
      throw fault;
    }
  }

  /** Of a handler further on, in a worker, the outcome of its batch says how it failed. */
  #judged(id: string, result: unknown, given: unknown): unknown {
    const { failures } = (Array.isArray(given) ? (result ?? {}) : {}) as BatchOutcome;
    if ((failures?.thrown ?? 0) + (failures?.rejected ?? 0) > 0)
      this.#note(id, given, failures?.message ?? "it failed");
    return result;
  }

  #note(consumer: string, given: unknown, message: string): void {
    const event = (Array.isArray(given) ? given[0] : given) as { readonly kind?: unknown } | undefined;
    if (this.faults.length < 1_000) this.faults.push({ consumer, kind: String(event?.kind), message });
  }

  #bounded({ maxEvents, maxBytes, maxEventBytes }: ConsumerOptions): Partial<ConsumerOptions> {
    const most = this.#bounds.maxBytes ?? Infinity;
    const bytes = Math.min(maxBytes ?? consumerDefaults.maxBytes, most);
    return {
      maxEvents: Math.min(maxEvents ?? consumerDefaults.maxEvents, this.#bounds.maxEvents ?? Infinity),
      maxBytes: bytes,
      ...(maxEventBytes === undefined ? {} : { maxEventBytes: Math.min(maxEventBytes, bytes) }),
    };
  }

  /** One per coordinates, as it is in life; the oldest are forgotten. */
  #attemptOf(coordinates: Coordinates): Attempt {
    const key = coordinatesText(coordinates);
    const known = this.#attempts.get(key);
    if (known !== undefined) return known;
    const session = this.#sessions.open(`recorded-${coordinates.member_id}`, { roomPlumbing: true });
    const attempt = new Attempt(coordinates, session, null, noRedaction);
    this.#attempts.set(key, attempt);
    const [oldest] = this.#attempts.keys();
    if (this.#attempts.size > 1_024 && oldest !== undefined) this.#attempts.delete(oldest);
    return attempt;
  }
}

/** Whether a handler asked for such events. Of a kind that this version does not know its pattern would say so. */
function wants({ kinds, rooms, grants, isMeta }: Registered, { kind, coordinates }: ActivityEvent): boolean {
  if (kind === "gap") return true;
  const room = (coordinates as Coordinates | null | undefined)?.room_id;
  if (rooms !== undefined && !rooms.includes(String(room))) return false;
  const word: string = kind;
  const family = `${word.split(".")[0]}.`;
  if (family === "reasoning." && !grants.includes("reasoning")) return false;
  if (isMeta || (family === "request." && !grants.includes("approvals"))) return false;
  if (kindIndex.has(word as ActivityKind)) return kinds.includes(word);
  const siblings = activityKinds.filter((each) => each.startsWith(family));
  return (siblings.length > 0 ? siblings : activityKinds).every((each) => kinds.includes(each));
}
