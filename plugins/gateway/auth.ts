import { secretToken, type Clock, type IdSource, type Redactor, type Report } from "../../core/index.ts";
import { secretsOfAuth, type AuthOptions } from "./auth-config.ts";
import type { CloseWord } from "./close-codes.ts";
import { anybody, noCredentials, tokensOf, type CredentialSet } from "./credential-set.ts";
import type { Authenticate, Credential, Identity } from "./credentials.ts";
import { checkedAnswer } from "./foreign-identity.ts";
import { Tickets, type TicketLimits } from "./tickets.ts";

/** What tells who has come. */
export interface AuthParts {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly redactor: Redactor;
  readonly report: Report;
  readonly limits: TicketLimits;
  /** Without a word about credentials a token is made. */
  readonly auth: AuthOptions;
  /** Says who a token stands for, in place of a config. */
  readonly authenticate: Authenticate | undefined;
}

/** Credentials before and after a reload. */
export interface Rotation {
  readonly before: CredentialSet;
  readonly after: CredentialSet;
}

/** The credentials of a gateway, as they are now, and the tickets that were made on their strength. */
export class Auth {
  readonly #parts: AuthParts;
  readonly #tickets: Tickets;
  #set: CredentialSet;
  #token: string;
  #isMade: boolean;

  /** @throws RoomtapError `invalid_config` for keys that are none, `invalid_params` for more secrets than can be masked */
  constructor(parts: AuthParts) {
    this.#parts = parts;
    this.#tickets = new Tickets(parts);
    const isSilent = parts.auth !== "none" && !parts.auth.token && !parts.auth.tokens && !parts.auth.jwks;
    this.#isMade = isSilent && !this.isForeign;
    const auth = this.#isMade ? { token: secretToken(parts.ids) } : parts.auth;
    parts.redactor.addLiterals(secretsOfAuth(auth));
    this.#token = tokenIn(auth) ?? "";
    this.#set = this.isForeign ? noCredentials : noCredentials.with(auth, parts.clock);
  }

  /** The one token that stands for all; "" when there is none such. */
  get token(): string {
    return this.#token;
  }

  /** Whether the token was made here, because none was given. */
  get isMade(): boolean {
    return this.#isMade;
  }

  get set(): CredentialSet {
    return this.#set;
  }

  /** Whether somebody else says who comes. */
  get isForeign(): boolean {
    return this.#parts.authenticate !== undefined;
  }

  /**
   * Who shows this, or why nobody does.
   * @param at.origin the header of the request; null for none
   * @param at.isLocal bind and peer are loopback, and no proxy stands between
   */
  identify(
    shown: Credential | CloseWord,
    at: { readonly origin: string | null; readonly isLocal: boolean },
  ): Identity | CloseWord | Promise<Identity | CloseWord> {
    if (this.#set.isOpen) return at.isLocal ? anybody : "no_credential";
    if (typeof shown === "string") return shown;
    if (shown.kind === "token") return this.#asked(shown) ?? this.#set.identify(shown.value);
    const identity = this.#tickets.redeem(shown.value, at.origin);
    return identity === null ? "ticket_invalid" : this.current(identity);
  }

  /** What somebody else says of it, if somebody else is to be asked. Rejects for what is no answer. */
  #asked(shown: Credential): Promise<Identity | CloseWord> | undefined {
    const { authenticate } = this.#parts;
    return authenticate === undefined ? undefined : Promise.resolve(authenticate(shown)).then(checkedAnswer);
  }

  /** The same identity as the credentials stand now, or why its credential is good no more. */
  current(identity: Identity): Identity | "token_expired" | "credentials_rotated" {
    const { expiresAt } = identity;
    if (expiresAt !== undefined && expiresAt <= this.#parts.clock.now()) return "token_expired";
    return this.isForeign ? identity : (this.#set.current(identity) ?? "credentials_rotated");
  }

  /** A ticket for whoever this is; null when there are too many. Default: good for `ticketMs`. */
  mint(identity: Identity, origin: string | null, goodForMs?: number): string | null {
    return this.#tickets.mint(identity, origin, goodForMs);
  }

  /** A ticket for whom the one token stands for; null when there is no such token, or too many tickets. */
  async mintLink(): Promise<string | null> {
    if (this.#token === "" || this.#set.isOpen) return null;
    const identity = await this.#set.identify(this.#token);
    return typeof identity === "string" ? null : this.mint(identity, null, this.#parts.limits.linkMs);
  }

  /** What the credentials would be by another config. Changes nothing. @throws RoomtapError `invalid_config` */
  next(auth: AuthOptions): CredentialSet {
    return this.#set.with(auth, this.#parts.clock);
  }

  /** Lets the credentials of another config take the place of those that are good now. Tickets of what has gone are void. */
  adopt(auth: AuthOptions, after: CredentialSet): Rotation {
    this.#parts.redactor.addLiterals(secretsOfAuth(auth));
    const before = this.#set;
    const token = tokenIn(auth);
    const tokens = auth === "none" ? undefined : tokensOf(auth);
    if (tokens?.length === 0) {
      const message = "the config names no token any more: those that were good stay so";
      this.#parts.report({ code: "empty_credentials", message });
    }
    if (auth === "none" || (tokens !== undefined && tokens.length > 0)) {
      this.#token = token ?? "";
      this.#isMade = false;
    }
    this.#set = after;
    this.#tickets.revoke((identity) => after.current(identity) === null);
    return { before, after };
  }
}

function tokenIn(auth: AuthOptions): string | undefined {
  return auth === "none" || auth.token === "" ? undefined : auth.token;
}
