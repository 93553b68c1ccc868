import type { Clock, IdSource } from "./clock.ts";
import { limits } from "./options.ts";
import { secretToken } from "./secret-token.ts";

/** Whom a token was given to: nobody else's connection takes anything from it. */
export interface TokenOwner {
  readonly principal: string;
  /** Of the credential that the connection came with. */
  readonly generation: string;
}

interface Entry<Holder> {
  readonly holder: Holder;
  readonly owner: TokenOwner;
  /** Monotonic ms; Infinity while the connection lives. */
  readonly validUntil: number;
}

/**
 * Tokens by which a connection that comes back takes over what the one before it held. Each is single use, and valid while
 * its connection lives and 300 s after. At 4,096 the one that was dropped first goes, and a living one only if none is.
 */
export class ResumeTokens<Holder> {
  readonly #clock: Clock;
  readonly #ids: IdSource;
  readonly #max: number;
  readonly #live = new Map<string, Entry<Holder>>();
  /** In order of their drop, so those that expire first come first. */
  readonly #dropped = new Map<string, Entry<Holder>>();
  #evicted = 0;

  /** @param parts.maxTokens default 4,096 */
  constructor(parts: { readonly clock: Clock; readonly ids: IdSource; readonly maxTokens?: number }) {
    this.#clock = parts.clock;
    this.#ids = parts.ids;
    this.#max = parts.maxTokens ?? limits.maxResumeTokens;
  }

  get size(): number {
    return this.#live.size + this.#dropped.size;
  }

  /** Tokens that went before their time because there were too many. */
  get evicted(): number {
    return this.#evicted;
  }

  /** A new token for a connection that lives. */
  issue(holder: Holder, owner: TokenOwner): string {
    this.#sweep();
    if (this.size >= this.#max) this.#evict();
    const token = secretToken(this.#ids);
    this.#live.set(token, { holder, owner, validUntil: Infinity });
    return token;
  }

  /** The connection of the token is over: 300 s are left. Without effect on a token that was used. */
  drop(token: string): void {
    const entry = this.#live.get(token);
    if (entry === undefined) return;
    this.#live.delete(token);
    this.#dropped.set(token, { ...entry, validUntil: this.#clock.monotonic() + limits.resumeTokenMs });
  }

  /** What the token stands for; undefined when it is unknown, used, expired or somebody else's. It is not used by that. */
  holder(token: string, owner: TokenOwner): Holder | undefined {
    const entry = this.#live.get(token) ?? this.#dropped.get(token);
    if (entry === undefined || this.#clock.monotonic() > entry.validUntil) return undefined;
    const isOwners = entry.owner.principal === owner.principal && entry.owner.generation === owner.generation;
    return isOwners ? entry.holder : undefined;
  }

  /** As `holder`, once. Somebody else's token stays valid: who has found it cannot take it from its owner either. */
  redeem(token: string, owner: TokenOwner): Holder | undefined {
    const holder = this.holder(token, owner);
    if (holder === undefined) return undefined;
    this.#live.delete(token);
    this.#dropped.delete(token);
    return holder;
  }

  /** Makes those tokens worthless of which this is so. */
  revoke(isRevoked: (entry: { readonly holder: Holder; readonly owner: TokenOwner }) => boolean): void {
    for (const tokens of [this.#live, this.#dropped]) {
      for (const [token, entry] of tokens) if (isRevoked(entry)) tokens.delete(token);
    }
  }

  #sweep(): void {
    const now = this.#clock.monotonic();
    for (const [token, { validUntil }] of this.#dropped) {
      if (validUntil >= now) return;
      this.#dropped.delete(token);
    }
  }

  #evict(): void {
    const from = this.#dropped.size > 0 ? this.#dropped : this.#live;
    const [oldest] = from.keys();
    if (oldest === undefined) return;
    from.delete(oldest);
    this.#evicted++;
  }
}
