import { utf8Length } from "../../core/index.ts";
import type { KeyValues } from "../plugin-store.ts";
import { Gate } from "./gate.ts";

/** What plugins of a test host store, in memory, with the bounds of the real thing. It can be held up. */
export class TestValues implements KeyValues {
  readonly gate = new Gate();
  readonly #namespaces = new Map<string, Map<string, string>>();
  #running = 0;

  /** Calls that have not come back. */
  get running(): number {
    return this.#running;
  }

  /** Everything that stands there, as one text. */
  text(): string {
    return JSON.stringify([...this.#namespaces].map(([namespace, values]) => [namespace, [...values]]));
  }

  get(namespace: string, key: string): Promise<string | undefined> {
    return this.#run(() => this.#of(namespace).get(key));
  }

  set(
    { namespace, key, value }: Parameters<KeyValues["set"]>[0],
    most: Parameters<KeyValues["set"]>[1],
  ): Promise<"stored" | "full"> {
    return this.#run(() => {
      const values = new Map(this.#of(namespace)).set(key, value);
      const bytes = [...values].reduce((sum, each) => sum + utf8Length(each[0]) + utf8Length(each[1]), 0);
      if (values.size > most.keys || bytes > most.bytes) return "full";
      this.#of(namespace).set(key, value);
      return "stored";
    });
  }

  delete(namespace: string, key: string): Promise<boolean> {
    return this.#run(() => this.#of(namespace).delete(key));
  }

  keys(namespace: string, prefix: string): Promise<readonly string[]> {
    return this.#run(() => [...this.#of(namespace).keys()].filter((key) => key.startsWith(prefix)).toSorted());
  }

  async #run<Value>(work: () => Value): Promise<Value> {
    this.#running++;
    try {
      return await this.gate.pass(work);
    } finally {
      this.#running--;
    }
  }

  #of(namespace: string): Map<string, string> {
    const known = this.#namespaces.get(namespace);
    if (known !== undefined) return known;
    const values = new Map<string, string>();
    this.#namespaces.set(namespace, values);
    return values;
  }
}
