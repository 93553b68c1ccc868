import {
  called,
  createEmitter,
  messageOf,
  type Called,
  type Clock,
  type Emitter,
  type LiveSession,
  type Refused,
  type Report,
  type Session,
  type SessionEnd,
  type SessionHost,
  type Tap,
  type Undo,
  type Visibility,
} from "../core/index.ts";
import { OwnerGrace } from "./owner-grace.ts";
import { SeatPlaces } from "./seat-places.ts";
import { SessionSeats, type Revoked, type RosterEntry, type Sitter } from "./session-seats.ts";
import {
  denial,
  judgeAttach,
  roleUnder,
  type Caller,
  type ObserverRole,
  type Role,
  type Stance,
  type Standing,
} from "./sharing.ts";

/** What it is made of. */
export interface SeatedSessionsParts {
  readonly sessions: SessionHost;
  readonly tap: Tap;
  readonly clock: Clock;
  readonly report: Report;
  /** How long a session outlives the last connection of its owner. Default 60,000 ms. */
  readonly ownerGraceMs: number;
  /** Whether who asks to attach to a private session is told that there is none. */
  readonly concealPrivate: boolean;
}

/** Why an observer is told that it is not attached any more. */
export type DetachReason = "visibility" | "detached_by_owner";

/** What listeners are told, in the step in which it happens. */
export interface SeatEvents extends Record<string, unknown> {
  /** From now on nothing of the session may reach the client. */
  readonly dropped: { readonly session: Session; readonly client_id: string; readonly reason: DetachReason };
  /** From now on it only views: what waits for it and is not for viewers is to be taken out. */
  readonly demoted: { readonly session: Session; readonly client_id: string };
  /** The session was closed; who was attached is still known, and is not when this was told. */
  readonly closed: { readonly live: LiveSession; readonly runtimeId: string; readonly reason: SessionEnd };
}

/** What a client held when it went. */
export interface Held {
  readonly session: Session;
  readonly role: Role;
}

/**
 * How a client went. `lost`: its owner may come back within the grace. `replaced`: its next connection comes in this step.
 * `ended`: its credential is no good any more, so nobody is waited for.
 */
export type Departure = "lost" | "replaced" | "ended";

/** Why those attached are told who is. */
type SharingCause = "attach" | "detach" | "visibility" | "owner_returned";

/** The seats of one life of a session. */
interface Seated {
  readonly live: LiveSession;
  readonly seats: SessionSeats;
}

/** What became of attaching: `changed` is another role at the same place. */
export interface Attached {
  readonly change: "attached" | "changed" | "already";
  readonly role: ObserverRole;
}

/**
 * Who is attached to the open sessions of a host, and as what. All that decides about a client in a session is asked here.
 * Whoever goes, by whatever way, leaves the session, its turn and the others as they are; only its owner ends it.
 */
export class SeatedSessions {
  readonly #parts: SeatedSessionsParts;
  readonly #grace: OwnerGrace;
  readonly #events: Emitter<SeatEvents>;
  /** Kept behind the end of a session, for its owner: its last frames are still to be given out. */
  readonly #seated = new WeakMap<Session, Seated>();
  readonly #places = new SeatPlaces();

  constructor(parts: SeatedSessionsParts) {
    const { sessions, clock, report } = parts;
    this.#parts = parts;
    this.#grace = new OwnerGrace(clock, sessions);
    this.#events = createEmitter((fault, name) => {
      const message = `a listener to seats failed at ${name}: ${messageOf(fault)}`;
      report({ code: "session_listener_threw", message, cause: fault });
    });
    sessions.on("opened", ({ live }) => this.#of(live));
    sessions.on("closed", ({ live, ...end }) => {
      this.#events.emit("closed", { live, ...end });
      this.#clear(live);
    });
  }

  /** Calls `listener` at each `name`. Undone by what it returns. */
  on<Name extends keyof SeatEvents & string>(name: Name, listener: (event: SeatEvents[Name]) => unknown): Undo {
    return this.#events.on(name, listener);
  }

  /** What somebody is in a session, one that was closed included. */
  standing(session: Session, sitter: Sitter): Standing {
    return this.#find(session)?.standingOf(sitter) ?? "none";
  }

  /** All that decides what a caller may do with a session; a closed one is nobody's but its owner's. */
  stance(session: Session, caller: Caller): Stance {
    const live = this.#parts.sessions.byStoredId(session.durableId);
    return {
      standing: this.standing(session, caller),
      visibility: live?.record.visibility ?? "private",
      scopes: caller.scopes,
      isBarred: this.#find(session)?.isBarred(caller.principal) ?? false,
    };
  }

  /** The owner first, then observers in order of attaching. */
  roster({ session }: LiveSession): readonly RosterEntry[] {
    return this.#find(session)?.roster ?? [];
  }

  /** Whether anybody but the owner is attached. */
  isObserved(session: Session): boolean {
    return (this.#find(session)?.observers.length ?? 0) > 0;
  }

  /** A connection of the owner is there. Gives what is then to be told, behind the reply to it. */
  seatOwner(live: LiveSession, { client_id }: Sitter): () => void {
    if (live.isClosed || !this.#of(live).seatOwner(client_id, this.#parts.clock.now())) return () => undefined;
    this.#places.add(client_id, live);
    const wasAway = this.#grace.end(live);
    return () => {
      if (wasAway && this.isObserved(live.session)) this.tell(live, "owner_returned");
    };
  }

  /** Attaches an observer, or gives it another role. Whoever asked tells it, when it has come about. */
  attach(live: LiveSession, caller: Caller, role: string): Attached | Refused {
    const { client_id } = caller;
    if (live.isClosed) return denial("unknown_session");
    const seats = this.#of(live);
    const stance = this.stance(live.session, caller);
    const { standing } = stance;
    const isBound = this.#places.of(client_id).some((other) => other !== live && this.#of(other).isBound(client_id));
    const observers = seats.observers.length;
    const { concealPrivate, clock } = this.#parts;
    const judged = judgeAttach({ ...stance, role, isBound, observers, concealPrivate });
    if (typeof judged !== "string") return judged;
    if (judged === standing) return { change: "already", role: judged };
    seats.seat(caller, judged, clock.now());
    this.#places.add(client_id, live);
    return { change: standing === "none" ? "attached" : "changed", role: judged };
  }

  /** Takes a client out that was attached and was told nothing. */
  unseat(live: LiveSession, clientId: string): Role | null {
    const role = this.#of(live).unseat(clientId);
    if (role !== null) this.#places.delete(clientId, live);
    return role;
  }

  /** An observer goes by itself. False when it is none there. */
  detach(live: LiveSession, clientId: string): boolean {
    const isObserver = this.#of(live).observers.some(({ client_id }) => client_id === clientId);
    if (isObserver) this.unseat(live, clientId);
    return isObserver;
  }

  /**
   * Sends an observer away. False when it is none there.
   * @param options.isBarred all of its principal go, and none of it comes back until the visibility is set anew
   */
  sendAway(live: LiveSession, clientId: string, options: { readonly isBarred: boolean }): boolean {
    const seats = this.#of(live);
    const seat = seats.observers.find(({ client_id }) => client_id === clientId);
    if (seat === undefined) return false;
    const gone = options.isBarred ? seats.bar(seat.principal) : [clientId];
    for (const client_id of gone) {
      seats.unseat(client_id);
      this.#drop(live, client_id, "detached_by_owner");
    }
    return true;
  }

  /** A client has gone; what it is attached to it leaves. Gives that, for its next connection. */
  leave(clientId: string, departure: Departure): readonly Held[] {
    return this.#places.of(clientId).flatMap((live) => {
      const { session } = live;
      const role = this.unseat(live, clientId);
      if (role === null) return [];
      if (role === "owner") this.#ownerLeft(live, departure);
      else this.tell(live, "detach");
      return [{ session, role }];
    });
  }

  /**
   * Opens a session to others, or closes it to them. It is saved, then enforced in one step: when this resolves nothing of
   * the session reaches who may not have it. Setting the same once more does nothing.
   * @throws RoomtapError what the store throws; nothing has changed then
   */
  async setVisibility(
    live: LiveSession,
    visibility: Visibility,
  ): Promise<Called<{ readonly visibility: Visibility; readonly revoked: readonly Revoked[] }>> {
    const enforced: { isNew: boolean; revoked: readonly Revoked[] } = { isNew: false, revoked: [] };
    const { begin } = await live.setVisibility(visibility, () => {
      const seats = this.#of(live);
      seats.unbar();
      enforced.isNew = true;
      enforced.revoked = seats.revoke((role) => roleUnder(visibility, role));
      for (const { client_id, to } of enforced.revoked) {
        if (to === null) this.#drop(live, client_id, "visibility");
        else this.#events.emit("demoted", { session: live.session, client_id });
      }
    });
    const { isNew, revoked } = enforced;
    return called(this.#parts.clock, { visibility, revoked }, () => {
      if (isNew) this.tell(live, "visibility");
      begin();
    });
  }

  /** Tells those attached who is. */
  tell(live: LiveSession, cause: SharingCause): void {
    const { session, record, isClosed } = live;
    if (isClosed) return;
    const observers = this.roster(live).map(({ client_id, role }) => ({ client_id, role }));
    const payload = { visibility: record.visibility, observers, cause };
    const params = { type: "session.sharing", session_id: session.runtimeId, payload };
    this.#parts.tap.seam.writeJson({ jsonrpc: "2.0", method: "event", params });
  }

  #ownerLeft(live: LiveSession, departure: Departure): void {
    const { sessions, ownerGraceMs } = this.#parts;
    if (live.isClosed || this.#of(live).owners > 0) return;
    if (departure === "ended") {
      void sessions.close(live, "owner_left");
      return;
    }
    const graceMs = live.record.close_on_disconnect ? 0 : ownerGraceMs;
    this.#grace.begin(live, graceMs, departure !== "replaced");
  }

  #drop(live: LiveSession, client_id: string, reason: DetachReason): void {
    this.#places.delete(client_id, live);
    this.#events.emit("dropped", { session: live.session, client_id, reason });
  }

  /** Of its present life, or of the last one behind its end. */
  #find(session: Session): SessionSeats | undefined {
    const known = this.#seated.get(session);
    const live = this.#parts.sessions.byStoredId(session.durableId);
    return live === undefined || live === known?.live ? known?.seats : this.#make(live);
  }

  #of(live: LiveSession): SessionSeats {
    return this.#find(live.session) ?? this.#make(live);
  }

  #make(live: LiveSession): SessionSeats {
    const seats = new SessionSeats(live.record.owner, live.record.created_at);
    this.#seated.set(live.session, { live, seats });
    return seats;
  }

  #clear(live: LiveSession): void {
    const seats = this.#of(live);
    for (const clientId of seats.clientIds) this.#places.delete(clientId, live);
    seats.clear();
  }
}
