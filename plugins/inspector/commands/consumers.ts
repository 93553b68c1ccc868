import { systemClock, type Clock } from "../../../core/index.ts";
import type { Client } from "../../client/index.ts";
import type { Output } from "../../output.ts";
import { jsonText } from "../../terminal-text.ts";
import { nextTick } from "../next-tick.ts";
import { withServer, type RemoteOptions } from "../remote.ts";
import { consumerTable } from "../view/consumer-table.ts";

/** What `roomtap consumers` is asked for. */
export interface ConsumersOptions extends RemoteOptions {
  /** Again and again, until the command is stopped. */
  readonly watch: boolean;
  /** Between two looks, in ms; at least 100. */
  readonly intervalMs: number;
}

/**
 * Shows the counters of all consumers of a server: a table, or one JSON list; with `watch` again at each interval.
 * @param stop ends the watching; its reason is the status to end with
 * @throws RoomtapError as `withServer`; `insufficient_scope` without `admin`
 */
export async function consumersCommand(
  options: ConsumersOptions,
  { out, note }: Output,
  stop: AbortSignal,
  clock: Clock = systemClock,
): Promise<number> {
  const { json, watch, intervalMs } = options;
  const look = async (client: Client): Promise<number> => {
    for (let isFirst = true; ; isFirst = false) {
      const { consumers } = await client.call("consumers.list", {});
      if (json) await out(jsonText(consumers));
      else {
        if (!isFirst) await out("");
        for (const line of consumerTable(consumers)) await out(line);
      }
      if (consumers.length === 0 && isFirst) note("no consumer is registered");
      if (!watch || (await nextTick(clock, intervalMs, stop)) === "stopped") break;
    }
    return typeof stop.reason === "number" ? stop.reason : 0;
  };
  return withServer(options, note, look);
}
