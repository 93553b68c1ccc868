export { carryOut, type ConsoleHost } from "./carry-out.ts";
export type { CommandHost, HostRun, RunHost } from "./command-host.ts";
export { demoConfig, demoRoomId, demoScenes, demoText, roundsConfig, roundsTexts, type DemoScene } from "./demo.ts";
export { demoCommand, type DemoOptions, type DemoParts } from "./demo-command.ts";
export { hintLines, questionLine } from "./hints.ts";
export { parseLine, upHelp, type ConsoleLine } from "./line.ts";
export { failuresOf, playRounds, type SceneHost } from "./rounds.ts";
export { upCommand, type UpOptions, type UpParts } from "./up-command.ts";
