import type { AuthConfig, TokenConfig } from "../../plugins/index.ts";

/** What a principal of a test may do; the scopes are `read` and `write` unless it says otherwise. */
export type Rights = Partial<Omit<TokenConfig, "token" | "principal">>;

/** The token of a principal: strong, and the same in every test. */
export function tokenOf(principal: string): string {
  return `gw-${principal}-0123456789abcdef`;
}

/** Who may connect: principals by name, with a token each. */
export function principals(byName: Readonly<Record<string, Rights>>): AuthConfig & { tokens: TokenConfig[] } {
  return {
    tokens: Object.entries(byName).map(([principal, rights]) => ({
      token: tokenOf(principal),
      principal,
      scopes: ["read", "write"],
      ...rights,
    })),
  };
}
