import { mkdir, stat } from "node:fs/promises";
import { messageOf, RoomtapError, systemClock, type ActivityEvent, type Clock } from "../../../core/index.ts";
import type { ActivityLoss, Client, RoomListener } from "../../client/index.ts";
import { counted } from "../../counted.ts";
import type { Output } from "../../output.ts";
import { packageVersion } from "../../package-version.ts";
import { kindsOf } from "../../patterns.ts";
import { folderPlace, singlePlace, type RecordingPlace } from "../../recording-files.ts";
import { recordingVersion, type RecordingHeader } from "../../recording.ts";
import { RecordingWriter } from "../../recording-writer.ts";
import { jsonText } from "../../terminal-text.ts";
import { LineQueue, type LinesEnd } from "../line-queue.ts";
import { withServer, type RemoteOptions } from "../remote.ts";
import { endOf, tellDrops } from "./tail.ts";

/** What `roomtap record` is asked for. */
export interface RecordOptions extends RemoteOptions {
  readonly room: string;
  /** A file that is not there yet, or a folder: one that is there, or a path with a slash at its end. */
  readonly out: string;
  /** Kinds or families of them, e.g. `tool.*`; empty: all. */
  readonly kinds: readonly string[];
  /** Bytes of one file; for a folder alone. */
  readonly maxBytes?: number | undefined;
  /** Ends after so many events, gaps and losses counted; 1 or more. */
  readonly count?: number | undefined;
  readonly clock?: Clock | undefined;
}

type Recorded = { readonly event: ActivityEvent } | { readonly loss: ActivityLoss };

/**
 * Records the activity of a room until `stop` or so many events, over reconnects: what did not come meanwhile stands in it as
 * lost. The file is begun when the room is subscribed to, and closed with its last line however it ends.
 * @param stop its reason is the status with which the command ends
 * @throws RoomtapError `unknown_kind`, `invalid_params`, `recording_unwritable`, and as `withServer`
 */
export async function recordCommand(options: RecordOptions, output: Output, stop: AbortSignal): Promise<number> {
  const { room, count, clock = systemClock } = options;
  const header = headerOf(options, clock.now());
  const place = await placeOf(options, header.started_at);
  let writer: RecordingWriter | null = null;
  let begin = (): void => undefined;
  const hasBegun = new Promise<void>((resolve) => (begin = resolve));
  const lines = new LineQueue<Recorded>(async (line) => {
    await hasBegun;
    if (writer !== null) await write(writer, line);
  }, count);
  const follow = async (client: Client): Promise<number | LinesEnd> => {
    tellDrops(client, output.note);
    const ending = Promise.race([endOf(client, stop), lines.ended]);
    // Heard of below; when the file cannot be begun, nobody waits for it any more.
    ending.catch(() => undefined);
    const { kinds } = header.options;
    const request = kinds === undefined ? { room_id: room } : { room_id: room, kinds };
    const subscription = await Promise.race([client.subscribeRoom(request, listenerOf(lines)), ending]);
    if (typeof subscription !== "object") return subscription;
    writer = await RecordingWriter.open({ place, header, clock, maxFileBytes: options.maxBytes });
    begin();
    output.note(`recording ${room} in ${writer.file}`);
    const end = await ending;
    await subscription.close().catch(() => undefined);
    await lines.written();
    return end;
  };
  try {
    const end = await withServer(options, output.note, follow, { reconnect: true });
    return await conclude(end, writer, options, output);
  } catch (fault) {
    // What was recorded until then stands, and is closed as far as the disk takes it.
    await conclude(0, writer, options, output).catch(() => undefined);
    throw fault;
  } finally {
    begin();
  }
}

async function write(writer: RecordingWriter, line: Recorded): Promise<void> {
  if ("event" in line) writer.add(line.event);
  else writer.lost(line.loss);
  await writer.flush();
}

/** Closes the recording and says what there is; gives the status. */
async function conclude(
  end: number | LinesEnd,
  writer: RecordingWriter | null,
  { json }: RecordOptions,
  { out, note }: Output,
): Promise<number> {
  if (end === "unread") note("the disk does not take events as fast as they come: it ends here");
  if (writer !== null) {
    await writer.close();
    const { file, written } = writer;
    const { events, gaps, dropped, files } = written;
    if (json) await out(jsonText({ type: "summary", file, files, events, gaps, dropped }));
    note(
      `${counted(events, "event")} in ${counted(files, "file")}, ${counted(gaps, "gap")}, lost: ${dropped}; ${file}`,
    );
  }
  if (typeof end === "number") return end;
  return end === "unread" ? 1 : 0;
}

function listenerOf(lines: LineQueue<Recorded>): RoomListener {
  return {
    onActivity: (event) => lines.push({ event }),
    // What the server had to drop stands in the gap that tells of it.
    onLoss: (loss) => {
      if (loss.reason !== "overflow") lines.push({ loss });
    },
    onEnd: (error) => lines.fail(error),
  };
}

function headerOf({ room, kinds }: RecordOptions, startedAtMs: number): Omit<RecordingHeader, "part"> {
  return {
    roomtap_recording: recordingVersion,
    started_at: startedAtMs,
    host: { version: packageVersion() },
    options: {
      rooms: [room],
      payload: "standard",
      ...(kinds.length === 0 ? {} : { kinds: [...kindsOf(kinds)] }),
    },
  };
}

/** @throws RoomtapError `invalid_params` for a bound of files when there is only one; `recording_unwritable` */
async function placeOf({ out, room, maxBytes }: RecordOptions, startedAtMs: number): Promise<RecordingPlace> {
  const found = await stat(out).catch(() => null);
  if (found?.isDirectory() === true || out.endsWith("/")) {
    try {
      await mkdir(out, { recursive: true, mode: 0o700 });
    } catch (cause) {
      throw new RoomtapError("recording_unwritable", `${out}: ${messageOf(cause)}`, { cause });
    }
    return folderPlace(out, room.replaceAll(/[^A-Za-z0-9._-]/g, "_").slice(0, 64), startedAtMs);
  }
  if (found !== null) throw new RoomtapError("recording_unwritable", `${out} exists, and is not written over`);
  if (maxBytes === undefined) return singlePlace(out);
  throw new RoomtapError("invalid_params", "--max-bytes: it begins new files, so --out has to be a folder");
}
