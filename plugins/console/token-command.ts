import type { IdSource } from "../../core/index.ts";
import { newToken, type NewToken } from "../new-token.ts";
import type { Output } from "../output.ts";

/** What `roomtap token new` is asked for. */
export interface TokenOptions extends NewToken {
  /** The entry of the config and nothing else. */
  readonly json?: boolean | undefined;
}

/**
 * Prints a token that nobody guesses, and behind it the entry of the config that lets it in.
 * @throws RoomtapError `invalid_params` for a scope that there is not, and the like
 */
export async function tokenCommand(
  { json = false, ...wanted }: TokenOptions,
  { out, note }: Output,
  ids: IdSource,
): Promise<number> {
  const entry = newToken(wanted, ids);
  if (!json) await out(entry.token);
  await out(JSON.stringify(entry));
  if (!json) note("the first line is for the client; the second goes into auth.tokens of the config, and nowhere else");
  return 0;
}
