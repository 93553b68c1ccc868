/** A place where work can be held up. Open at first. */
export class Gate {
  #opened: Promise<void> | null = null;
  #open: () => void = () => undefined;

  get isClosed(): boolean {
    return this.#opened !== null;
  }

  /** Holds up what comes from now on. Gives what lets it go on; safe to call twice. */
  close(): () => void {
    this.#opened ??= new Promise((resolve) => (this.#open = resolve));
    return () => this.open();
  }

  open(): void {
    this.#opened = null;
    this.#open();
  }

  /** Does it at once when the gate is open, else when it has been opened. */
  pass<Value>(work: () => Value | Promise<Value>): Value | Promise<Value> {
    if (this.#opened === null) return work();
    return this.#opened.then(() => this.pass(work));
  }
}
