/** Values by key, so many at most: of more the one that was set first goes. */
export class Known<Value> {
  readonly #values = new Map<string, Value>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#values.size;
  }

  get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  values(): readonly Value[] {
    return [...this.#values.values()];
  }

  /** Gives what had to go for it. */
  set(key: string, value: Value): Value | undefined {
    this.#values.set(key, value);
    const oldest = this.#values.size > this.#most ? this.#values.entries().next().value : undefined;
    if (oldest === undefined) return undefined;
    this.#values.delete(oldest[0]);
    return oldest[1];
  }

  delete(key: string): void {
    this.#values.delete(key);
  }
}
