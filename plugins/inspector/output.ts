/** Where a command writes. Data goes to `out`, one call a line; notes go to `note`. */
export interface Output {
  /** Resolves when the line may be followed by the next one: a slow reader slows the command, not its memory. */
  out(line: string): Promise<void>;
  note(line: string): void;
}

/** What every command that looks at a database is given. */
export interface LookOptions {
  /** Path of the database. */
  readonly db: string;
  /** Print JSON and nothing else. */
  readonly json: boolean;
}
