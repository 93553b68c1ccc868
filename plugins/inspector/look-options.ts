/** What every command that looks at a database is given. */
export interface LookOptions {
  /** Path of the database. */
  readonly db: string;
  /** Print JSON and nothing else. */
  readonly json: boolean;
}
