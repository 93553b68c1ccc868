import type { Ready } from "./link.ts";
import type { PatientCall } from "./patient-call.ts";
import type { ClientClock } from "./platform.ts";
import type { RequestTable } from "./requests.ts";
import { restoreSessions, type Resync } from "./restore.ts";
import { SessionTable } from "./sessions.ts";
import { isJson, type Json, type WireEvent } from "./wire.ts";

/** What a keeper of sessions needs of its client. */
export interface KeeperParts {
  readonly requests: RequestTable;
  readonly clock: ClientClock;
  readonly handOut: (event: WireEvent) => void;
  readonly resync: (resync: Resync) => void;
  readonly problem: (code: string, message: string, cause?: unknown) => void;
}

/** Calls after which this client is attached to a session. */
const joins: ReadonlySet<string> = new Set([
  "session.create",
  "session.resume",
  "session.activate",
  "session.attach",
  "prompt.submit",
]);

/** Why a session is not to be joined again. After `shutdown` it is: the server comes back. */
const finalReasons: ReadonlySet<unknown> = new Set(["owner_left", "idle_timeout", "lru_evict", "ws_orphan_reap"]);

/** The sessions of a client: learns from replies which they are, and brings them up to date on each new connection. */
export class SessionKeeper {
  readonly #parts: KeeperParts;
  readonly #table = new SessionTable();
  /** The calls of the connection that stands; null while none does. */
  #call: PatientCall | null = null;
  /** Resolves when what lost its number in the middle of a connection has been read anew. */
  #regained: Promise<void> = Promise.resolve();

  constructor(parts: KeeperParts) {
    this.#parts = parts;
  }

  /** The present runtime id of a session that is known by `id`, an older runtime id or the durable one. */
  runtimeIdOf(id: string): string {
    return this.#table.find(id)?.sessionId ?? id;
  }

  /** A connection stands. Resolves when every session is up to date; rejects with a `LinkError` when it ends before. */
  async onReady(ready: Ready, call: PatientCall): Promise<void> {
    this.#call = call;
    this.#parts.requests.connected();
    if (this.#table.enterEpoch(ready.epoch)) this.#parts.requests.endAll();
    await this.#restore(call, ready.resumed);
    await this.#regained;
  }

  /** The connection ended. */
  onDown(): void {
    this.#call = null;
  }

  /** An event of the connection that stands: handed out now, or later, or never again. */
  onEvent(event: WireEvent): void {
    const { type, payload } = event;
    this.#parts.requests.onEvent(event);
    if (type === "session.detached" || (type === "session.reclaimed" && finalReasons.has(payload?.["reason"]))) {
      if (typeof payload?.["session_id"] === "string") this.#table.leave(payload["session_id"]);
    }
    if (this.#table.take(event) === "now") this.#parts.handOut(event);
  }

  /** Takes note of what a reply says of sessions. Called with every result, before the next frame is looked at. */
  note(method: string, params: Json, result: unknown): void {
    if (!isJson(result)) return;
    const { epoch } = result;
    const isSessions = method.startsWith("session.");
    const isNewLife = isSessions && typeof epoch === "string" && this.#table.enterEpoch(epoch);
    if (isNewLife) this.#parts.requests.endAll();
    if (joins.has(method)) this.#table.join(method, params, result);
    if (left(method, params, result) && typeof params["session_id"] === "string")
      this.#table.leave(params["session_id"]);
    const sessionId = result["session_id"] ?? params["session_id"];
    if (isSessions && typeof sessionId === "string") {
      this.#parts.requests.listed(this.runtimeIdOf(sessionId), result["open_requests"]);
    }
    if (isNewLife) this.#regain();
  }

  /**
   * After a reply that a caller waits for: frames of a session that it joined wait until the caller has seen the reply, so
   * that it can take the snapshot first.
   */
  holdUntilSeen(method: string, result: unknown): void {
    const sessionId = isJson(result) ? result["session_id"] : undefined;
    if (!joins.has(method) || typeof sessionId !== "string" || this.#table.isParked(sessionId)) return;
    const call = this.#call;
    this.#table.park(sessionId);
    this.#parts.clock.after(0, () => {
      if (call === this.#call) for (const event of this.#table.release(sessionId)) this.#parts.handOut(event);
    });
  }

  /** A reply told of another life of the server: what has lost its number is read anew. */
  #regain(): void {
    const call = this.#call;
    if (call === null) return;
    this.#regained = this.#restore(call, false, (seq) => seq === null).catch(() => {
      // The connection ended: the next one reads it.
    });
  }

  #restore(call: PatientCall, resumed: boolean, which: (seq: number | null) => boolean = () => true): Promise<void> {
    const { requests: _, clock: __, handOut, ...told } = this.#parts;
    const parts = {
      ...told,
      table: this.#table,
      call,
      handOut: (events: readonly WireEvent[]) => {
        for (const event of events) handOut(event);
      },
    };
    const sessions = this.#table.joined.filter(({ seq }) => which(seq));
    return restoreSessions(parts, sessions, resumed);
  }
}

/** Whether the call took this client out of the session that it named. */
function left(method: string, params: Json, result: Json): boolean {
  if (method === "session.close") return result["closed"] === true;
  return method === "session.detach" && result["detached"] === true && params["client_id"] === undefined;
}
