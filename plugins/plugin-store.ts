import { limits, RoomtapError, utf8Length } from "../core/index.ts";
import type { NamedValues } from "../rooms/index.ts";
import type { PluginStorage } from "./plugin.ts";
import { shown } from "./shown.ts";

/** Where plugins store: texts by key, a namespace each. */
export type KeyValues = NamedValues;

/** What one plugin stores. */
export class PluginStore implements PluginStorage {
  readonly #id: string;
  readonly #values: KeyValues | undefined;

  /** @param values undefined: there is nowhere to store anything */
  constructor(id: string, values: KeyValues | undefined) {
    this.#id = id;
    this.#values = values;
  }

  async get(key: string): Promise<unknown> {
    this.#checkKey(key);
    const text = await this.#open().get(this.#id, key);
    return text === undefined ? undefined : JSON.parse(text);
  }

  async set(key: string, value: unknown): Promise<void> {
    this.#checkKey(key);
    const text = this.#textOf(key, value);
    const most = { keys: limits.maxStorageKeys, bytes: limits.maxStorageBytes };
    // Before it is handed on: a value that can never fit is not carried there.
    const fits = utf8Length(text) <= most.bytes;
    if (fits && (await this.#open().set({ namespace: this.#id, key, value: text }, most)) === "stored") return;
    const bound = `${most.keys} keys and ${most.bytes} bytes`;
    throw new RoomtapError("quota_exceeded", `plugin ${this.#id}: storage: ${shown(key)} does not fit into ${bound}`);
  }

  async delete(key: string): Promise<boolean> {
    this.#checkKey(key);
    return this.#open().delete(this.#id, key);
  }

  async keys(prefix = ""): Promise<readonly string[]> {
    if (typeof prefix !== "string") throw this.#badKey(prefix);
    return this.#open().keys(this.#id, prefix);
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
