export { logCommand, type LogOptions } from "./commands/log.ts";
export { replayCommand, type ReplayOptions } from "./commands/replay.ts";
export { roomsCommand } from "./commands/rooms.ts";
export { verifyCommand } from "./commands/verify.ts";
export type { LookOptions } from "./look-options.ts";
