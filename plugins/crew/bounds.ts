/** How much a board keeps. What goes beyond it is forgotten, the oldest first, and counted where it stood. */
export interface BoardBounds {
  /** Turns of one member. One that runs goes last. 1 to 20. */
  readonly keepTurns: number;
  /** Tool cards of one turn; those that have ended go first. */
  readonly maxCards: number;
  /** Requests of one turn; those that are resolved go first. */
  readonly maxRequests: number;
  /** Texts between the streamed ones, and errors, of one turn. */
  readonly maxNotes: number;
  /** Earlier attempts of one task. */
  readonly maxEarlier: number;
  /** Members, those that left the roster among them. */
  readonly maxMembers: number;
  /** The end of a streamed text or of reasoning that is kept, and the beginning of an answer. UTF-16 units. */
  readonly maxTextUnits: number;
  /** Arguments of one card, and what its end brought, each. Estimate in bytes; longer ones are cut, and marked. */
  readonly maxValueBytes: number;
  /** Notes, errors and the post that a turn answers. UTF-16 units. */
  readonly maxNoteUnits: number;
}

/** What a board keeps unless it is told otherwise. */
export const boardBounds: BoardBounds = {
  keepTurns: 3,
  maxCards: 64,
  maxRequests: 32,
  maxNotes: 8,
  maxEarlier: 8,
  maxMembers: 64,
  maxTextUnits: 16_384,
  maxValueBytes: 4_096,
  maxNoteUnits: 1_024,
};
