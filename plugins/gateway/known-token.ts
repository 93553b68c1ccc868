import { createHash, timingSafeEqual } from "node:crypto";
import { scopes } from "../../core/index.ts";
import type { TokenConfig } from "./auth-config.ts";
import { weaknessOf, type Identity } from "./credentials.ts";

/** A token as it is kept: nobody gets it back out of this. */
export interface KnownToken {
  readonly digest: Buffer;
  readonly identity: Identity;
  /** Why it is easily guessed; null when it is not. */
  readonly weakness: string | null;
}

/** What a token of the short form stands for. */
export const wholeRights = { principal: "local", scopes, grants: ["reasoning", "full"] } as const;

/** @param rights default: the principal `local`, with all scopes and grants */
export function knownToken(token: string, rights: Omit<TokenConfig, "token"> = wholeRights): KnownToken {
  const digest = digestOf(token);
  const { principal, scopes: held, rooms, grants = [] } = rights;
  const generation = digest.toString("hex").slice(0, 16);
  const identity = { principal, generation, scopes: held, grants, rooms, label: shownToken(token) };
  return { digest, identity, weakness: weaknessOf(token) };
}

/** The one that was shown. In a time that tells neither which of them it is like, nor how far. */
export function tokenShown(known: readonly KnownToken[], value: string): KnownToken | undefined {
  const shown = digestOf(value);
  return known.reduce<KnownToken | undefined>(
    (found, each) => (timingSafeEqual(each.digest, shown) ? each : found),
    undefined,
  );
}

/** How a token is named where people read: never more than its last four characters, of a short one none. */
export function shownToken(token: string): string {
  return `gw_****${token.length < 16 ? "" : token.slice(-4)}`;
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
