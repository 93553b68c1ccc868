/** Something that is being opened. */
interface Opening<Opened> {
  /** For whom; null for the host itself. */
  readonly principal: string | null;
  readonly opened: Promise<Opened>;
}

/**
 * What is being opened, by id. However many of one principal ask at once, it is opened once; who asks for another principal
 * waits until that is over and looks for itself, because what the others are told is nothing for it.
 */
export class Openings<Opened> {
  readonly #openings = new Map<string, Opening<Opened>>();

  /** @param open called when nothing of this id is being opened: gives what is there, or opens it */
  async join(id: string, principal: string | null, open: () => Promise<Opened>): Promise<Opened> {
    for (let other = this.#openings.get(id); other !== undefined; other = this.#openings.get(id)) {
      if (other.principal === principal) return other.opened;
      await other.opened.catch(() => undefined);
    }
    const opened = open().finally(() => this.#openings.delete(id));
    this.#openings.set(id, { principal, opened });
    return opened;
  }

  /** Resolves when all that is being opened now is there, or could not be opened. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#openings.values()].map(({ opened }) => opened));
  }
}
