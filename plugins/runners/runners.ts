import { resolve } from "node:path";
import type { Clock, Report, Runner } from "../../core/index.ts";
import { createAcpRunner } from "./acp-runner.ts";
import type { AcpConfig, RunnerConfig, ScriptedConfig } from "./config.ts";
import { createScriptedRunner, type ScriptedOptions } from "./scripted.ts";

/** What the runners of a host work with. */
export interface RunnersOptions {
  readonly clock: Clock;
  /** Hears of agents that are lost or ignore a stop. */
  readonly report: Report;
}

/** The runners of a host. Members whose `acp` configs say the same share one runner, and so one process. */
export interface Runners {
  /** The runner for a config; starts no process before its first turn. */
  of(config: RunnerConfig): Runner;
  /** Ends every agent process, side by side. Turns that still run end `runner_lost`. Safe to call twice. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Runners by config: equal `acp` configs give one runner. */
export function createRunners({ clock, report }: RunnersOptions): Runners {
  const agents = new Map<string, Runner>();
  const scripted: Runner[] = [];
  const close = async (): Promise<void> => {
    await Promise.allSettled([...agents.values(), ...scripted].map((runner) => runner.close()));
  };
  const agentOf = (config: AcpConfig): Runner => {
    const key = agentKey(config);
    const runner = agents.get(key) ?? createAcpRunner(config, { clock, report });
    agents.set(key, runner);
    return runner;
  };
  return {
    of(config) {
      if (config.kind === "acp") return agentOf(config);
      const runner = createScriptedRunner({ script: scriptOf(config), clock });
      scripted.push(runner);
      return runner;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function scriptOf(config: ScriptedConfig): ScriptedOptions["script"] {
  if ("script" in config) return config.script;
  return "turns" in config ? config.turns : "message";
}

/** Equal for configs that start the same process. */
function agentKey({ command, args = [], cwd = ".", env = {} }: AcpConfig): string {
  const variables = Object.entries(env).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([command, args, resolve(cwd), variables]);
}
