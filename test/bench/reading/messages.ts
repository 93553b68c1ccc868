/** A call that the process with the clients is to make. */
export interface Ask {
  readonly method: string;
  readonly params: object;
}

/** Makes all calls of a round at once: each client its own, in order, without waiting for an answer. */
export interface Round {
  readonly url: string;
  readonly clients: readonly (readonly Ask[])[];
}

/** What came of a round. */
export interface Answers {
  /** Bytes of the replies, by method. */
  readonly bytes: { readonly [method: string]: number };
  /** Replies by method. */
  readonly counts: { readonly [method: string]: number };
  /** What was refused, a line each. */
  readonly refused: readonly string[];
}
