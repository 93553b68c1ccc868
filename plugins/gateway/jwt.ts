import { createHash } from "node:crypto";
import { createLocalJWKSet, createRemoteJWKSet, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from "jose";
import { limits, messageOf, RoomtapError, scopes, type Clock } from "../../core/index.ts";
import type { CloseWord } from "./close-codes.ts";
import type { Identity } from "./credentials.ts";
import { defaultJwtAlgorithms, type JwksConfig } from "./jwt-config.ts";

/** What jose says when it is the key set that is wrong or out of reach, and not what was shown. */
const keySetFaults: ReadonlySet<string> = new Set(["ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID", "ERR_JOSE_GENERIC"]);

/** Three parts of base64url: only then is a text worth a signature check. */
const jwtShape = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Takes JWTs that were signed by a key of one set, for us, and have not run out. */
export class JwtVerifier {
  /** Of the set and of what is asked of its JWTs: 16 hex digits. A JWT that is renewed stays in it. */
  readonly generation: string;
  readonly #config: JwksConfig;
  readonly #clock: Clock;
  readonly #keys: JWTVerifyGetKey;

  /** @throws RoomtapError `invalid_config` for keys that are none */
  constructor(config: JwksConfig, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
    this.generation = createHash("sha256").update(JSON.stringify(config)).digest("hex").slice(0, 16);
    this.#keys = keySetOf(config);
  }

  /** Whether it is worth asking: a cheap look. */
  static isLikely(text: string): boolean {
    return jwtShape.test(text);
  }

  /**
   * Who stands behind a JWT: its `sub`, with those words of `scope` that are known. What is wrong with it otherwise.
   * @throws when the key set is out of reach
   */
  async verify(jwt: string): Promise<Identity | CloseWord> {
    const { audience, issuer, algorithms = defaultJwtAlgorithms } = this.#config;
    try {
      const { payload } = await jwtVerify(jwt, this.#keys, {
        algorithms: [...algorithms],
        audience: listOf(audience),
        requiredClaims: ["exp", "sub"],
        currentDate: new Date(this.#clock.now()),
        ...(issuer === undefined ? {} : { issuer: listOf(issuer) }),
      });
      return this.#identityOf(payload);
    } catch (fault) {
      if (!(fault instanceof errors.JOSEError) || keySetFaults.has(fault.code)) throw fault;
      return fault instanceof errors.JWTExpired ? "token_expired" : "token_mismatch";
    }
  }

  #identityOf({ sub, exp, scope }: JWTPayload): Identity | CloseWord {
    if (typeof sub !== "string" || !isPrincipal(sub) || exp === undefined) return "token_mismatch";
    const words = typeof scope === "string" ? scope.split(" ") : [];
    const { rooms, grants = [] } = this.#config;
    return {
      principal: sub,
      generation: this.generation,
      scopes: scopes.filter((known) => words.includes(known)),
      grants,
      rooms,
      expiresAt: exp * 1_000,
    };
  }
}

function keySetOf({ url, keys = [] }: JwksConfig): JWTVerifyGetKey {
  if (url !== undefined) return createRemoteJWKSet(new URL(url), { timeoutDuration: limits.keySetTimeoutMs });
  try {
    return createLocalJWKSet({ keys: keys.map((key) => ({ ...key })) });
  } catch (fault) {
    throw new RoomtapError("invalid_config", `jwks.keys: ${messageOf(fault)}`, { cause: fault });
  }
}

/** A name that lists and logs can show: not empty, not long, on one line. */
function isPrincipal(sub: string): boolean {
  return sub.length > 0 && sub.length <= limits.maxPrincipalUnits && !/\p{Cc}/u.test(sub) && sub.isWellFormed();
}

function listOf(given: string | readonly string[]): string[] {
  return typeof given === "string" ? [given] : [...given];
}
