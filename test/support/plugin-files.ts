import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { systemClock } from "../../core/index.ts";
import type { Isolation, KeyValues, PluginCaller, PluginEntry, PluginHost } from "../../plugins/index.ts";
import type * as PluginsModule from "../../plugins/index.ts";
import { openBus, type Bus } from "./bus.ts";

/** The build: a worker runs nothing else. */
const plugins = (await import(new URL("../../dist/plugins/index.js", import.meta.url).href)) as typeof PluginsModule;

/** Somebody who may do anything. */
export const operator: PluginCaller = { principal: "ada", scopes: ["admin"], rooms: null, grants: [] };

/** A line that a plugin logged. */
export interface LoggedLine {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A folder for the files of one test, removed when it ends. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "roomtap-plugins-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Waits for what another thread does, which makes no event here. */
export async function reaches(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise<void>((resolve) => systemClock.after(1, resolve));
}

/** Values in a map, without a bound. */
export function mapValues(): KeyValues {
  const values = new Map<string, string>();
  const nameOf = (namespace: string, key: string): string => `${namespace}/${key}`;
  return {
    get: async (namespace, key) => values.get(nameOf(namespace, key)),
    set: async ({ namespace, key, value }) => {
      values.set(nameOf(namespace, key), value);
      return "stored";
    },
    delete: async (namespace, key) => values.delete(nameOf(namespace, key)),
    keys: async (namespace, prefix) =>
      [...values.keys()]
        .filter((name) => name.startsWith(nameOf(namespace, prefix)))
        .map((name) => name.slice(namespace.length + 1))
        .toSorted(),
  };
}

/** A host of plugins in files, from the build, on a bus whose time stands still; closed when the test ends. */
export class PluginBench {
  readonly bus: Bus = openBus();
  readonly host: PluginHost;
  readonly lines: LoggedLine[] = [];
  /** Lines that plugins write with `note` (see `fileOf`), across their restarts. */
  readonly notes: string;
  readonly #folder = tempFolder();
  #files = 0;

  constructor() {
    const { observers, clock, notices } = this.bus;
    const say =
      (level: string) =>
      (message: string, fields: LoggedLine["fields"] = {}): void =>
        void this.lines.push({ level, message, fields });
    this.notes = join(this.#folder, "notes");
    writeFileSync(this.notes, "");
    this.host = new plugins.PluginHost({
      ...{ observers, clock, values: mapValues(), requests: this.bus.tap.requests },
      report: (notice) => notices.push(notice),
      logger: { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") },
    });
    onTestFinished(() => this.#close());
  }

  /**
   * A module with a plugin. Its setup is `body`, with `ctx`, `config` and `note(value)`, which appends a line of JSON to a
   * file: what was noted outlives the worker.
   */
  fileOf(id: string, body: string, { head = "", fields = "" } = {}): string {
    const file = join(this.#folder, `${id}-${++this.#files}.mjs`);
    this.write(file, id, body, { head, fields });
    return file;
  }

  /** Writes such a module anew. */
  write(file: string, id: string, body: string, { head = "", fields = "" } = {}): void {
    const text = `
import { appendFileSync } from "node:fs";
const note = (value) => appendFileSync(${JSON.stringify(this.notes)}, JSON.stringify(value) + "\\n");
${head}
export default { id: ${JSON.stringify(id)}, version: "1.0.0", ${fields} async setup(ctx, config) { ${body} } };
`;
    writeFileSync(file, text);
  }

  /** Loads one of such a body. */
  async load(
    id: string,
    body: string,
    { isolation = "worker", config, grants = ["routes", "answer"], head, fields }: LoadOptions = {},
  ): Promise<string> {
    const path = this.fileOf(id, body, {
      ...(head === undefined ? {} : { head }),
      ...(fields === undefined ? {} : { fields }),
    });
    await this.host.load({ path, isolation, config, grants });
    return path;
  }

  /** What plugins noted, in order. */
  get noted(): readonly unknown[] {
    return readFileSync(this.notes, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line): unknown => JSON.parse(line));
  }

  /** Turns the bus and the loop until it is so. */
  async until(isSo: () => boolean): Promise<void> {
    await reaches(() => {
      this.bus.clock.tick();
      return isSo();
    });
  }

  /** The same, until so much was noted. */
  async untilNoted(count: number): Promise<readonly unknown[]> {
    await this.until(() => this.noted.length >= count);
    return this.noted;
  }

  /** Turns the bus until `step` is over, and gives what it gave. */
  async during<Result>(step: Promise<Result>): Promise<Result> {
    let isOver = false;
    const over = (): void => void (isOver = true);
    step.then(over, over);
    await this.until(() => isOver);
    return step;
  }

  run(id: string, name: string, args: readonly string[] = [], signal = new AbortController().signal): Promise<unknown> {
    return this.host.run(id, name, { args, caller: operator, signal });
  }

  /** As `until`, and time passes meanwhile: what waits for its back-off is started again. */
  async later(isSo: () => boolean): Promise<void> {
    await this.until(() => {
      if (isSo()) return true;
      this.bus.clock.advance(10);
      return false;
    });
  }

  /** Waits until the plugin's worker has ended and is set up again. */
  async restarted(id: string): Promise<void> {
    await this.until(() => this.stateOf(id) === "restarting");
    await this.later(() => this.stateOf(id) === "running");
  }

  stateOf(id: string): string | undefined {
    return this.host.list().find((info) => info.id === id)?.state;
  }

  /** Codes and subjects of what was reported. */
  get told(): readonly string[] {
    return this.bus.notices.map(({ code, subject }) => `${subject} ${code}`);
  }

  /** A worker that is blocked is ended when its time is over. */
  async #close(): Promise<void> {
    let isOver = false;
    void this.host.close().finally(() => (isOver = true));
    await this.later(() => isOver);
  }
}

interface LoadOptions {
  readonly isolation?: Isolation;
  readonly config?: unknown;
  readonly grants?: Exclude<Exclude<PluginEntry, string>["grants"], undefined>;
  readonly head?: string;
  readonly fields?: string;
}
