import type { IncomingMessage } from "node:http";
import { limits, messageOf, type Clock, type Report, type Undo } from "../../core/index.ts";
import type { Welcome } from "./addresses.ts";
import type { Audit } from "./audit.ts";
import type { Auth } from "./auth.ts";
import type { CloseWord } from "./close-codes.ts";
import type { Credential, Identity } from "./credentials.ts";
import { AddressRates, Tally, type AddressBounds } from "./limits.ts";
import { judgeRequest } from "./upgrade.ts";

/** How many may knock, and how often. */
export interface GateLimits extends Omit<AddressBounds, "maxAddresses"> {
  readonly maxPendingPerAddress: number;
}

/** What the gates are made of. */
export interface GatesParts {
  readonly clock: Clock;
  readonly report: Report;
  readonly audit: Audit;
  readonly auth: Auth;
  readonly limits: GateLimits;
}

/** Somebody who asks to be let in, by an upgrade or a request. */
export interface Visitor {
  readonly request: IncomingMessage;
  /** Of the peer, as rates count it. */
  readonly address: string;
  /** The address the server is bound to; "" for one that is none. */
  readonly boundHost: string;
  /** Bind and peer are loopback. */
  readonly isLoopback: boolean;
  /** So are they, and no proxy stands between. */
  readonly isLocal: boolean;
}

/** What somebody asks for; only connections count as upgrades of their address. The audit trail calls it so. */
export type Knock = "connection" | "ticket" | "route";

interface Knocking {
  readonly welcome: Welcome;
  readonly knock: Knock;
}

/** The gates that everybody passes before it is known who it is: rate of the address, Host and Origin, credential. */
export class Gates {
  readonly #parts: GatesParts;
  readonly #rates: AddressRates;
  /** Those who were not let in yet, by address. */
  readonly #pending = new Tally();

  constructor(parts: GatesParts) {
    this.#parts = parts;
    this.#rates = new AddressRates(parts.clock, { ...parts.limits, maxAddresses: limits.maxAddresses });
  }

  /** Counts one more who has not shown who it is, until the undo; null when there are too many of the address. */
  enter(address: string): Undo | null {
    if (this.#pending.of(address) >= this.#parts.limits.maxPendingPerAddress) return null;
    return this.#pending.add(address);
  }

  /** Why it may not come at all, whoever it is; null: it may. An address that is locked out may not. */
  admits(visitor: Visitor, { welcome, knock }: Knocking): CloseWord | null {
    const { request, address, boundHost, isLoopback } = visitor;
    const mayKnock = isLoopback || (knock === "connection" ? this.#rates.admit(address) : this.#rates.allows(address));
    return mayKnock ? judgeRequest(request, boundHost, welcome) : "upgrade_rate";
  }

  /** Writes down that it was not let in. A wrong credential counts against its address. */
  refused({ address, isLoopback }: Visitor, reason: CloseWord, knock: Knock): void {
    if (!isLoopback && isWrong(reason)) this.#rates.failed(address);
    this.#parts.audit("refused", knock, { reason, address });
  }

  /** Who it is, or why it is not let in. Never rejects. */
  async judge(
    visitor: Visitor,
    shown: () => Credential | CloseWord,
    knocking: Knocking,
  ): Promise<Identity | CloseWord> {
    const identity = this.admits(visitor, knocking) ?? (await this.#identify(visitor, shown));
    if (typeof identity === "string") this.refused(visitor, identity, knocking.knock);
    return identity;
  }

  async #identify({ request, isLocal }: Visitor, shown: () => Credential | CloseWord): Promise<Identity | CloseWord> {
    try {
      return await this.#parts.auth.identify(shown(), { origin: request.headers.origin ?? null, isLocal });
    } catch (fault) {
      const message = `a credential could not be checked: ${messageOf(fault)}`;
      this.#parts.report({ code: "internal", message, cause: fault });
      return "internal_error";
    }
  }
}

/** Whether whoever is refused so may be guessing. */
function isWrong(word: CloseWord): boolean {
  return word !== "upgrade_rate" && word !== "internal_error";
}
