import { clientLimits } from "./options.ts";
import { isJson, type Json, type WireEvent } from "./wire.ts";

/** How a client came to a session, and comes back to it. */
export interface Join {
  readonly method: "session.resume" | "session.activate" | "session.attach";
  readonly params: Json;
}

/** A session that this client is attached to, or was and comes back to. */
export interface Joined {
  /** Runtime id: what its events say. */
  readonly sessionId: string;
  /** Durable id; null while it is not known. */
  readonly storedId: string | null;
  /** Attached by `session.attach`, in this role; null for the owner's principal. */
  readonly role: string | null;
  /** The highest number handed out, of the epoch that the table is in; null when none is known in it. */
  readonly seq: number | null;
}

interface Entry {
  sessionId: string;
  /** Runtime ids that it had before, the latest last. */
  formerIds: readonly string[];
  storedId: string | null;
  role: string | null;
  seq: number | null;
  /** Frames that wait until the session is up to date; null when none wait. */
  parked: WireEvent[] | null;
  /** More waited than may: what was parked has gone, and only a snapshot makes the session whole. */
  overflowed: boolean;
}

/**
 * Which sessions a client follows and how far: one epoch for all of them, so that a number is never compared with another
 * life's. It decides of each frame whether it is handed out, waits, or is a double. Pure but for its own state.
 */
export class SessionTable {
  readonly #entries = new Map<string, Entry>();
  readonly #maxParked: number;
  #epoch: string | null = null;

  constructor(maxParked: number = clientLimits.maxParkedFrames) {
    this.#maxParked = maxParked;
  }

  /** All sessions, in the order in which they were joined. */
  get joined(): readonly Joined[] {
    return [...this.#entries.values()];
  }

  /** The life of the server that all numbers belong to; null before the first. */
  get epoch(): string | null {
    return this.#epoch;
  }

  /** The session of this runtime or durable id. */
  find(id: string): Joined | undefined {
    return this.#entry(id);
  }

  /** Enters the life of a server. When it is another one than before, every number is forgotten, and true returned. */
  enterEpoch(epoch: string): boolean {
    const isNew = this.#epoch !== null && this.#epoch !== epoch;
    this.#epoch = epoch;
    if (!isNew) return false;
    for (const entry of this.#entries.values()) {
      entry.seq = null;
      // Nobody can say which life they are of; a snapshot covers them.
      if (entry.parked !== null) entry.parked = [];
    }
    return true;
  }

  /** Takes note of a reply that attached this client: to a new session, or again to one it knows under another id. */
  join(method: string, params: Json, result: unknown): Joined | undefined {
    const reply = isJson(result) ? result : {};
    const sessionId = textOf(reply["session_id"]) ?? textOf(params["session_id"]);
    if (sessionId === null) return undefined;
    const storedId = textOf(reply["stored_session_id"]);
    const known = this.#entry(sessionId) ?? (storedId === null ? undefined : this.#entry(storedId));
    const entry = known ?? newEntry(sessionId);
    if (entry.sessionId !== sessionId) {
      this.#entries.delete(entry.sessionId);
      entry.formerIds = [...entry.formerIds, entry.sessionId].slice(-clientLimits.maxFormerIds);
      entry.sessionId = sessionId;
    }
    entry.storedId = storedId ?? entry.storedId;
    if (method !== "prompt.submit")
      entry.role = method === "session.attach" ? (textOf(reply["role"]) ?? "viewer") : null;
    // With `last_seen` the frames up to the head follow the reply; without it the snapshot covers them.
    const latest_seq = method === "session.create" ? 0 : reply["latest_seq"];
    if (typeof latest_seq === "number" && typeof params["last_seen"] !== "number") {
      entry.seq = Math.max(entry.seq ?? 0, latest_seq);
    }
    this.#entries.set(sessionId, entry);
    return entry;
  }

  /** The session is left, or gone: frames of it are followed no more. */
  leave(id: string): void {
    const entry = this.#entry(id);
    if (entry !== undefined) this.#entries.delete(entry.sessionId);
  }

  /** From now on frames of the session wait. */
  park(sessionId: string): void {
    const entry = this.#entries.get(sessionId);
    if (entry === undefined) return;
    entry.parked = [];
    entry.overflowed = false;
  }

  /** Whether frames of the session wait. */
  isParked(sessionId: string): boolean {
    return (this.#entries.get(sessionId)?.parked ?? null) !== null;
  }

  /** Whether so many frames waited that they were let go. */
  hasOverflowed(sessionId: string): boolean {
    return this.#entries.get(sessionId)?.overflowed ?? false;
  }

  /** What becomes of a live frame: handed out now, kept for later, or dropped because its number was handed out before. */
  take(event: WireEvent): "now" | "later" | "double" {
    const entry = event.session_id === undefined ? undefined : this.#entries.get(event.session_id);
    if (entry === undefined) return "now";
    if (entry.parked === null) return this.#pass(entry, event) ? "now" : "double";
    if (entry.parked.length >= this.#maxParked) {
      entry.parked = [];
      entry.overflowed = true;
    }
    if (!entry.overflowed) entry.parked.push(event);
    return "later";
  }

  /** The replayed frames that were not handed out yet, in order. */
  replay(sessionId: string, events: readonly WireEvent[]): readonly WireEvent[] {
    const entry = this.#entries.get(sessionId);
    return entry === undefined ? [] : events.filter((event) => this.#pass(entry, event));
  }

  /** Ends the waiting: the frames that waited and were not handed out yet, in order. */
  release(sessionId: string): readonly WireEvent[] {
    const entry = this.#entries.get(sessionId);
    const parked = entry?.parked ?? [];
    if (entry === undefined) return [];
    entry.parked = null;
    return parked.filter((event) => this.#pass(entry, event));
  }

  #pass(entry: Entry, { seq }: WireEvent): boolean {
    if (seq === undefined) return false;
    if (entry.seq !== null && seq <= entry.seq) return false;
    entry.seq = seq;
    return true;
  }

  #entry(id: string): Entry | undefined {
    const entry = this.#entries.get(id);
    if (entry !== undefined) return entry;
    return [...this.#entries.values()].find(({ storedId, formerIds }) => storedId === id || formerIds.includes(id));
  }
}

function newEntry(sessionId: string): Entry {
  return { sessionId, formerIds: [], storedId: null, role: null, seq: null, parked: null, overflowed: false };
}

/**
 * The call that attaches again. Within an epoch the runtime id still leads to the session, and `last_seen` makes the missing
 * frames follow; in a new one, or when a snapshot is wanted, only the durable id does. null when the session cannot be named.
 */
export function joinOf({ sessionId, storedId, role, seq }: Joined, wanted: "replay" | "snapshot"): Join | null {
  const after = wanted === "replay" && seq !== null ? { last_seen: seq } : {};
  const id = storedId ?? (seq === null ? null : sessionId);
  if (id === null) return null;
  if (role !== null) return { method: "session.attach", params: { session_id: id, role, ...after } };
  if (storedId !== null) return { method: "session.resume", params: { session_id: storedId, ...after } };
  return { method: "session.activate", params: { session_id: id, ...after } };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
