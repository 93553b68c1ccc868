import type { IdSource } from "./clock.ts";

/** A secret that nobody guesses: 32 random bytes as base64url, 43 characters. */
export function secretToken(ids: IdSource): string {
  const bytes = ids.hex(32).match(/../g) ?? [];
  const binary = String.fromCharCode(...bytes.map((pair) => Number.parseInt(pair, 16)));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
