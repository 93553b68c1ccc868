import { readFile } from "node:fs/promises";
import { RoomtapError, type ActivityEvent } from "../../core/index.ts";
import { parseRecording } from "../recording.ts";

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

/**
 * Reads a recording: JSON Lines, as the plugin `recorder` writes them. A last line that is cut off, as a process leaves it
 * that died, is left out.
 * @throws RoomtapError `invalid_recording` that names the line; what the file system throws
 */
export async function readRecording(source: RecordingSource): Promise<Recording> {
  const texts =
    "text" in source ? [source.text] : await Promise.all([source.file].flat().map((file) => readFile(file, "utf8")));
  const parts = texts.map((text) => parseRecording(text.split("\n")));
  const first = parts[0]?.header;
  if (first === undefined) throw bad("expected a file, got none");
  // The first file has no number or 1; the others count on from there.
  const begin = first.part ?? 1;
  parts.forEach(({ header: { part = 1 } }, index) => {
    if (part !== begin + index) throw bad(`file ${index + 1}: expected part ${begin + index}, got part ${part}`);
  });
  return {
    events: parts.flatMap(({ events }) => events),
    started_at: first.started_at,
    end: parts.at(-1)?.end ?? null,
  };
}

function bad(what: string): RoomtapError {
  return new RoomtapError("invalid_recording", `recording: ${what}`);
}
