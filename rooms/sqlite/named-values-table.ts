import type { SqliteDatabase } from "./database.ts";

/** What a namespace holds. */
export interface NamespaceUsage {
  readonly keys: number;
  /** Of UTF-8, keys and values. */
  readonly bytes: number;
}

interface NamedValue {
  readonly namespace: string;
  readonly key: string;
  readonly value: string;
  /** Of UTF-8, key and value. */
  readonly bytes: number;
}

/** Statements over texts by namespace and key. Each is synchronous; the caller holds the transaction. */
export class NamedValuesTable {
  readonly #value;
  readonly #usage;
  readonly #put;
  readonly #delete;
  readonly #keys;

  constructor(database: SqliteDatabase) {
    this.#value = database
      .prepare<[string, string], string>("SELECT value FROM named_values WHERE namespace = ? AND key = ?")
      .pluck();
    // Of the index alone: no page of a value is read to count.
    this.#usage = database.prepare<[string, string], NamespaceUsage>(
      "SELECT count(*) AS keys, ifnull(sum(bytes), 0) AS bytes FROM named_values INDEXED BY named_values_by_size" +
        " WHERE namespace = ? AND key <> ?",
    );
    this.#put = database.prepare<[NamedValue]>(
      "INSERT INTO named_values (namespace, key, value, bytes) VALUES (@namespace, @key, @value, @bytes)" +
        " ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value, bytes = excluded.bytes",
    );
    this.#delete = database.prepare<[string, string]>("DELETE FROM named_values WHERE namespace = ? AND key = ?");
    this.#keys = database
      .prepare<[string], string>("SELECT key FROM named_values WHERE namespace = ? ORDER BY key")
      .pluck();
  }

  value(namespace: string, key: string): string | undefined {
    return this.#value.get(namespace, key);
  }

  /** What the namespace holds besides this key. */
  usageBeside(namespace: string, key: string): NamespaceUsage {
    return this.#usage.get(namespace, key) ?? { keys: 0, bytes: 0 };
  }

  put(entry: NamedValue): void {
    this.#put.run(entry);
  }

  /** Whether there was one. */
  delete(namespace: string, key: string): boolean {
    return this.#delete.run(namespace, key).changes > 0;
  }

  /** In the order of their UTF-8 bytes, which is that of their code points. */
  keys(namespace: string): readonly string[] {
    return this.#keys.all(namespace);
  }
}
