import type { Terminal } from "../../plugins/index.ts";

/** A terminal in memory, and what became of it. */
export interface FakeTerminal extends Terminal {
  /** All that was written to it. */
  readonly written: () => string;
  /** The lines of the last picture. */
  readonly picture: () => readonly string[];
  readonly isRaw: () => boolean;
  /** Listeners that were not taken off again. */
  readonly listeners: () => number;
  type(text: string): void;
  resize(columns: number, rows: number): void;
  /** The process ends, whatever the reason. */
  exit(): void;
  /** Whether further text is taken at once. */
  takes: boolean;
  drain(): void;
}

/** 80 columns and 12 rows until it is resized. */
export function fakeTerminal(): FakeTerminal {
  let text = "";
  let [columns, rows] = [80, 12];
  let isRaw = false;
  const heard = { resize: new Set<() => void>(), drain: new Set<() => void>() };
  const keys = new Set<(text: string) => void>();
  const exits = new Set<() => void>();
  const terminal: FakeTerminal = {
    takes: true,
    output: {
      get columns() {
        return columns;
      },
      get rows() {
        return rows;
      },
      write: (more) => {
        text += more;
        return terminal.takes;
      },
      on: (event, listener) => heard[event].add(listener),
      off: (event, listener) => heard[event].delete(listener),
    },
    input: {
      setRawMode: (raw) => void (isRaw = raw),
      setEncoding: () => undefined,
      resume: () => undefined,
      pause: () => undefined,
      on: (_, listener) => keys.add(listener),
      off: (_, listener) => keys.delete(listener),
    },
    onExit: (restore) => {
      exits.add(restore);
      return () => void exits.delete(restore);
    },
    written: () => text,
    picture: () =>
      (text.split("\u001b[H").at(-1) ?? "")
        .split("\u001b[J")[0]
        ?.split("\r\n")
        .map((line) => line.replace("\u001b[K", "")) ?? [],
    isRaw: () => isRaw,
    listeners: () => heard.resize.size + heard.drain.size + keys.size + exits.size,
    type: (more) => keys.forEach((listener) => listener(more)),
    resize: (width, height) => {
      [columns, rows] = [width, height];
      heard.resize.forEach((listener) => listener());
    },
    exit: () => [...exits].forEach((restore) => restore()),
    drain: () => {
      terminal.takes = true;
      heard.drain.forEach((listener) => listener());
    },
  };
  return terminal;
}
