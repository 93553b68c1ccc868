import { createHash } from "node:crypto";
import { secretToken, type Clock, type IdSource } from "../../core/index.ts";
import type { Identity } from "./credentials.ts";
import { WindowCount } from "./limits.ts";

/** Bounds of tickets. */
export interface TicketLimits {
  readonly ticketMs: number;
  readonly linkMs: number;
  readonly maxTicketsPerPrincipal: number;
  readonly maxTickets: number;
  readonly maxTicketMints: number;
}

interface Ticket {
  readonly identity: Identity;
  /** Of the request that it was made for; null: it had none. */
  readonly origin: string | null;
  /** Monotonic ms. */
  readonly validUntil: number;
}

/**
 * Tickets for browsers, which cannot send a header with a WebSocket: each lets in once, whom it was made for and, if a page
 * asked for it, that page's Origin alone. Only digests are kept.
 */
export class Tickets {
  readonly #clock: Clock;
  readonly #ids: IdSource;
  readonly #limits: TicketLimits;
  /** By digest, in the order in which they were made. */
  readonly #open = new Map<string, Ticket>();
  readonly #mints = new Map<string, WindowCount>();

  constructor(parts: { readonly clock: Clock; readonly ids: IdSource; readonly limits: TicketLimits }) {
    this.#clock = parts.clock;
    this.#ids = parts.ids;
    this.#limits = parts.limits;
  }

  /** Tickets that may still be used. */
  get size(): number {
    this.#sweep();
    return this.#open.size;
  }

  /**
   * A new ticket; null when there are too many, or too many were made within the last minute.
   * @param goodForMs default `ticketMs`
   */
  mint(identity: Identity, origin: string | null, goodForMs = this.#limits.ticketMs): string | null {
    this.#sweep();
    const { maxTickets, maxTicketsPerPrincipal } = this.#limits;
    const { principal } = identity;
    const own = [...this.#open.values()].filter((ticket) => ticket.identity.principal === principal);
    if (this.#open.size >= maxTickets || own.length >= maxTicketsPerPrincipal || !this.#mayMint(principal)) return null;
    const ticket = secretToken(this.#ids);
    const validUntil = this.#clock.monotonic() + goodForMs;
    this.#open.set(digestOf(ticket), { identity, origin, validUntil });
    return ticket;
  }

  /** Whom the ticket lets in; null when it is unknown, used, late, or another page's. By that last one it is not used up. */
  redeem(text: string, origin: string | null): Identity | null {
    const digest = digestOf(text);
    const ticket = this.#open.get(digest);
    if (ticket === undefined || this.#clock.monotonic() > ticket.validUntil) return null;
    if (ticket.origin !== null && ticket.origin !== origin) return null;
    this.#open.delete(digest);
    return ticket.identity;
  }

  /** Takes back those of whom this is so. */
  revoke(isRevoked: (identity: Identity) => boolean): void {
    for (const [digest, { identity }] of this.#open) if (isRevoked(identity)) this.#open.delete(digest);
  }

  /** Counts one more of the principal, unless that is one too many. */
  #mayMint(principal: string): boolean {
    const now = this.#clock.monotonic();
    if (this.#mints.size >= this.#limits.maxTickets) {
      for (const [name, count] of this.#mints) if (count.isIdle(now)) this.#mints.delete(name);
      if (this.#mints.size >= this.#limits.maxTickets && !this.#mints.has(principal)) return false;
    }
    const count = this.#mints.get(principal) ?? new WindowCount(this.#limits.maxTicketMints);
    this.#mints.set(principal, count);
    if (count.isFull(now)) return false;
    count.add(now);
    return true;
  }

  #sweep(): void {
    const now = this.#clock.monotonic();
    for (const [digest, { validUntil }] of this.#open) {
      if (validUntil < now) this.#open.delete(digest);
    }
  }
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
