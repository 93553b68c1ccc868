import type { Clock } from "../../core/index.ts";

/** Tells how far a long piece of work has come. */
export interface Progress {
  /** @param total of the work, in the same unit as `done`; 0 when it is not known */
  readonly step: (done: number, total: number) => void;
  /** Takes the bar away, so that a line can be written; the next step draws it again. */
  readonly clear: () => void;
}

/** Where there is nobody to look. */
export const noProgress: Progress = { step: () => undefined, clear: () => undefined };

/** Work that is over before shows none. */
const quietMs = 300;
/** The least time between two drawings. */
const redrawMs = 100;
const barCells = 24;

/** A bar on one line of a terminal; it appears when the work takes long, and is gone when it is cleared. */
export function progressBar(parts: {
  readonly label: string;
  readonly clock: Pick<Clock, "monotonic">;
  /** Writes to the terminal, without a line break. */
  readonly write: (text: string) => void;
  /** Columns of the terminal. */
  readonly width: () => number;
}): Progress {
  const { label, clock, write, width } = parts;
  const begun = clock.monotonic();
  let drawnAt = -Infinity;
  return {
    step(done, total) {
      const now = clock.monotonic();
      if (now - begun < quietMs || now - drawnAt < redrawMs) return;
      drawnAt = now;
      write(`\r\u001b[K${barLine({ label, done, total, width: width() })}`);
    },
    clear() {
      if (drawnAt === -Infinity) return;
      drawnAt = -Infinity;
      write("\r\u001b[K");
    },
  };
}

/** `verify  [########----------------]  33 %  1200 of 3600`, cut to the width. Pure. */
export function barLine(about: {
  readonly label: string;
  readonly done: number;
  readonly total: number;
  readonly width: number;
}): string {
  const { label, done, total, width } = about;
  // The last column stays free: a terminal would begin a new line.
  const cut = (line: string): string => line.slice(0, Math.max(0, width - 1));
  if (total <= 0) return cut(`${label}  ${done}`);
  const part = Math.min(1, Math.max(0, done / total));
  const full = Math.floor(part * barCells);
  const bar = `${"#".repeat(full)}${"-".repeat(barCells - full)}`;
  return cut(`${label}  [${bar}]  ${Math.floor(part * 100)} %  ${done} of ${total}`);
}
