import { readFileSync, readlinkSync } from "node:fs";
import type { ProcessMark } from "./lease-row.ts";

/** What the kernel says of a process. */
export interface ProcessStat {
  readonly pid: number;
  /** One letter, e.g. `R` running, `Z` ended and not yet collected by its parent. */
  readonly state: string;
  readonly threads: number;
  /** Clock ticks since boot, as text: digits. */
  readonly started: string;
}

/** Places in `/proc/PID/stat` behind the name: fields 3, 20 and 22 of proc(5). */
const statFields = { state: 0, threads: 17, started: 19 } as const;

/** Reads the text of `/proc/PID/stat`; undefined when it is none. The name in it may hold blanks and parentheses. */
export function parseProcessStat(text: string): ProcessStat | undefined {
  const nameEnd = text.lastIndexOf(")");
  const pid = Number.parseInt(text, 10);
  const fields = text
    .slice(nameEnd + 1)
    .trim()
    .split(" ");
  const state = fields[statFields.state];
  const threads = Number(fields[statFields.threads]);
  const started = fields[statFields.started];
  if (nameEnd === -1 || !Number.isInteger(pid) || !Number.isInteger(threads)) return undefined;
  if (state === undefined || started === undefined || !/^\d+$/.test(started)) return undefined;
  return { pid, state, threads, started };
}

/**
 * The mark of this process. Where the system does not tell (anything but Linux, or no `/proc` of this namespace) the
 * fields are "": nobody can prove by it that the process is gone.
 */
export function processMark(): ProcessMark {
  const stat = statOf("self");
  const boot_id = readOr("", () => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
  const pid_namespace = readOr("", () => readlinkSync("/proc/self/ns/pid"));
  // A `/proc` of another pid namespace counts other processes than those this one can ask for.
  if (stat?.pid !== process.pid || boot_id === "" || pid_namespace === "") {
    return { boot_id: "", pid_namespace: "", pid: process.pid, started: "" };
  }
  return { boot_id, pid_namespace, pid: process.pid, started: stat.started };
}

/**
 * Whether the process of `mark` provably died: it ran in the present boot and pid namespace of this one, and its pid is
 * free, was given to a process that started at another time, or is that of a process that has ended. False says nothing:
 * it lives, or it cannot be told.
 */
export function isGone(mark: ProcessMark, own: ProcessMark = processMark()): boolean {
  if (mark.boot_id === "" || mark.pid_namespace === "" || mark.started === "" || mark.pid < 1) return false;
  if (mark.boot_id !== own.boot_id || mark.pid_namespace !== own.pid_namespace) return false;
  if (isFree(mark.pid)) return true;
  const stat = statOf(mark.pid);
  // The process is there, but `/proc` hides those of other users here.
  if (stat === undefined) return false;
  return stat.started !== mark.started || hasEnded(stat);
}

/** Ended, its parent has not collected it: no thread of it can write any more. */
function hasEnded({ state, threads }: ProcessStat): boolean {
  return (state === "Z" || state === "X") && threads <= 1;
}

/** Asked of the kernel itself: `/proc` may hide a process, a signal of number 0 finds it. */
function isFree(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (fault) {
    // EPERM: it is there and belongs to somebody else.
    return fault instanceof Error && "code" in fault && fault.code === "ESRCH";
  }
}

function statOf(which: number | "self"): ProcessStat | undefined {
  return readOr(undefined, () => parseProcessStat(readFileSync(`/proc/${which}/stat`, "utf8")));
}

function readOr<Value>(fallback: Value, read: () => Value): Value {
  try {
    return read();
  } catch {
    // No such file, or it may not be read: it cannot be told here.
    return fallback;
  }
}
