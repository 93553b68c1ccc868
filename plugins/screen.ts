import type { Undo } from "../core/index.ts";
import { keysOf, type Key } from "./keys.ts";

/** The terminal that a screen is drawn on. */
export interface Terminal {
  readonly output: {
    readonly columns?: number | undefined;
    readonly rows?: number | undefined;
    write(text: string): boolean;
    on(event: "resize" | "drain", listener: () => void): unknown;
    off(event: "resize" | "drain", listener: () => void): unknown;
  };
  /** null when keys come from nowhere. */
  readonly input: {
    setRawMode(isRaw: boolean): unknown;
    setEncoding(encoding: "utf8"): unknown;
    resume(): unknown;
    pause(): unknown;
    on(event: "data", listener: (text: string) => void): unknown;
    off(event: "data", listener: (text: string) => void): unknown;
  } | null;
  /** Calls back when the process is about to end, however it does. */
  readonly onExit: (restore: () => void) => Undo;
}

/** Alternate screen, no cursor; and back. */
const enterText = "\u001b[?1049h\u001b[?25l\u001b[2J";
const leaveText = "\u001b[?25h\u001b[?1049l";

/** The whole of a terminal, for as long as it is open. What stood there before is there again when it is closed. */
export class Screen {
  readonly #terminal: Terminal;
  readonly #undos: Undo[] = [];
  #isOpen = true;
  #isFull = false;

  constructor(terminal: Terminal, listeners: { readonly onKey: (key: Key) => void; readonly onResize: () => void }) {
    this.#terminal = terminal;
    const { input, output } = terminal;
    // First of all: from now on the terminal is put back whatever happens.
    this.#undos.push(terminal.onExit(() => this.close()));
    const onDrain = (): void => void (this.#isFull = false);
    output.on("resize", listeners.onResize);
    output.on("drain", onDrain);
    this.#undos.push(
      () => void output.off("resize", listeners.onResize),
      () => void output.off("drain", onDrain),
    );
    if (input !== null) {
      const onData = (text: string): void => keysOf(text).forEach(listeners.onKey);
      input.setEncoding("utf8");
      input.setRawMode(true);
      input.on("data", onData);
      input.resume();
      this.#undos.push(() => {
        input.off("data", onData);
        input.setRawMode(false);
        input.pause();
      });
    }
    output.write(enterText);
  }

  /** Columns and rows; those of a usual terminal where it does not say. */
  get size(): { readonly width: number; readonly height: number } {
    const { columns, rows } = this.#terminal.output;
    return { width: columns || 80, height: rows || 24 };
  }

  /** Draws lines over what stands there. A terminal that does not keep up misses pictures, never parts of one. */
  draw(lines: readonly string[]): void {
    if (!this.#isOpen || this.#isFull) return;
    const text = lines.map((line) => `${line}\u001b[K`).join("\r\n");
    this.#isFull = !this.#terminal.output.write(`\u001b[H${text}\u001b[J`);
  }

  /** Puts the terminal back as it was. Safe to call twice. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const undo of this.#undos.toReversed()) undo();
    this.#terminal.output.write(leaveText);
  }
}

/** Signals that end a process at once unless somebody listens, beside those that stop a command. */
const endingSignals = ["SIGHUP", "SIGQUIT"] as const;

/**
 * The terminal of this process.
 * @returns null when standard output is none
 */
export function terminalOf(own: NodeJS.Process): Terminal | null {
  const { stdin, stdout } = own;
  if (!stdout.isTTY) return null;
  return {
    output: stdout,
    input: stdin.isTTY ? stdin : null,
    onExit: (restore) => {
      // Before the fault is written, which else went to the screen that is taken away.
      own.on("uncaughtExceptionMonitor", restore);
      own.on("exit", restore);
      const undos = endingSignals.map((signal) => {
        const onSignal = (): void => {
          restore();
          own.kill(own.pid, signal);
        };
        own.once(signal, onSignal);
        return () => own.off(signal, onSignal);
      });
      return () => {
        own.off("uncaughtExceptionMonitor", restore);
        own.off("exit", restore);
        for (const undo of undos) undo();
      };
    },
  };
}
