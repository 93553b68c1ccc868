export { demoConfig, demoRoomId, demoText } from "./demo.ts";
export { parseLine, type ConsoleLine } from "./line.ts";
