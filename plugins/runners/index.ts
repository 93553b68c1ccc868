export { acpExampleAgent } from "./acp-example.ts";
export { acpDefaults, type AcpOptions } from "./acp-agent.ts";
export { createAcpRunner } from "./acp-runner.ts";
export {
  parseRunnerConfig,
  runnerConfigSchema,
  type AcpConfig,
  type ModuleConfig,
  type RunnerConfig,
  type ScriptedConfig,
} from "./config.ts";
export { firstProblem } from "./first-problem.ts";
export { processDefaults, type ProcessOptions } from "./process-options.ts";
export { createProcessRunner } from "./process-runner.ts";
export { createRunners, type Runners, type RunnersOptions } from "./runners.ts";
export { parseScript, scriptLimits, scriptSchema, type Script, type Step } from "./script.ts";
export { createScriptedRunner, type ScriptedOptions } from "./scripted.ts";
