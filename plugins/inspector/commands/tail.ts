import { RoomtapError } from "../../../core/index.ts";
import type { Client, RoomListener, RoomRequest } from "../../client/index.ts";
import type { Output } from "../../output.ts";
import { kindsOf } from "../../patterns.ts";
import { jsonText, terminalText } from "../../terminal-text.ts";
import { LineQueue, type LinesEnd } from "../line-queue.ts";
import { withServer, type RemoteOptions } from "../remote.ts";
import { activityLine, lossLine, summaryLine, TailCounts, type TailSummary } from "../tail-lines.ts";
import { rowLine } from "../row-line.ts";

/** What `roomtap tail` is asked for. */
export interface TailOptions extends RemoteOptions {
  readonly room: string;
  /** Kinds or families of them, e.g. `tool.*`; empty: all. */
  readonly kinds: readonly string[];
  /** Rows above this one first; without it only what happens from now on. */
  readonly since?: number | undefined;
  /** Ends after so many lines, 1 or more. */
  readonly count?: number | undefined;
  /** 1 when anything was lost. */
  readonly failOnLoss: boolean;
}

/** The kinds that rows tell of. */
const rowKinds: ReadonlySet<string> = new Set(["turn.started", "turn.settled"]);

/**
 * Follows a room, over reconnects, until `stop` or so many lines: a line for each row and for each event of activity, and at
 * the end how many there were, what was lost and where to go on. A row stands for the events of its turn's start and end.
 * @param stop its reason is the status with which the command ends
 * @throws RoomtapError `unknown_kind`, `invalid_params`, and as `withServer`
 */
export async function tailCommand(options: TailOptions, output: Output, stop: AbortSignal): Promise<number> {
  const kinds = new Set<string>(options.kinds.flatMap((pattern) => kindsOf(pattern)));
  if (options.count === 0) throw new RoomtapError("invalid_params", "--count: expected 1 line or more");
  const counts = new TailCounts(options.since ?? null);
  const lines = new LineQueue(output.out, options.count);
  const listener = listenerOf({ kinds, counts, lines, json: options.json });
  let hasBegun = false;
  const follow = async (client: Client): Promise<number | LinesEnd> => {
    tellDrops(client, output.note);
    const ended = endOf(client, stop);
    const subscribed = client.subscribeRoom(requestOf(options, kinds), listener);
    const ending = Promise.race([ended, lines.ended]);
    const subscription = await Promise.race([subscribed, ending]);
    if (typeof subscription !== "object") return subscription;
    counts.begin(subscription.cursor);
    hasBegun = true;
    const end = await ending;
    await subscription.close().catch(() => undefined);
    return end;
  };
  try {
    const end = await withServer(options, output.note, follow, { reconnect: true });
    await lines.written();
    return await conclude(end, counts.summary(), options, output);
  } catch (fault) {
    // What was seen until then stands, and so does where to go on.
    if (hasBegun) {
      await lines.written();
      await conclude(0, counts.summary(), options, output);
    }
    throw fault;
  }
}

/** Says once that the connection is lost, however many attempts it takes to make it again. */
export function tellDrops(client: Client, note: (line: string) => void): void {
  let isDown = false;
  client.onState((state) => {
    if (state === "waiting" && !isDown) note("the connection was lost; it is made again");
    if (state !== "connecting") isDown = state === "waiting";
  });
}

/** Says what there was; gives the status. */
async function conclude(
  end: number | LinesEnd,
  summary: TailSummary,
  { json, room, failOnLoss }: TailOptions,
  { out, note }: Output,
): Promise<number> {
  if (json) await out(jsonText({ type: "summary", ...summary }));
  if (end === "unread") note("the lines are not read as fast as they come: it ends here");
  note(summaryLine(room, summary));
  if (typeof end === "number" && end !== 0) return end;
  return end === "unread" || (failOnLoss && summary.lost > 0) ? 1 : 0;
}

/** Rows come whole in any case, so the events that say the same are not asked for. */
function requestOf({ room, since }: TailOptions, kinds: ReadonlySet<string>): RoomRequest {
  const wanted = [...kinds].filter((kind) => !rowKinds.has(kind));
  const request = since === undefined ? { room_id: room } : { room_id: room, since_seq: since };
  return kinds.size === 0 ? request : { ...request, kinds: wanted };
}

function listenerOf(parts: {
  readonly kinds: ReadonlySet<string>;
  readonly counts: TailCounts;
  readonly lines: LineQueue;
  readonly json: boolean;
}): RoomListener {
  const { kinds, counts, lines, json } = parts;
  const isWanted = (kind: string): boolean => kinds.size === 0 || kinds.has(kind);
  return {
    onRow: (row) => {
      if (lines.isFull) return;
      counts.row(row, isWanted(row.kind));
      if (isWanted(row.kind)) lines.push(json ? jsonText({ type: "row", row }) : terminalText(rowLine(row)));
    },
    onActivity: (event) => {
      if (lines.isFull || rowKinds.has(event.kind)) return;
      counts.activity(event);
      // What a gap tells of is told as a loss, or was withheld and is no loss.
      if (json) lines.push(jsonText({ type: "activity", event }));
      else if (event.kind !== "gap") lines.push(activityLine(event));
    },
    onLoss: (loss) => {
      if (lines.isFull) return;
      counts.loss(loss);
      lines.push(json ? jsonText({ type: "loss", loss }) : lossLine(loss));
    },
    onEnd: (error) => lines.fail(error),
  };
}

/** Resolves with a status when the command is to end; rejects when no connection follows. */
export function endOf(client: Client, stop: AbortSignal): Promise<number> {
  const ended = new Promise<number>((resolve, reject) => {
    const onStop = (): void => resolve(typeof stop.reason === "number" ? stop.reason : 130);
    if (stop.aborted) onStop();
    else stop.addEventListener("abort", onStop, { once: true });
    client.onEnd(reject);
  });
  // Closing the client in the end is heard here as well, when nobody waits any more.
  ended.catch(() => undefined);
  return ended;
}
