import type { Clock, Report, Runner } from "../../core/index.ts";
import type { RunnerConfig, ScriptedConfig } from "./config.ts";
import type { ScriptedOptions } from "./scripted.ts";

/**
 * The runner of a config, in this process. What a kind needs is loaded when it is asked for: a child runs one of them.
 * @param where the config stands, for the message of an error
 * @throws RoomtapError `invalid_config` for a module that gives none
 */
export async function openLocalRunner(
  config: RunnerConfig,
  { clock, report }: { readonly clock: Clock; readonly report: Report },
  where = "runner",
): Promise<Runner> {
  switch (config.kind) {
    case "acp": {
      const { createAcpRunner } = await import("./acp-runner.ts");
      return createAcpRunner(config, { clock, report });
    }
    case "scripted": {
      const { createScriptedRunner } = await import("./scripted.ts");
      return createScriptedRunner({ script: scriptOf(config), clock });
    }
    case "module": {
      const { loadModuleRunner } = await import("./module-runner.ts");
      return loadModuleRunner(config, where);
    }
  }
}

function scriptOf(config: ScriptedConfig): ScriptedOptions["script"] {
  if ("script" in config) return config.script;
  return "turns" in config ? config.turns : "message";
}
