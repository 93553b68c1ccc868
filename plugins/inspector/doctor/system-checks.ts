import { statfsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { messageOf, systemClock } from "../../../core/index.ts";
import { openSqliteLog } from "../../../rooms/index.ts";
import { fine, problem, warning, type Finding } from "./finding.ts";

/** The oldest version of Node that works. */
const neededNode = { major: 20, minor: 19 } as const;

const mebibyte = 1_048_576;
/** Free bytes of a disk. Below the first a log soon cannot be written, below the second it is time to look. */
const diskBounds = { problem: 64 * mebibyte, warning: 1_024 * mebibyte } as const;

/** @param version as `process.versions.node` says it. Pure. */
export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isNew = major > neededNode.major || (major === neededNode.major && minor >= neededNode.minor);
  const needed = `${neededNode.major}.${neededNode.minor}`;
  if (isNew) return fine("node", `Node ${version}`);
  return problem("node", `Node ${version} is older than ${needed}`, `Install Node ${needed} or newer.`);
}

/** Whether SQLite, which is compiled for each system, loads here. */
export async function sqliteFinding(): Promise<Finding> {
  try {
    await (await openSqliteLog({ file: ":memory:", clock: systemClock })).close();
    return fine("sqlite", "better-sqlite3 loads");
  } catch (fault) {
    const remedy =
      "Run `npm rebuild better-sqlite3` with this version of Node; it may need a C++ compiler, make and Python 3.";
    return problem("sqlite", `better-sqlite3 does not load: ${messageOf(fault)}`, remedy);
  }
}

/** How much room the disk of a database has. */
export function diskFinding(db: string): Finding {
  const folder = dirname(resolve(db));
  try {
    const { bavail, bsize } = statfsSync(folder);
    return judgeDisk(bavail * bsize, folder);
  } catch (fault) {
    return warning("disk", `${folder}: ${messageOf(fault)}`, "See that the folder of the database is there.");
  }
}

/** Pure. */
export function judgeDisk(freeBytes: number, folder: string): Finding {
  const free = `${Math.floor(freeBytes / mebibyte)} MiB free at ${folder}`;
  if (freeBytes < diskBounds.problem) return problem("disk", free, "Make room: a full disk stops every room.");
  return freeBytes < diskBounds.warning ? warning("disk", free, "Make room before it is full.") : fine("disk", free);
}
