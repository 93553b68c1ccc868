import { isGone, processMark, type LeaseRow } from "../../rooms/index.ts";

/** Who may write a room, as far as this machine can tell. */
export type LeaseHolder =
  /** Nobody: it was given back, or never claimed. */
  | "none"
  /** A process of this machine that runs. */
  | "alive"
  /** A process of this machine that has ended without a word. */
  | "gone"
  /** One of another machine or container, or where the system does not tell. */
  | "unknown";

/** Judges the holder of a lease by its process: only of this boot and pid namespace anything can be told. */
export function holderOf({ released, process }: LeaseRow, own = processMark()): LeaseHolder {
  if (released) return "none";
  if (process === null) return "unknown";
  if (isGone(process, own)) return "gone";
  const isHere =
    process.boot_id !== "" && process.boot_id === own.boot_id && process.pid_namespace === own.pid_namespace;
  return isHere ? "alive" : "unknown";
}
