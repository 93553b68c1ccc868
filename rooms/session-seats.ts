import { limits } from "../core/index.ts";
import type { Caller, ObserverRole, Role, Standing } from "./sharing.ts";

/** Somebody without what it holds. */
export type Sitter = Pick<Caller, "client_id" | "principal">;

/** One who is there, as those attached are told. */
export interface RosterEntry {
  /** Of the owner that of its oldest connection; while there is none, of the last one. */
  readonly client_id: string | null;
  readonly role: Role;
  /** 0 for an owner that is away. */
  readonly connections: number;
  /** Wall ms. */
  readonly since: number;
}

/** An observer that is attached. */
export interface Seat extends Sitter {
  readonly role: ObserverRole;
  /** Wall ms. */
  readonly since: number;
}

/** An observer whose role another visibility takes away; `to` null: it is sent away. */
export interface Revoked {
  readonly client_id: string;
  readonly from: ObserverRole;
  readonly to: ObserverRole | null;
}

/**
 * Who is attached to one open session: connections of its owner, oldest first, and observers in order of attaching. It
 * decides nothing. At most 64 principals that were sent away are remembered.
 */
export class SessionSeats {
  readonly owner: string;
  readonly #owners = new Map<string, number>();
  readonly #observers = new Map<string, Seat>();
  readonly #barred = new Set<string>();
  /** Shown while no connection of the owner is there. */
  #lastOwner: { readonly client_id: string | null; readonly since: number };

  /** @param since wall ms at which the session was made */
  constructor(owner: { readonly principal: string; readonly client_id: string | null }, since: number) {
    this.owner = owner.principal;
    this.#lastOwner = { client_id: owner.client_id, since };
  }

  /** Observers in order of attaching. */
  get observers(): readonly Seat[] {
    return [...this.#observers.values()];
  }

  /** Ids of all clients that are there. */
  get clientIds(): readonly string[] {
    return [...this.#owners.keys(), ...this.#observers.keys()];
  }

  /** How many connections of the owner are there. */
  get owners(): number {
    return this.#owners.size;
  }

  /** The owner first, then observers in order of attaching. */
  get roster(): readonly RosterEntry[] {
    const [first] = this.#owners;
    const { client_id, since } = first === undefined ? this.#lastOwner : { client_id: first[0], since: first[1] };
    return [
      { client_id, role: "owner", connections: this.#owners.size, since },
      ...this.observers.map(({ client_id: id, role, since: at }) => {
        return { client_id: id, role, connections: 1, since: at };
      }),
    ];
  }

  /** What somebody is in the session; of the owner's principal everybody is the owner, attached or not. */
  standingOf({ client_id, principal }: Sitter): Standing {
    if (principal === this.owner) return "owner";
    const seat = this.#observers.get(client_id);
    return seat?.principal === principal ? seat.role : "none";
  }

  /** Whether the client is attached as one that can send. */
  isBound(clientId: string): boolean {
    return this.#owners.has(clientId) || this.#observers.get(clientId)?.role === "member";
  }

  /** A connection of the owner comes. False when it is there already. */
  seatOwner(clientId: string, now: number): boolean {
    if (this.#owners.has(clientId)) return false;
    this.#owners.set(clientId, now);
    return true;
  }

  /** An observer comes, or gets another role at its place. */
  seat({ client_id, principal }: Sitter, role: ObserverRole, now: number): void {
    const since = this.#observers.get(client_id)?.since ?? now;
    this.#observers.set(client_id, { client_id, principal, role, since });
  }

  /** A client goes; gives what it was there. */
  unseat(clientId: string): Role | null {
    const since = this.#owners.get(clientId);
    if (since !== undefined) {
      this.#owners.delete(clientId);
      if (this.#owners.size === 0) this.#lastOwner = { client_id: clientId, since };
      return "owner";
    }
    const role = this.#observers.get(clientId)?.role ?? null;
    this.#observers.delete(clientId);
    return role;
  }

  /** Takes roles away: each observer has the one that is left to it, at its place, or goes. Gives those that lost one. */
  revoke(roleLeft: (role: ObserverRole) => ObserverRole | null): readonly Revoked[] {
    const revoked: Revoked[] = [];
    for (const seat of this.observers) {
      const { client_id, role: from } = seat;
      const to = roleLeft(from);
      if (to === from) continue;
      revoked.push({ client_id, from, to });
      if (to === null) this.#observers.delete(client_id);
      else this.#observers.set(client_id, { ...seat, role: to });
    }
    return revoked;
  }

  /** Sends a principal away; gives the clients of it that were attached. */
  bar(principal: string): readonly string[] {
    this.#barred.delete(principal);
    this.#barred.add(principal);
    const [oldest] = this.#barred;
    if (this.#barred.size > limits.maxBarred && oldest !== undefined) this.#barred.delete(oldest);
    const gone = this.observers.filter((seat) => seat.principal === principal).map(({ client_id }) => client_id);
    for (const clientId of gone) this.#observers.delete(clientId);
    return gone;
  }

  isBarred(principal: string): boolean {
    return this.#barred.has(principal);
  }

  /** Whoever was sent away may come again. */
  unbar(): void {
    this.#barred.clear();
  }

  /** The session is closed: nobody is attached any more. */
  clear(): void {
    this.#owners.clear();
    this.#observers.clear();
    this.#barred.clear();
  }
}
