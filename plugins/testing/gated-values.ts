import type { KeyValues } from "../plugin-store.ts";
import { Gate } from "./gate.ts";

/** What plugins of a test host store, in its database. It can be held up, and its calls are counted while they run. */
export class GatedValues implements KeyValues {
  readonly gate = new Gate();
  readonly #values: KeyValues;
  #running = 0;

  constructor(values: KeyValues) {
    this.#values = values;
  }

  /** Calls that have not come back. */
  get running(): number {
    return this.#running;
  }

  get(namespace: string, key: string): ReturnType<KeyValues["get"]> {
    return this.#run(() => this.#values.get(namespace, key));
  }

  set(...entry: Parameters<KeyValues["set"]>): ReturnType<KeyValues["set"]> {
    return this.#run(() => this.#values.set(...entry));
  }

  delete(namespace: string, key: string): ReturnType<KeyValues["delete"]> {
    return this.#run(() => this.#values.delete(namespace, key));
  }

  keys(namespace: string, prefix: string): ReturnType<KeyValues["keys"]> {
    return this.#run(() => this.#values.keys(namespace, prefix));
  }

  async #run<Value>(work: () => Promise<Value>): Promise<Value> {
    this.#running++;
    try {
      return await this.gate.pass(work);
    } finally {
      this.#running--;
    }
  }
}
