import { resolve } from "node:path";
import type { Clock, Report, Runner } from "../../core/index.ts";
import type { RunnerConfig } from "./config.ts";
import { openLocalRunner } from "./local-runner.ts";
import { checkModule } from "./module-runner.ts";
import { createProcessRunner } from "./process-runner.ts";

/** What the runners of a host work with. */
export interface RunnersOptions {
  readonly clock: Clock;
  /** Hears of agents that are lost or ignore a stop. */
  readonly report: Report;
}

/** The runners of a host. Members whose configs name the same process share one runner, and so that process. */
export interface Runners {
  /**
   * The runner for a config; starts no process before its first turn. A module that is to run in the host's process is
   * loaded.
   * @param where the config stands, for the message of an error; default `runner`
   * @throws RoomtapError `invalid_config` for a module that is not there, or gives no runner. What a module in a child gives
   *   is known at its first turn
   */
  of(config: RunnerConfig, where?: string): Promise<Runner>;
  /** Ends every agent process, side by side. Turns that still run end `runner_lost`. Safe to call twice. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Runners by config: equal configs of a process, an agent's or a child's, give one runner. */
export function createRunners(options: RunnersOptions): Runners {
  const shared = new Map<string, Promise<Runner>>();
  const others: Runner[] = [];
  const close = async (): Promise<void> => {
    const closings = [...shared.values(), ...others].map(async (runner) => (await runner).close());
    await Promise.allSettled(closings);
  };
  const share = (config: RunnerConfig, open: () => Promise<Runner>): Promise<Runner> => {
    const key = processKey(config);
    const runner = shared.get(key) ?? open();
    shared.set(key, runner);
    return runner;
  };
  return {
    async of(config, where = "runner") {
      if (config.process === true) {
        if (config.kind === "module") checkModule(config, where);
        return share(config, async () => createProcessRunner(config, options));
      }
      if (config.kind === "acp") return share(config, () => openLocalRunner(config, options, where));
      const runner = await openLocalRunner(config, options, where);
      others.push(runner);
      return runner;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Equal for configs that start the same process. */
function processKey(config: RunnerConfig): string {
  if (config.kind === "scripted") return JSON.stringify(config, sorted);
  const { cwd = ".", env = {} } = config;
  const own = config.kind === "acp" ? { args: config.args ?? [] } : { path: resolve(config.path) };
  return JSON.stringify({ ...config, process: config.process === true, cwd: resolve(cwd), env, ...own }, sorted);
}

/** Has the keys of each object in one order. */
function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
