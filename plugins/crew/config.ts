import { z } from "zod";
import { isId } from "../../core/index.ts";
import { boardBounds } from "./bounds.ts";

/** Config of Crew, as an entry of the host has it. Strict: an unknown key is an error. */
export const crewConfigSchema = z.strictObject({
  /** Ids of the rooms that have a board. Default: all that it may see. */
  rooms: z
    .array(z.custom<string>(isId, { error: "expected the id of a room" }))
    .min(1)
    .optional(),
  /** Turns of each member that a board keeps, 1 to 20. */
  keepTurns: z.int().min(1).max(20).default(boardBounds.keepTurns),
  /** A live board is sent anew after so long at the earliest, 50 to 60,000 ms. */
  liveMs: z.int().min(50).max(60_000).default(100),
});

/** What Crew is told, all of it optional. */
export type CrewOptions = z.input<typeof crewConfigSchema>;
/** The same with its defaults. */
export type CrewConfig = z.output<typeof crewConfigSchema>;
