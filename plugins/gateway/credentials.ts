import type { Scope, TokenOwner } from "../../core/index.ts";
import type { CloseWord } from "./close-codes.ts";

/** Offered by clients, and selected whenever it is offered. No other ever is. */
export const subprotocol = "hermes-gateway-v1";
/** Of a query: what may stand there is a credential. */
export const credentialKeys = ["token", "ticket"] as const;
const ticketPrefix = "hermes-gateway-ticket.";

/** What an upgrade shows. Headers in lower case, one text each. */
export interface UpgradeHead {
  readonly authorization: string | undefined;
  /** The header `sec-websocket-protocol`. */
  readonly protocols: string | undefined;
  readonly query: URLSearchParams;
  /** Bind and peer are loopback, and no proxy stands between: only then may a token stand in a URL. */
  readonly allowsQueryToken: boolean;
}

/** The one credential of an upgrade. */
export interface Credential {
  readonly kind: "token" | "ticket";
  readonly value: string;
}

/** Who has come, by the credential: what the connection may do, and which life of the credential it belongs to. */
export interface Identity extends TokenOwner {
  readonly scopes: readonly Scope[];
  readonly grants: readonly string[];
  /** Ids of the rooms that are there for it; absent: all. */
  readonly rooms?: readonly string[] | undefined;
  /** How logs name the credential; it shows nothing of it that helps anybody. */
  readonly label?: string | undefined;
  /** When the credential runs out, and its connections end. Wall clock, ms; absent: never. */
  readonly expiresAt?: number | undefined;
}

/** Whether it makes no difference to a connection which of the two it has. */
export function hasSameRights(a: Identity, b: Identity): boolean {
  const rights = ({ scopes: held, grants, rooms }: Identity): string =>
    JSON.stringify([held, grants, rooms ?? null].map((list) => list?.toSorted() ?? null));
  return rights(a) === rights(b);
}

/** Says who stands behind a credential, or why nobody does. May take its time; the connection waits. */
export type Authenticate = (credential: Credential) => Identity | CloseWord | Promise<Identity | CloseWord>;

/** The credential that an upgrade presents: exactly one, at one of its places. */
export function presentedCredential(head: UpgradeHead): Credential | CloseWord {
  const bearer = /^bearer +(\S+)\s*$/i.exec(head.authorization ?? "")?.[1];
  const protocols = (head.protocols ?? "").split(",").map((word) => word.trim());
  const offered = protocols
    .filter((word) => word.startsWith(ticketPrefix))
    .map((word) => word.slice(ticketPrefix.length));
  const tickets = [...offered, ...head.query.getAll("ticket")];
  const tokens = [...(bearer === undefined ? [] : [bearer]), ...head.query.getAll("token")];
  if (offered.length > 0 && (offered.length > 1 || !protocols.includes(subprotocol))) return "ticket_invalid";
  if (tokens.length + tickets.length > 1) return "credential_ambiguous";
  const [ticket] = tickets;
  if (ticket !== undefined) return { kind: "ticket", value: ticket };
  const [token] = tokens;
  if (token === undefined || (bearer === undefined && !head.allowsQueryToken)) return "no_credential";
  return { kind: "token", value: token };
}

const commonTokens: ReadonlySet<string> = new Set([
  "change-me",
  "changeme",
  "secret",
  "password",
  "test",
  "token",
  "admin",
  "default",
  "example",
]);

/** Why a token is easily guessed; null when it is not. */
export function weaknessOf(token: string): string | null {
  const plain = token.trim().toLowerCase();
  if (commonTokens.has(plain)) return "it is a common word";
  if (plain.startsWith("$(") || plain.startsWith("<")) return "it is a place-holder that nobody filled in";
  if (token.length < 16) return "it has fewer than 16 characters";
  return new Set(token).size === 1 ? "it is one character, repeated" : null;
}
