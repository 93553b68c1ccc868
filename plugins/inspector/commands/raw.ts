import { RoomtapError } from "../../../core/index.ts";
import { CallError } from "../../client/index.ts";
import type { Output } from "../../output.ts";
import { jsonText } from "../../terminal-text.ts";
import { parseObject } from "../parse-object.ts";
import { withServer, type RemoteOptions } from "../remote.ts";

/** What `roomtap raw` is asked for. */
export interface RawOptions extends RemoteOptions {
  readonly method: string;
  /** A JSON object; default `{}`. */
  readonly params?: string | undefined;
}

/** Calls a method and prints its result as JSON; a refusal is printed with `json`, and is the command's error in any case. */
export async function rawCommand(options: RawOptions, { out, note }: Output): Promise<number> {
  const { method, params: text = "{}", json } = options;
  const params = parseObject(text);
  if (params === null)
    throw new RoomtapError("invalid_params", `PARAMS: expected a JSON object, got ${text.slice(0, 80)}`);
  return withServer(options, note, async (client) => {
    try {
      await out(jsonText(await client.call(method, params), json ? undefined : 2));
      return 0;
    } catch (fault) {
      if (json && fault instanceof CallError) {
        await out(jsonText({ error: { code: fault.code, message: fault.message, data: fault.data } }));
      }
      throw fault;
    }
  });
}
