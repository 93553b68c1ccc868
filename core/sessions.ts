import { systemIds, type IdSource } from "./clock.ts";
import type { Execution } from "./execution.ts";
import { limits } from "./options.ts";

/**
 * Where turns run. Everything that outlives a change of the runtime id (numbers, the turn that runs, who is attached) hangs on
 * this record and never on an id.
 */
export class Session {
  readonly durableId: string;
  /** A hidden session of a room member: no client is ever attached to it. */
  readonly roomPlumbing: boolean;
  /** What frames name. */
  runtimeId: string;
  /** The present runtime id and the former ones that still lead here, oldest first. */
  readonly runtimeIds: string[];
  /** The last frame's number. */
  seq: number;
  /** What runs on it, from the claim to the last frame of its turn. */
  running: Execution | null = null;
  /** Whether a driver holds it: it is not forgotten then. */
  isOpen = false;

  /** @param seq its first frame is numbered above it */
  constructor(durableId: string, runtimeId: string, roomPlumbing: boolean, seq = 0) {
    this.durableId = durableId;
    this.runtimeId = runtimeId;
    this.runtimeIds = [runtimeId];
    this.roomPlumbing = roomPlumbing;
    this.seq = seq;
  }
}

/**
 * Known sessions by durable and by runtime id: at most 65,536. At the bound the one that was opened longest ago, is held by
 * no driver and runs nothing is forgotten. New sessions are numbered above every forgotten one, itself included when it
 * comes back: no number is given twice in an epoch, whatever a client remembers.
 */
export class SessionRegistry {
  /** The numbering identity of every `seq`: one per process life. */
  readonly epoch: string;
  readonly #ids: IdSource;
  readonly #durable = new Map<string, Session>();
  readonly #runtime = new Map<string, Session>();
  /** The highest number of any forgotten session. */
  #forgottenSeq = 0;

  constructor(ids: IdSource = systemIds) {
    this.#ids = ids;
    this.epoch = ids.hex(16);
  }

  get size(): number {
    return this.#durable.size;
  }

  /** The session of this durable id, made if it is not known. */
  open(durableId: string, options: { readonly roomPlumbing: boolean }): Session {
    const known = this.#durable.get(durableId);
    if (known !== undefined) {
      // Moved to the end: the order of the map is the order of use.
      this.#durable.delete(durableId);
      this.#durable.set(durableId, known);
      return known;
    }
    if (this.#durable.size >= limits.maxSessions) this.#forgetOne();
    const session = new Session(durableId, this.#newRuntimeId(), options.roomPlumbing, this.#forgottenSeq);
    this.#durable.set(durableId, session);
    this.#runtime.set(session.runtimeId, session);
    return session;
  }

  /** The session that a frame's `session_id` names, by its present runtime id or one of its aliases. */
  byRuntimeId(id: string): Session | undefined {
    return this.#runtime.get(id);
  }

  /** The session of this durable id, if it is known. */
  byDurableId(durableId: string): Session | undefined {
    return this.#durable.get(durableId);
  }

  /** Gives the session a new runtime id; the last 63 before it stay aliases, and `seq` goes on. */
  renew(session: Session): string {
    session.runtimeId = this.#newRuntimeId();
    this.#runtime.set(session.runtimeId, session);
    session.runtimeIds.push(session.runtimeId);
    if (session.runtimeIds.length > limits.maxRuntimeIds) this.#runtime.delete(session.runtimeIds.shift() ?? "");
    return session.runtimeId;
  }

  #newRuntimeId(): string {
    return `s-${this.#ids.hex(8)}`;
  }

  #forgetOne(): void {
    for (const [durableId, session] of this.#durable) {
      if (session.running !== null || session.isOpen) continue;
      this.#forgottenSeq = Math.max(this.#forgottenSeq, session.seq);
      this.#durable.delete(durableId);
      for (const id of session.runtimeIds) this.#runtime.delete(id);
      return;
    }
  }
}
