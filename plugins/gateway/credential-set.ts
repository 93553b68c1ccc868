import { scopes, type Clock } from "../../core/index.ts";
import type { AuthConfig, AuthOptions } from "./auth-config.ts";
import type { CloseWord } from "./close-codes.ts";
import type { Identity } from "./credentials.ts";
import { JwtVerifier } from "./jwt.ts";
import { knownToken, tokenShown, type KnownToken } from "./known-token.ts";

/** Who everybody is where no credential is asked for. */
export const anybody: Identity = { principal: "local", generation: "none", scopes, grants: ["reasoning", "full"] };

interface Parts {
  readonly tokens: readonly KnownToken[];
  readonly jwt: JwtVerifier | null;
  readonly isOpen: boolean;
}

/** All credentials that are good at one time. Another config makes another set; a set never changes. */
export class CredentialSet {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Whether no credential is asked for. */
  get isOpen(): boolean {
    return this.#parts.isOpen;
  }

  /** Whether nobody can come at all. */
  get isEmpty(): boolean {
    const { tokens, jwt, isOpen } = this.#parts;
    return tokens.length === 0 && jwt === null && !isOpen;
  }

  /** What is easily guessed among the tokens: the principal, and why. */
  get weak(): readonly { readonly principal: string; readonly weakness: string }[] {
    return this.#parts.tokens.flatMap(({ identity: { principal }, weakness }) =>
      weakness === null ? [] : [{ principal, weakness }],
    );
  }

  /** Who shows this token or JWT. @throws when a key set is out of reach */
  identify(value: string): Identity | CloseWord | Promise<Identity | CloseWord> {
    const { tokens, jwt } = this.#parts;
    const known = tokenShown(tokens, value);
    if (known !== undefined) return known.identity;
    return jwt !== null && JwtVerifier.isLikely(value) ? jwt.verify(value) : "token_mismatch";
  }

  /** The same principal by the same credential, as it stands in this set; null when the credential is none of it. */
  current(identity: Identity): Identity | null {
    const { tokens, jwt, isOpen } = this.#parts;
    const { principal, generation } = identity;
    if (isOpen) return generation === anybody.generation ? anybody : null;
    if (jwt?.generation === generation) return identity;
    const known = tokens.find((each) => each.identity.generation === generation);
    return known?.identity.principal === principal ? known.identity : null;
  }

  /**
   * The set by another config. A key that is absent leaves what it is about as it is, and so does an empty one.
   * @throws RoomtapError `invalid_config` for keys that are none
   */
  with(config: AuthOptions, clock: Clock): CredentialSet {
    if (config === "none") return new CredentialSet({ tokens: [], jwt: null, isOpen: true });
    const { tokens, jwt, isOpen } = this.#parts;
    const given = tokensOf(config) ?? [];
    const next = { tokens: given.length > 0 ? given : tokens, jwt: jwtOf(config, jwt, clock) };
    return new CredentialSet({ ...next, isOpen: isOpen && next.tokens.length === 0 && next.jwt === null });
  }
}

/** No credential is good. */
export const noCredentials: CredentialSet = new CredentialSet({ tokens: [], jwt: null, isOpen: false });

/** The tokens of a config; undefined when it says nothing of them, none when what it says is empty. */
export function tokensOf({ token, tokens }: AuthConfig): readonly KnownToken[] | undefined {
  if (token !== undefined) return token === "" ? [] : [knownToken(token)];
  return tokens?.map(({ token: value, ...rights }) => knownToken(value, rights));
}

/** The same verifier as long as nothing changes: it holds the keys that it has fetched. */
function jwtOf({ jwks }: AuthConfig, now: JwtVerifier | null, clock: Clock): JwtVerifier | null {
  if (jwks === undefined) return now;
  const next = jwks === null ? null : new JwtVerifier(jwks, clock);
  return next?.generation === now?.generation ? now : next;
}
