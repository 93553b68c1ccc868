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

  /**
   * Who it is, or why it is not let in. Never rejects.
   * @param knock whether it counts as an upgrade of its address
   */
  async judge(
    visitor: Visitor,
    shown: () => Credential | CloseWord,
    { welcome, knock }: { readonly welcome: Welcome; readonly knock: "upgrade" | "request" },
  ): Promise<Identity | CloseWord> {
    const { address, isLoopback } = visitor;
    const identity = await this.#judge(visitor, shown, { welcome, knock });
    if (typeof identity !== "string") return identity;
    if (!isLoopback && isWrong(identity)) this.#rates.failed(address);
    this.#parts.audit("refused", knock === "upgrade" ? "connection" : "ticket", { reason: identity, address });
    return identity;
  }

  async #judge(
    visitor: Visitor,
    shown: () => Credential | CloseWord,
    { welcome, knock }: { readonly welcome: Welcome; readonly knock: "upgrade" | "request" },
  ): Promise<Identity | CloseWord> {
    const { request, address, boundHost, isLoopback, isLocal } = visitor;
    const mayKnock = isLoopback || (knock === "upgrade" ? this.#rates.admit(address) : this.#rates.allows(address));
    if (!mayKnock) return "upgrade_rate";
    const stranger = judgeRequest(request, boundHost, welcome);
    if (stranger !== null) return stranger;
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
