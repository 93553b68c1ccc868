/** Listeners of one thing. One that throws stops no other. */
export class Listeners<Told> {
  readonly #listeners = new Set<{ readonly run: (told: Told) => void }>();
  readonly #failed: (cause: unknown) => void;

  constructor(failed: (cause: unknown) => void) {
    this.#failed = failed;
  }

  /** Returns its undo. */
  add(run: (told: Told) => void): () => void {
    const entry = { run };
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /** Calls each, in order of registration. */
  tell(told: Told): void {
    for (const { run } of [...this.#listeners]) {
      try {
        run(told);
      } catch (cause) {
        this.#failed(cause);
      }
    }
  }
}
