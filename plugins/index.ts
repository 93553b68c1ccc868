export { approvalLines, type ApprovalTexts } from "./approval-lines.ts";
export { cards, type CardsOptions } from "./cards/index.ts";
export {
  defineConfig,
  parseConfig,
  readConfig,
  secretsOfConfig,
  type ApprovePolicy,
  type HostConfig,
  type MemberConfig,
  type RoomConfig,
} from "./config.ts";
export {
  carryOut,
  demoConfig,
  demoRoomId,
  demoScenes,
  demoText,
  parseLine,
  roundsConfig,
  roundsTexts,
  type ConsoleHost,
  type ConsoleLine,
  type DemoScene,
} from "./console/index.ts";
export type { PluginEntry } from "./entry.ts";
export { PluginHost, type PluginHostOptions } from "./host.ts";
export { checkHostOptions } from "./host-options.ts";
export {
  logCommand,
  replayCommand,
  roomsCommand,
  verifyCommand,
  type LogOptions,
  type LookOptions,
  type ReplayOptions,
} from "./inspector/index.ts";
export { maskedReport, warningReport } from "./notices.ts";
export { StreamOutput, type Output } from "./output.ts";
export { kindsOf, type EventFor, type KindPattern } from "./patterns.ts";
export {
  definePlugin,
  type AnyPlugin,
  type HandlerOptions,
  type Logger,
  type Plugin,
  type PluginContext,
  type StandardResult,
  type StandardSchema,
} from "./plugin.ts";
export { eventText, printer, type PrinterOptions } from "./printer/index.ts";
export {
  acpDefaults,
  acpExampleAgent,
  createAcpRunner,
  createRunners,
  createScriptedRunner,
  parseRunnerConfig,
  parseScript,
  runnerConfigSchema,
  scriptLimits,
  scriptSchema,
  type AcpConfig,
  type AcpOptions,
  type RunnerConfig,
  type Runners,
  type RunnersOptions,
  type Script,
  type ScriptedConfig,
  type ScriptedOptions,
  type Step,
} from "./runners/index.ts";
export { jsonText, oneLine, terminalText } from "./terminal-text.ts";
