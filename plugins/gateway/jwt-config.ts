/** Signatures that can be asked for: made with a private key, checked with a public one. */
export const jwtAlgorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
] as const;

/** Of a JWT's `alg`, those that are taken when the config names none. */
export const defaultJwtAlgorithms: readonly JwtAlgorithm[] = ["RS256", "PS256", "ES256", "EdDSA"];

/** A word of `jwtAlgorithms`. */
export type JwtAlgorithm = (typeof jwtAlgorithms)[number];

/** Whose JWTs are taken: by a key set at a URL, or one that stands in the config. */
export interface JwksConfig {
  /** `https`; `http` on this machine only. */
  readonly url?: string | undefined;
  /** Public keys as JWKs. */
  readonly keys?: readonly { readonly kty: string; readonly [field: string]: unknown }[] | undefined;
  /** One of them has to be among the `aud` of a JWT. */
  readonly audience: string | readonly string[];
  /** One of them has to be its `iss`. Default: anybody whose key is in the set. */
  readonly issuer?: string | readonly string[] | undefined;
  /** Default: RS256, PS256, ES256, EdDSA. What a JWT says of itself never widens it. */
  readonly algorithms?: readonly JwtAlgorithm[] | undefined;
  /** Of all that come so: the rooms that are there for them (default: all), and what they may see besides (nothing). */
  readonly rooms?: readonly string[] | undefined;
  readonly grants?: readonly ("reasoning" | "full")[] | undefined;
}
