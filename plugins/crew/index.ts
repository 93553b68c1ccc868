export {
  emptyBoard,
  type Board,
  type BoardMember,
  type BoardTurn,
  type EarlierAttempt,
  type Missing,
  type RequestCard,
  type StreamedText,
  type Tally,
  type ToolCard,
  type TurnNote,
} from "./board.ts";
export { boardLines } from "./board-lines.ts";
export { boardBounds, type BoardBounds } from "./bounds.ts";
export type { CrewConfig, CrewOptions } from "./config.ts";
export { crew } from "./crew.ts";
export { crewCommands, type CrewParts } from "./crew-commands.ts";
export { crewCommand, type CrewCommandOptions, type CrewCommandParts } from "./crew-command.ts";
export { reduceEntry } from "./members.ts";
export { reduceEvent } from "./reduce.ts";
export { reduceRow } from "./rows.ts";
export { seed, type Seed, type SeedAttempt, type SeedOptions } from "./seed.ts";
export { visibleBoard, type Viewer, type VisibleBoard, type VisibleTurn } from "./visible-board.ts";
