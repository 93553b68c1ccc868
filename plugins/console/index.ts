export { carryOut, type ConsoleHost } from "./carry-out.ts";
export { demoConfig, demoRoomId, demoScenes, demoText, roundsConfig, roundsTexts, type DemoScene } from "./demo.ts";
export { parseLine, type ConsoleLine } from "./line.ts";
