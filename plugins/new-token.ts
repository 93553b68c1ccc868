import { RoomtapError, secretToken, type IdSource } from "../core/index.ts";
import { parseAuth, type TokenConfig } from "./gateway/index.ts";

/** Whom a new token is for; each a word as a person types it. */
export interface NewToken {
  readonly principal: string;
  readonly scopes: readonly string[];
  readonly rooms?: readonly string[] | undefined;
  readonly grants?: readonly string[] | undefined;
}

/**
 * An entry for `auth.tokens` of a config, with a token that nobody guesses.
 * @throws RoomtapError `invalid_params` that names what is wrong
 */
export function newToken(wanted: NewToken, ids: IdSource): TokenConfig {
  const entry = { token: `gw_${secretToken(ids)}`, ...wanted };
  try {
    parseAuth({ tokens: [entry] }, []);
  } catch (fault) {
    if (!(fault instanceof RoomtapError)) throw fault;
    throw new RoomtapError("invalid_params", fault.message.replaceAll("tokens[0].", "--"), { cause: fault });
  }
  // Parsed: its words are those of the schema.
  return entry as TokenConfig;
}
