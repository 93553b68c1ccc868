import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { z } from "zod";
import {
  activityEventSchema,
  coordinatesSchema,
  limits,
  messageOf,
  RoomtapError,
  type ActivityEvent,
} from "../core/index.ts";
import { firstProblem } from "./runners/index.ts";

/** The format of recordings that this version writes and reads. */
export const recordingVersion = 1;

const headerSchema = z.strictObject({
  roomtap_recording: z.literal(recordingVersion),
  /** Wall ms at which the recording began, also in its later parts. */
  started_at: z.number(),
  host: z.strictObject({ version: z.string() }),
  options: z.strictObject({
    /** Ids of the rooms that were recorded; null: all. */
    rooms: z.array(z.string()).nullable(),
    payload: z.enum(["meta", "standard", "full"]),
    /** Absent: all. */
    kinds: z.array(z.string()).optional(),
  }),
  /** Which file of the recording this is; the first one need not say so. */
  part: z.int().min(1).optional(),
});

const lostSchema = z.strictObject({
  lost: z.strictObject({
    coordinates: coordinatesSchema.nullable(),
    first_n: z.int().min(1).nullable(),
    last_n: z.int().min(1).nullable(),
    events: z.int().min(1),
    reason: z.string(),
  }),
});

const endSchema = z.strictObject({
  end: z.literal(true),
  events: z.int().min(0),
  gaps: z.int().min(0),
  dropped: z.int().min(0),
  /** It goes on in a next file. */
  continued: z.literal(true).optional(),
});

/** A newer host may have kinds that this one does not know. */
const eventSchema = activityEventSchema.extend({ kind: z.string() });

/** The first line of a recording's file. */
export type RecordingHeader = z.output<typeof headerSchema>;
/** Events that are missing in a recording and that no `gap` tells of. */
export type RecordingLoss = z.output<typeof lostSchema>["lost"];
/** The last line of a file that was closed: what stands in it. `dropped` are events that gaps and losses tell of. */
export type RecordingEnd = z.output<typeof endSchema>;

/** A recording that was read back. */
export interface Recording {
  readonly header: RecordingHeader;
  /** In order of delivery, gaps among them. */
  readonly events: readonly ActivityEvent[];
  /** What was lost, and before which of `events` by index. */
  readonly losses: readonly (RecordingLoss & { readonly before: number })[];
  /** null when it was not closed: its writer died, or still writes. */
  readonly end: RecordingEnd | null;
  /** Its last line was cut off in the middle, and left out. */
  readonly isCut: boolean;
}

/**
 * Reads a recording: a file by its path, or its lines. Files of one recording are read as one when their lines follow each
 * other. What stands behind its last whole line is left out.
 * @throws RoomtapError `invalid_recording`, naming the line; `payload_too_large` for a file above 256 MiB
 */
export async function readRecording(source: string | Iterable<string> | AsyncIterable<string>): Promise<Recording> {
  if (typeof source !== "string") return parseRecording(await allOf(source));
  try {
    const { size } = await stat(source);
    if (size > limits.maxRecordingBytes) {
      const most = `${limits.maxRecordingBytes} bytes`;
      throw new RoomtapError("payload_too_large", `${source}: expected a recording of at most ${most}, got ${size}`);
    }
    return parseRecording(await allOf(linesOf(createReadStream(source, "utf8"))));
  } catch (cause) {
    if (cause instanceof RoomtapError && cause.code !== "invalid_recording") throw cause;
    throw new RoomtapError("invalid_recording", `${source}: ${messageOf(cause)}`, { cause });
  }
}

/**
 * The same of lines that are all there. Only the last one may be cut off.
 * @throws RoomtapError `invalid_recording`, naming the line
 */
export function parseRecording(lines: Iterable<string>): Recording {
  const reading = new Reading();
  let number = 0;
  let cut: { readonly number: number; readonly cause: unknown } | null = null;
  for (const line of lines) {
    number++;
    if (cut !== null) throw invalid(cut.number, "expected JSON", cut.cause);
    if (line === "") continue;
    const value = jsonOf(line);
    if (value instanceof SyntaxError) cut = { number, cause: value };
    else reading.take(value, number);
  }
  return reading.recording(cut !== null);
}

/** What has been read so far. */
class Reading {
  readonly #events: ActivityEvent[] = [];
  readonly #losses: (RecordingLoss & { readonly before: number })[] = [];
  #header: RecordingHeader | null = null;
  #part = 1;
  #end: RecordingEnd | null = null;
  #ended: RecordingEnd = { end: true, events: 0, gaps: 0, dropped: 0 };

  take(value: unknown, number: number): void {
    if (this.#header === null || isOf(value, "roomtap_recording")) return this.#begin(value, number);
    if (this.#end !== null) throw invalid(number, "expected nothing behind the line that ends it");
    if (isOf(value, "lost")) {
      const { lost } = parsed(lostSchema, value, number);
      this.#losses.push({ ...lost, before: this.#events.length });
    } else if (isOf(value, "end")) this.#close(parsed(endSchema, value, number));
    else {
      // Payloads are loose in a recording, as they are on the wire: a newer host may tell more.
      this.#events.push(parsed(eventSchema, value, number) as unknown as ActivityEvent);
    }
  }

  recording(isCut: boolean): Recording {
    if (this.#header === null) throw invalid(1, "expected the header of a recording, got nothing");
    const [header, events, losses, end] = [this.#header, this.#events, this.#losses, this.#end];
    return { header, events, losses, end, isCut };
  }

  /** A header in the middle begins the next file of the same recording; one that died before has no end. */
  #begin(value: unknown, number: number): void {
    if (!isOf(value, "roomtap_recording")) throw invalid(number, "expected the header of a recording");
    const header = parsed(headerSchema, value, number);
    const isNext = header.part === this.#part + 1 && header.started_at === this.#header?.started_at;
    if (this.#header !== null && !isNext) throw invalid(number, `expected part ${this.#part + 1} of this recording`);
    this.#part = header.part ?? 1;
    this.#header ??= header;
    this.#end = null;
  }

  /** Each file counts its own lines: the sum is told. */
  #close({ events, gaps, dropped, ...rest }: RecordingEnd): void {
    const before = this.#ended;
    this.#end = this.#ended = {
      ...rest,
      ...{ events: before.events + events, gaps: before.gaps + gaps, dropped: before.dropped + dropped },
    };
  }
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (fault) {
    return fault;
  }
}

function isOf(value: unknown, key: string): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key);
}

function parsed<Output>(schema: z.ZodType<Output>, value: unknown, number: number): Output {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalid(number, firstProblem(result.error, []), result.error);
}

function invalid(number: number, why: string, cause?: unknown): RoomtapError {
  return new RoomtapError("invalid_recording", `line ${number}: ${why}`, { cause });
}

/** Lines of pieces of text, without their ends; the last one too, when nothing ends it. */
async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = "";
  for await (const piece of pieces) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}

async function allOf(lines: Iterable<string> | AsyncIterable<string>): Promise<readonly string[]> {
  const all: string[] = [];
  for await (const line of lines) all.push(line);
  return all;
}
