import type { Clock } from "../../core/index.ts";

const minuteMs = 60_000;

/** Between two looks for addresses that can be forgotten: a full table is no lever for whoever fills it. */
const sweepMs = 1_000;

/** Counts what happens within the last `windowMs`, up to `max`: what is more is not kept. */
export class WindowCount {
  readonly #max: number;
  readonly #windowMs: number;
  /** Oldest first; made when the first one is counted, as most connections count none. */
  #times: number[] = [];

  constructor(max: number, windowMs: number = minuteMs) {
    this.#max = max;
    this.#windowMs = windowMs;
  }

  /** Counts one at `now` (monotonic ms) and says whether that makes `max` within the window. */
  add(now: number): boolean {
    this.#forget(now);
    if (this.#times.length < this.#max) this.#times.push(now);
    return this.#times.length >= this.#max;
  }

  /** Whether one more would be above `max`. */
  isFull(now: number): boolean {
    this.#forget(now);
    return this.#times.length >= this.#max;
  }

  /** Whether nothing of it matters any more. */
  isIdle(now: number): boolean {
    this.#forget(now);
    return this.#times.length === 0;
  }

  #forget(now: number): void {
    const first = this.#times.findIndex((at) => now - at < this.#windowMs);
    if (first === 0) return;
    this.#times = first < 0 ? [] : this.#times.slice(first);
  }
}

/** So many per second on average, and `burst` at once after a rest. */
export class CallRate {
  readonly #perSecond: number;
  readonly #burst: number;
  #left: number;
  #at: number;

  /** @param now monotonic ms */
  constructor(perSecond: number, burst: number, now: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#left = burst;
    this.#at = now;
  }

  /** Takes one; when there is none, says after how many ms there will be. */
  take(now: number): { readonly ok: true } | { readonly ok: false; readonly retryAfterMs: number } {
    this.#left = Math.min(this.#burst, this.#left + ((now - this.#at) * this.#perSecond) / 1_000);
    this.#at = now;
    if (this.#left < 1) return { ok: false, retryAfterMs: Math.ceil(((1 - this.#left) * 1_000) / this.#perSecond) };
    this.#left -= 1;
    return { ok: true };
  }
}

interface Address {
  readonly upgrades: WindowCount;
  readonly failed: WindowCount;
  /** Monotonic ms. */
  lockedUntil: number;
}

/**
 * Upgrades by internet address: so many a minute, and an address whose credentials are wrong too often is locked out. When
 * the table is full a new address is refused; those with a lock-out stay.
 */
export class AddressRates {
  readonly #clock: Clock;
  readonly #bounds: AddressBounds;
  readonly #addresses = new Map<string, Address>();
  #sweptAt = -Infinity;
  #refused = 0;

  constructor(clock: Clock, bounds: AddressBounds) {
    this.#clock = clock;
    this.#bounds = bounds;
  }

  /** Upgrades that were refused so far. */
  get refused(): number {
    return this.#refused;
  }

  /** Counts an upgrade; false when it is one too many. */
  admit(address: string): boolean {
    const now = this.#clock.monotonic();
    const entry = this.#entry(address, now);
    if (entry === undefined || now < entry.lockedUntil || entry.upgrades.isFull(now)) {
      this.#refused++;
      return false;
    }
    entry.upgrades.add(now);
    return true;
  }

  /** Whether it may try a credential. That counts as nothing, unless it is wrong. */
  allows(address: string): boolean {
    const now = this.#clock.monotonic();
    const entry = this.#entry(address, now);
    if (entry !== undefined && now >= entry.lockedUntil) return true;
    this.#refused++;
    return false;
  }

  /** Counts a wrong credential. */
  failed(address: string): void {
    const now = this.#clock.monotonic();
    const entry = this.#addresses.get(address);
    if (entry?.failed.add(now) === true) entry.lockedUntil = now + this.#bounds.lockOutMs;
  }

  #entry(address: string, now: number): Address | undefined {
    const known = this.#addresses.get(address);
    if (known !== undefined) return known;
    if (this.#addresses.size >= this.#bounds.maxAddresses && now - this.#sweptAt >= sweepMs) this.#sweep(now);
    if (this.#addresses.size >= this.#bounds.maxAddresses) return undefined;
    const entry = {
      upgrades: new WindowCount(this.#bounds.maxUpgradesPerAddress),
      failed: new WindowCount(this.#bounds.maxFailedUpgradesPerAddress),
      lockedUntil: -Infinity,
    };
    this.#addresses.set(address, entry);
    return entry;
  }

  /** Drops addresses of which nothing counts any more. */
  #sweep(now: number): void {
    this.#sweptAt = now;
    for (const [address, { upgrades, failed, lockedUntil }] of this.#addresses) {
      if (lockedUntil <= now && upgrades.isIdle(now) && failed.isIdle(now)) this.#addresses.delete(address);
    }
  }
}

/** Bounds of `AddressRates`. */
export interface AddressBounds {
  readonly maxUpgradesPerAddress: number;
  readonly maxFailedUpgradesPerAddress: number;
  readonly lockOutMs: number;
  readonly maxAddresses: number;
}

/** How many there are of each name, and of all. What is counted is counted down once. */
export class Tally {
  readonly #counts = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** Counts one more, until what it returns is called, once. */
  add(name: string): () => void {
    this.#counts.set(name, this.of(name) + 1);
    this.#total++;
    let counts = true;
    return () => {
      if (!counts) return;
      counts = false;
      this.#total--;
      const left = this.of(name) - 1;
      if (left > 0) this.#counts.set(name, left);
      else this.#counts.delete(name);
    };
  }
}
