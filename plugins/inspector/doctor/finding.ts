import { errorTable, messageOf, RoomtapError } from "../../../core/index.ts";

/** How well a thing is: `problem` is what keeps a command from working. */
export type FindingLevel = "ok" | "warning" | "problem";

/** What was found out about one thing. */
export interface Finding {
  /** What was looked at, one word. */
  readonly check: string;
  readonly level: FindingLevel;
  readonly message: string;
  /** What to do; null when nothing is to be done. */
  readonly remedy: string | null;
}

/** It is as it should be. */
export function fine(check: string, message: string): Finding {
  return { check, level: "ok", message, remedy: null };
}

/** Something works, and will not for long or not well. */
export function warning(check: string, message: string, remedy: string): Finding {
  return { check, level: "warning", message, remedy };
}

/** Something does not work. */
export function problem(check: string, message: string, remedy: string): Finding {
  return { check, level: "problem", message, remedy };
}

/** The finding for a fault: an error of ours brings its remedy. */
export function problemOf(check: string, fault: unknown): Finding {
  if (fault instanceof RoomtapError) return problem(check, `${fault.code}: ${fault.message}`, fault.remedy);
  return problem(check, messageOf(fault), errorTable.internal.remedy);
}
