import { readFile } from "node:fs/promises";
import { z } from "zod";
import { activityEventSchema, RoomtapError, type ActivityEvent } from "../../core/index.ts";

/** Where a recording is: a file, several that follow each other (a recorder rotates), or its text. */
export type RecordingSource = { readonly file: string | readonly string[] } | { readonly text: string };

/** A recording that was read. */
export interface Recording {
  /** In the order in which they were delivered to the recorder; gaps among them. */
  readonly events: readonly ActivityEvent[];
  /** Wall ms. */
  readonly started_at: number;
  /** Whether its last line says how it ended; null when the recorder was cut off. */
  readonly end: { readonly events: number; readonly gaps: number; readonly dropped: number } | null;
}

const headerSchema = z.looseObject({
  roomtap_recording: z.literal(1),
  started_at: z.number(),
  part: z.int().min(1).optional(),
});
const endSchema = z.looseObject({
  end: z.literal(true),
  events: z.int().min(0),
  gaps: z.int().min(0),
  dropped: z.int().min(0),
});
/** Of a newer host there may be kinds that this one does not know. */
const eventSchema = activityEventSchema.extend({ kind: z.string() });

/**
 * Reads a recording: JSON Lines, as the plugin `recorder` writes them. A last line that is cut off, as a process leaves it
 * that died, is left out.
 * @throws RoomtapError `invalid_params` that names the line; what the file system throws
 */
export async function readRecording(source: RecordingSource): Promise<Recording> {
  const texts =
    "text" in source ? [source.text] : await Promise.all([source.file].flat().map((file) => readFile(file, "utf8")));
  const parts = texts.map(readPart);
  const first = parts[0];
  if (first === undefined) throw bad("expected a file, got none");
  // The first file has no number or 1; the others count on from there.
  const begin = first.part ?? 1;
  parts.forEach(({ part = 1 }, index) => {
    if (part !== begin + index) throw bad(`file ${index + 1}: expected part ${begin + index}, got part ${part}`);
  });
  return {
    events: parts.flatMap(({ events }) => events),
    started_at: first.started_at,
    end: parts.at(-1)?.end ?? null,
  };
}

function readPart(text: string): Recording & { readonly part: number | undefined } {
  const lines = text.split("\n");
  const isWhole = lines.at(-1) === "";
  if (isWhole) lines.pop();
  const header = parse(headerSchema, jsonOf(lines[0], 1), 1);
  const events: ActivityEvent[] = [];
  let end: Recording["end"] = null;
  for (const [at, line] of lines.entries()) {
    if (at === 0) continue;
    const isCut = !isWhole && at === lines.length - 1;
    const value = jsonOf(line, at + 1, isCut);
    if (value === undefined) break;
    if (end !== null) throw bad(`line ${at + 1}: expected nothing behind the line that ends it`);
    if (typeof value === "object" && value !== null && "end" in value) end = parse(endSchema, value, at + 1);
    else events.push(parse(eventSchema, value, at + 1) as unknown as ActivityEvent);
  }
  return { events, started_at: header.started_at, part: header.part, end };
}

/** undefined for a last line that was cut off. */
function jsonOf(line: string | undefined, number: number, isCut = false): unknown {
  try {
    return JSON.parse(line ?? "");
  } catch (fault) {
    if (isCut) return undefined;
    throw new RoomtapError("invalid_params", `recording: line ${number}: expected JSON`, { cause: fault });
  }
}

function parse<Output>(schema: z.ZodType<Output>, value: unknown, number: number): Output {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const issue = error.issues[0];
  throw bad(`line ${number}: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? "does not fit"}`);
}

function bad(what: string): RoomtapError {
  return new RoomtapError("invalid_params", `recording: ${what}`);
}
