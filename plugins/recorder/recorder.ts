import { mkdir } from "node:fs/promises";
import { messageOf, RoomtapError, type ActivityEvent, type ActivityKind } from "../../core/index.ts";
import { counted } from "../counted.ts";
import { packageVersion } from "../package-version.ts";
import { kindsOf, type KindPattern } from "../patterns.ts";
import type { PluginContext } from "../plugin.ts";
import { folderPlace } from "../recording-files.ts";
import { recordingVersion, type RecordingHeader } from "../recording.ts";
import { RecordingWriter } from "../recording-writer.ts";
import type { RecorderSettings } from "./config.ts";

/** Events of one call: what one write to the disk takes at most. */
const maxBatch = 256;

/** How long the recorder waits for a disk that takes nothing: at first, and at most. */
const firstWaitMs = 1_000;
const longestWaitMs = 30_000;

type Level = RecordingHeader["options"]["payload"];

/** One recording, from its first file to its last line. */
export class Recorder {
  readonly #context: PluginContext;
  readonly #writer: RecordingWriter;
  /** Events that came, gaps not counted; and those that gaps told of. */
  #received = 0;
  #told = 0;

  private constructor(context: PluginContext, writer: RecordingWriter) {
    this.#context = context;
    this.#writer = writer;
  }

  /**
   * Begins a file and records from now on.
   * @throws RoomtapError `recording_unwritable`, `unknown_kind`, `not_granted`
   */
  static async start(context: PluginContext, settings: RecorderSettings, payload: Level): Promise<void> {
    const { folder, name, maxFileBytes, maxFileAgeMs, keepFiles } = settings;
    const { clock, logger } = context;
    const header = headerOf(settings, payload, clock.now());
    await makeFolder(folder);
    const writer = await RecordingWriter.open({
      ...{ header, clock, maxFileBytes, maxFileAgeMs, keepFiles },
      place: folderPlace(folder, name, header.started_at),
      onNote: (message) => logger.warn(message),
    });
    const recorder = new Recorder(context, writer);
    // Undone in reverse: what was lost is counted while the handler still stands, and the file is closed behind it.
    context.defer(() => recorder.#close());
    context.on(settings.kinds as readonly KindPattern[], (events) => recorder.#take(events), {
      batch: maxBatch,
      payload,
      ...(settings.rooms === null ? {} : { rooms: settings.rooms }),
    });
    context.defer(() => recorder.#countUnheard());
  }

  /** Returns when all of it is written, or when the plugin is unloaded: meanwhile the queue holds what comes, and drops. */
  async #take(events: readonly ActivityEvent[]): Promise<void> {
    for (const event of events) {
      if (event.kind === "gap") this.#told += event.payload.dropped;
      else this.#received += 1 + mergedInto(event);
      this.#writer.add(event);
    }
    if (await this.#isWritten()) return;
    const { clock } = this.#context;
    const since = clock.monotonic();
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
      await this.#wait(waitMs);
      if (this.#context.signal.aborted) return;
      if (await this.#isWritten(since)) return;
    }
  }

  /** @param since when the disk took nothing for the first time; told of at the first failure, and at the end of it */
  async #isWritten(since?: number): Promise<boolean> {
    const { clock, logger } = this.#context;
    try {
      await this.#writer.flush();
    } catch (fault) {
      if (since === undefined) {
        const fields = { code: fault instanceof RoomtapError ? fault.code : "internal" };
        logger.error(`the recording waits, and what its queue cannot hold is lost: ${messageOf(fault)}`, fields);
      }
      return false;
    }
    if (since !== undefined) {
      const seconds = Math.round((clock.monotonic() - since) / 1_000);
      logger.warn(`the recording goes on after ${counted(seconds, "second")}; its gaps tell what is missing`);
    }
    return true;
  }

  #wait(ms: number): Promise<void> {
    const { clock, signal } = this.#context;
    return new Promise((resolve) => {
      const go = (): void => {
        stop();
        signal.removeEventListener("abort", go);
        resolve();
      };
      const stop = clock.after(ms, go);
      signal.addEventListener("abort", go);
      if (signal.aborted) go();
    });
  }

  /** What its queue dropped and no gap told of, and what it still held when it was unloaded. */
  async #countUnheard(): Promise<void> {
    const [stats] = await this.#context.stats();
    const events = stats === undefined ? 0 : stats.published - this.#received - this.#told;
    if (events <= 0) return;
    this.#writer.lost({ coordinates: null, first_n: null, last_n: null, events, reason: "unloaded" });
  }

  async #close(): Promise<void> {
    try {
      await this.#writer.close();
    } catch (fault) {
      const left = this.#writer.waiting;
      this.#context.logger.error(`the recording was not closed; ${counted(left, "event")} lost: ${messageOf(fault)}`);
    }
  }
}

/** Events that went into a merged delta, beside its last. */
function mergedInto({ n, n_from }: ActivityEvent): number {
  return n === null || n_from === undefined ? 0 : n - n_from;
}

function headerOf(
  { rooms, kinds }: RecorderSettings,
  payload: Level,
  startedAtMs: number,
): Omit<RecordingHeader, "part"> {
  const wanted: readonly ActivityKind[] = kindsOf(kinds);
  return {
    roomtap_recording: recordingVersion,
    started_at: startedAtMs,
    host: { version: packageVersion() },
    options: {
      rooms: rooms === null ? null : [...rooms],
      payload,
      ...(kinds.includes("*") ? {} : { kinds: [...wanted] }),
    },
  };
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new RoomtapError("recording_unwritable", `${folder}: ${messageOf(cause)}`, { cause });
  }
}
