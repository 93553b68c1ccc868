/** Pipes between a host and the child of a runner, by their numbers in the child. Standard streams are the runner's own. */
export const childPipes = {
  /** What the child tells: it writes here and waits until it is written. */
  told: 3,
  /** What the host tells. */
  heard: 4,
  /** Stays empty; its end tells that the host is gone. */
  life: 5,
} as const;
