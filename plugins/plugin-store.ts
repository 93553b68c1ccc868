import { limits, RoomtapError, utf8Length } from "../core/index.ts";
import type { NamedValues } from "../rooms/index.ts";
import type { PluginStorage } from "./plugin.ts";
import { shown } from "./shown.ts";

/** Where plugins store: texts by key, a namespace each. */
export type KeyValues = NamedValues;

/** Calls of one plugin, one after the other in their order, so that others come in between. So many may wait. */
class StoreQueue {
  readonly #id: string;
  #calls = 0;
  #bytes = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(id: string) {
    this.#id = id;
  }

  /** @throws RoomtapError `too_many_calls`; what `carryOut` throws */
  async run<Result>(bytes: number, carryOut: () => Promise<Result>): Promise<Result> {
    const { maxStorageCalls, maxStorageCallBytes } = limits;
    if (this.#calls >= maxStorageCalls || this.#bytes + bytes > maxStorageCallBytes) {
      const bound = `${maxStorageCalls} calls and ${maxStorageCallBytes} bytes`;
      const why = `plugin ${this.#id}: storage: ${bound} may wait, and no more; wait for the calls before`;
      throw new RoomtapError("too_many_calls", why);
    }
    this.#calls++;
    this.#bytes += bytes;
    const done = this.#last.then(carryOut);
    this.#last = done.catch(() => undefined);
    try {
      return await done;
    } finally {
      this.#calls--;
      this.#bytes -= bytes;
    }
  }
}

/** What one plugin stores. Its calls are carried out one after the other. */
export class PluginStore implements PluginStorage {
  readonly #id: string;
  readonly #values: KeyValues | undefined;
  readonly #queue: StoreQueue;

  /** @param values undefined: there is nowhere to store anything */
  constructor(id: string, values: KeyValues | undefined) {
    this.#id = id;
    this.#values = values;
    this.#queue = new StoreQueue(id);
  }

  async get(key: string): Promise<unknown> {
    this.#checkKey(key);
    const values = this.#open();
    const text = await this.#queue.run(0, () => values.get(this.#id, key));
    return text === undefined ? undefined : JSON.parse(text);
  }

  async set(key: string, value: unknown): Promise<void> {
    this.#checkKey(key);
    const text = this.#textOf(key, value);
    const most = { keys: limits.maxStorageKeys, bytes: limits.maxStorageBytes };
    // Before it is handed on: a value that can never fit is not carried there.
    const bytes = text.length > most.bytes ? Infinity : utf8Length(text);
    if (bytes <= most.bytes) {
      const values = this.#open();
      const asked = { namespace: this.#id, key, value: text };
      if ((await this.#queue.run(bytes, () => values.set(asked, most))) === "stored") return;
    }
    const bound = `${most.keys} keys and ${most.bytes} bytes`;
    throw new RoomtapError("quota_exceeded", `plugin ${this.#id}: storage: ${shown(key)} does not fit into ${bound}`);
  }

  async delete(key: string): Promise<boolean> {
    this.#checkKey(key);
    const values = this.#open();
    return this.#queue.run(0, () => values.delete(this.#id, key));
  }

  async keys(prefix = ""): Promise<readonly string[]> {
    if (typeof prefix !== "string") throw this.#badKey(prefix);
    const values = this.#open();
    return this.#queue.run(0, () => values.keys(this.#id, prefix));
  }

  #textOf(key: string, value: unknown): string {
    let problem = "expected a value that JSON has";
    try {
      const text: unknown = JSON.stringify(value);
      if (typeof text === "string") return text;
    } catch (fault) {
      problem = fault instanceof Error ? fault.message : problem;
    }
    throw new RoomtapError("invalid_params", `plugin ${this.#id}: storage: value of ${shown(key)}: ${problem}`);
  }

  #checkKey(key: unknown): void {
    const isKey =
      typeof key === "string" && key !== "" && key.length <= limits.maxStorageKeyUnits && key.isWellFormed();
    if (!isKey) throw this.#badKey(key);
  }

  #badKey(key: unknown): RoomtapError {
    const expected = `1 to ${limits.maxStorageKeyUnits} characters`;
    return new RoomtapError(
      "invalid_params",
      `plugin ${this.#id}: storage: key: expected ${expected}, got ${shown(key)}`,
    );
  }

  /** @throws RoomtapError `closed` */
  #open(): KeyValues {
    if (this.#values !== undefined) return this.#values;
    throw new RoomtapError("closed", `plugin ${this.#id}: this host has no database to store in`);
  }
}
