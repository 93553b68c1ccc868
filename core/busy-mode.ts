import { isPlain } from "./prompt.ts";
import type { Correction } from "./runner.ts";
import type { QueuedPrompt } from "./session-store.ts";

/**
 * What a prompt does while a turn runs. `interrupt`: it redirects the turn, or, where that cannot be, stops it and runs
 * next. `steer`: it is added to what the turn does, or waits. `queue`: it waits.
 */
export const busyModes = ["interrupt", "steer", "queue"] as const;
/** A word of `busyModes`. */
export type BusyMode = (typeof busyModes)[number];

/** A prompt that meets a running turn. */
export interface BusyPrompt {
  readonly mode: BusyMode;
  readonly prompt: QueuedPrompt;
  /** Its sender wants it to wait for a turn of its own. */
  readonly waits: boolean;
}

/** How the prompt is offered to the running turn; null when it is not, since only plain text can correct. */
export function correctionOf({ mode, prompt, waits }: BusyPrompt): Correction["kind"] | null {
  if (waits || mode === "queue" || !isPlain(prompt)) return null;
  return mode === "steer" ? "steer" : "redirect";
}

/** Whether the running turn is asked to stop for a prompt that did not correct it. */
export function stopsTurn({ mode, prompt, waits }: BusyPrompt): boolean {
  return mode === "interrupt" && !waits && prompt.attachments === undefined;
}
