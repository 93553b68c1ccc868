import { open, readdir, unlink, type FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Names of the files of recordings, and how many of them stay. */
export interface RecordingPlace {
  /** The name of a recording's file, by part from 1. Names sort as parts do. */
  readonly nameOf: (part: number) => string;
  /** Which files beside it are of the same series, this recording's and those before it; null: none is ever removed. */
  readonly series: RegExp | null;
}

/** A single file, and no other. */
export function singlePlace(file: string): RecordingPlace {
  return { nameOf: () => file, series: null };
}

/** `FOLDER/NAME-20261130T223712345Z-000001.jsonl`: recordings sort by their beginning, and files of one by their part. */
export function folderPlace(folder: string, name: string, startedAtMs: number): RecordingPlace {
  const stamp = new Date(startedAtMs).toISOString().replaceAll(/[-:.]/g, "");
  return {
    nameOf: (part) => join(folder, `${name}-${stamp}-${String(part).padStart(6, "0")}.jsonl`),
    series: new RegExp(`^${name.replaceAll(/[.]/g, "\\.")}-\\d{8}T\\d{9}Z-\\d{6,}\\.jsonl$`),
  };
}

/** What is done with a file. */
export type RecordingFile = Pick<FileHandle, "write" | "truncate" | "datasync" | "close">;

/**
 * Makes a file that only its owner may read and that was not there before: no other one is ever written over, also not through
 * a link.
 */
export function createFile(path: string): Promise<RecordingFile> {
  return open(path, "wx", 0o600);
}

const headerStart = '{"roomtap_recording":';

/**
 * Removes the oldest files of the series of `file` until `keep` are left.
 * Files that have such a name and do not begin as recordings do are somebody else's, and stay.
 */
export async function removeOldest(file: string, series: RegExp, keep: number): Promise<void> {
  const folder = dirname(file);
  const names = (await readdir(folder)).filter((name) => series.test(name) && name !== basename(file)).toSorted();
  const ours: string[] = [];
  for (const name of names) if (await beginsAsRecording(join(folder, name))) ours.push(name);
  for (const name of ours.slice(0, Math.max(0, ours.length + 1 - keep))) await unlink(join(folder, name));
}

async function beginsAsRecording(path: string): Promise<boolean> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headerStart.length), 0, headerStart.length, 0);
    return buffer.toString("latin1", 0, bytesRead) === headerStart;
  } finally {
    await file.close();
  }
}
