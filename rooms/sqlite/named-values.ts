import { RoomtapError, utf8Length } from "../../core/index.ts";
import type { NamedValues } from "../named-values.ts";
import type { SqliteDatabase } from "./database.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { NamedValuesTable } from "./named-values-table.ts";

/**
 * Named values in the database of a room log. Writes go into the commits of the log, in the order in which they were asked
 * for; nothing is kept in memory, so a read sees what is durable.
 */
export class SqliteNamedValues implements NamedValues {
  readonly #database: SqliteDatabase;
  readonly #table: NamedValuesTable;
  readonly #commits: GroupCommit;

  /** @param parts all of it belongs to the log of the same file */
  constructor(parts: {
    readonly database: SqliteDatabase;
    readonly table: NamedValuesTable;
    readonly commits: GroupCommit;
  }) {
    this.#database = parts.database;
    this.#table = parts.table;
    this.#commits = parts.commits;
  }

  get(namespace: string, key: string): Promise<string | undefined> {
    return this.#database.attempt(() => this.#table.value(namespace, key));
  }

  async set(
    { namespace, key, value }: Parameters<NamedValues["set"]>[0],
    most: Parameters<NamedValues["set"]>[1],
  ): Promise<"stored" | "full"> {
    refuseBadTexts({ namespace, key, value });
    const bytes = utf8Length(key) + utf8Length(value);
    const { keys: maxKeys, bytes: maxBytes } = most;
    return this.#commits.run(() => {
      const others = this.#table.usageBeside(namespace, key);
      if (others.keys + 1 > maxKeys || others.bytes + bytes > maxBytes) return "full";
      this.#table.put({ namespace, key, value, bytes });
      return "stored";
    });
  }

  async delete(namespace: string, key: string): Promise<boolean> {
    return this.#commits.run(() => this.#table.delete(namespace, key));
  }

  async keys(namespace: string, prefix: string): Promise<readonly string[]> {
    const keys = await this.#database.attempt(() => this.#table.keys(namespace));
    return keys.filter((key) => key.startsWith(prefix));
  }
}

/** Half of a surrogate pair has no UTF-8, and comes back as another character. */
function refuseBadTexts(texts: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(texts)) {
    if (!text.isWellFormed())
      throw new RoomtapError("invalid_params", `${name}: expected Unicode, got half a character`);
    if (text === "" && name !== "value") throw new RoomtapError("invalid_params", `${name}: expected a text, got none`);
  }
}
