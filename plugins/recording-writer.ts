import { unlink } from "node:fs/promises";
import { messageOf, RoomtapError, Steps, type ActivityEvent, type Clock } from "../core/index.ts";
import { eventText } from "./event-text.ts";
import { createFile, removeOldest, type RecordingFile, type RecordingPlace } from "./recording-files.ts";
import type { RecordingEnd, RecordingHeader, RecordingLoss } from "./recording.ts";

/** What a recording is written with. */
export interface RecordingOptions {
  readonly place: RecordingPlace;
  readonly header: Omit<RecordingHeader, "part">;
  readonly clock: Clock;
  /** A file that would be larger is closed, and the next one begun. Default: no bound. A single line may be larger. */
  readonly maxFileBytes?: number | undefined;
  /** The same for one that was begun so long ago, when the next line comes. Default: no bound. */
  readonly maxFileAgeMs?: number | undefined;
  /** Files that stay, the one that is written counted. Default: all. */
  readonly keepFiles?: number | undefined;
  /** Makes a file that was not there. Default: on the disk. */
  readonly create?: ((path: string) => Promise<RecordingFile>) | undefined;
  /** Told that older files could not be removed. */
  readonly onNote?: ((message: string) => void) | undefined;
}

interface Line {
  readonly bytes: Buffer;
  readonly counts: Counts;
}

interface Counts {
  readonly events: number;
  readonly gaps: number;
  readonly dropped: number;
}

interface OpenFile {
  readonly handle: RecordingFile;
  readonly path: string;
  /** Monotonic ms. */
  readonly begunAt: number;
  /** Up to here it holds whole lines. */
  readonly bytes: number;
  readonly counts: Counts;
}

const none: Counts = { events: 0, gaps: 0, dropped: 0 };

/** One write takes so many bytes at most, unless one line is larger. */
const maxWriteBytes = 1_048_576;

/** Files of other programs that have the name of the next one are passed over, so many. */
const maxForeignFiles = 100;

/**
 * Writes a recording, in one file or in several. What could not be written stays, and is written by the next `flush` at the
 * same place: a disk that was full leaves no half line in the middle.
 */
export class RecordingWriter {
  readonly #options: RecordingOptions;
  readonly #steps = new Steps();
  #pending: Line[] = [];
  #file: OpenFile | null = null;
  #path: string;
  /** Files that were begun. */
  #parts = 0;
  /** The number in the next file's name. */
  #number = 1;
  #total: Counts = none;
  #isClosed = false;

  private constructor(options: RecordingOptions) {
    this.#options = options;
    this.#path = options.place.nameOf(1);
  }

  /**
   * Begins the first file, with its header.
   * @throws RoomtapError `recording_unwritable`
   */
  static async open(options: RecordingOptions): Promise<RecordingWriter> {
    const writer = new RecordingWriter(options);
    await writer.#steps.run(() => writer.#attempt(() => writer.#ready()));
    return writer;
  }

  /** The file that is written, or that was last. */
  get file(): string {
    return this.#path;
  }

  /** What has been written, over all files. */
  get written(): Counts & { readonly files: number } {
    return { ...this.#total, files: this.#parts };
  }

  /** Events and losses that are taken and not written. */
  get waiting(): number {
    return this.#pending.length;
  }

  /** Bytes of the file that is written. */
  get bytes(): number {
    return this.#file?.bytes ?? 0;
  }

  /** Takes an event, a gap too; `flush` writes it. */
  add(event: ActivityEvent): void {
    const counts = event.kind === "gap" ? { ...none, gaps: 1, dropped: event.payload.dropped } : { ...none, events: 1 };
    this.#push(eventText(event), counts);
  }

  /** Takes what is missing and no gap tells of. */
  lost(lost: RecordingLoss): void {
    this.#push(JSON.stringify({ lost }), { ...none, dropped: lost.events });
  }

  /**
   * Writes what was taken. After a failure what is not written waits for the next call.
   * @throws RoomtapError `recording_unwritable`, with the fault of the system as its cause; `closed`
   */
  flush(): Promise<void> {
    return this.#steps.run(() => this.#attempt(() => this.#flush()));
  }

  /**
   * Writes what was taken and the line that ends the file. When it fails the file is closed all the same, and readable up to
   * its last whole line. Safe to call twice.
   * @throws RoomtapError `recording_unwritable`
   */
  close(): Promise<void> {
    return this.#steps.run(async () => {
      if (this.#isClosed) return;
      try {
        await this.#attempt(async () => {
          await this.#flush();
          if (this.#file !== null) await this.#end({});
        });
      } finally {
        this.#isClosed = true;
        const file = this.#file;
        this.#file = null;
        await file?.handle.close().catch(() => undefined);
      }
    });
  }

  #push(text: string, counts: Counts): void {
    this.#pending.push({ bytes: Buffer.from(`${text}\n`), counts });
  }

  async #attempt(write: () => Promise<unknown>): Promise<void> {
    if (this.#isClosed) throw new RoomtapError("closed", "the recording is closed");
    try {
      await write();
    } catch (cause) {
      if (cause instanceof RoomtapError) throw cause;
      throw new RoomtapError("recording_unwritable", `${this.file}: ${messageOf(cause)}`, { cause });
    }
  }

  async #flush(): Promise<void> {
    while (this.#pending.length > 0) {
      const file = await this.#ready();
      const lines = this.#nextLines(file);
      if (lines.length === 0) await this.#end({ continued: true });
      else {
        await this.#write(file, lines);
        this.#pending.splice(0, lines.length);
      }
    }
  }

  /** Lines that fit into one write and into the file; none when the file has to be closed first. */
  #nextLines({ bytes, begunAt, counts }: OpenFile): readonly Line[] {
    const { clock, maxFileBytes = Infinity, maxFileAgeMs = Infinity } = this.#options;
    const isEmpty = counts.events + counts.gaps + counts.dropped === 0;
    if (!isEmpty && clock.monotonic() - begunAt >= maxFileAgeMs) return [];
    let size = 0;
    let count = 0;
    for (const line of this.#pending) {
      const next = size + line.bytes.length;
      const isFirst = count === 0;
      if (bytes + next > maxFileBytes && !(isFirst && isEmpty)) break;
      if (!isFirst && next > maxWriteBytes) break;
      size = next;
      count++;
    }
    return this.#pending.slice(0, count);
  }

  /** At its place and whole, or not at all: what a failure left of it is cut off, or else written over later. */
  async #write(file: OpenFile, lines: readonly Line[]): Promise<void> {
    const bytes = Buffer.concat(lines.map((line) => line.bytes));
    try {
      await writeAll(file.handle, bytes, file.bytes);
    } catch (fault) {
      await file.handle.truncate(file.bytes).catch(() => undefined);
      throw fault;
    }
    const counts = lines.reduce((sum, line) => plus(sum, line.counts), none);
    this.#file = { ...file, bytes: file.bytes + bytes.length, counts: plus(file.counts, counts) };
    this.#total = plus(this.#total, counts);
  }

  /** The file to write to; the next one is begun when there is none. */
  async #ready(): Promise<OpenFile> {
    if (this.#file !== null) return this.#file;
    const { clock, header, place, keepFiles, onNote } = this.#options;
    const { handle, path } = await this.#create();
    const part = this.#parts === 0 ? {} : { part: this.#parts + 1 };
    const line = Buffer.from(`${JSON.stringify({ ...header, ...part })}\n`);
    try {
      await writeAll(handle, line, 0);
    } catch (fault) {
      await handle.close().catch(() => undefined);
      await unlink(path).catch(() => undefined);
      throw fault;
    }
    this.#parts++;
    const file = { handle, path, begunAt: clock.monotonic(), bytes: line.length, counts: none };
    this.#file = file;
    if (keepFiles !== undefined && place.series !== null) {
      await removeOldest(path, place.series, keepFiles).catch((fault: unknown) => {
        onNote?.(`older recordings are not removed: ${messageOf(fault)}`);
      });
    }
    return file;
  }

  async #create(): Promise<{ readonly handle: RecordingFile; readonly path: string }> {
    const { place, create = createFile } = this.#options;
    const { nameOf } = place;
    for (let tries = 0; ; tries++) {
      const path = nameOf(this.#number);
      this.#path = path;
      try {
        const handle = await create(path);
        return { handle, path };
      } catch (fault) {
        const isForeign = (fault as { readonly code?: unknown }).code === "EEXIST";
        if (!isForeign || tries >= maxForeignFiles || nameOf(this.#number + 1) === path) throw fault;
        this.#number++;
      }
    }
  }

  /** Ends the file that is written, for good or to go on in a next one. */
  async #end(more: Pick<RecordingEnd, "continued">): Promise<void> {
    const file = await this.#ready();
    const end: RecordingEnd = { end: true, ...file.counts, ...more };
    await this.#write(file, [{ bytes: Buffer.from(`${JSON.stringify(end)}\n`), counts: none }]);
    // It has its last line: whatever becomes of it now, what follows goes to another file.
    this.#file = null;
    this.#number++;
    try {
      await file.handle.datasync();
    } finally {
      await file.handle.close();
    }
  }
}

async function writeAll(handle: RecordingFile, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    if (bytesWritten === 0) throw new Error("the system wrote nothing");
    done += bytesWritten;
  }
}

function plus(a: Counts, b: Counts): Counts {
  return { events: a.events + b.events, gaps: a.gaps + b.gaps, dropped: a.dropped + b.dropped };
}
