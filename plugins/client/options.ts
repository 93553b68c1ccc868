/** Defaults and bounds of a client, once, with their units. What happens at a bound says the part that holds it. */
export const clientDefaults = {
  /** From the dial to `gateway.ready`. */
  handshakeMs: 15_000,
  /** How often `gateway.ping` is sent, and how long a server may be silent before the connection is given up. */
  heartbeatMs: 15_000,
  silenceMs: 45_000,
  /** How long a call may wait for its reply, and how long one that replays a session may. */
  callTimeoutMs: 60_000,
  replayTimeoutMs: 10_000,
  /** Longest wait before the first attempt to reconnect, and before any. */
  firstRetryMs: 500,
  maxRetryMs: 30_000,
  /** Shortest wait after the server said that there were too many of something (4429). */
  busyRetryMs: 5_000,
  /** A connection that stood this long counts as good: the next wait is a first one again. */
  stableMs: 10_000,
  /** How long a close may take before the socket is left to itself. */
  closeMs: 1_000,
} as const;

/** Bounds of a client. */
export const clientLimits = {
  /** A message of more bytes is refused here: the server would refuse it, or close the connection. */
  maxMessageBytes: 1_048_576,
  /** Posts that wait for a connection; one more is refused. */
  maxWaitingPosts: 256,
  maxWaitingPostBytes: 4_194_304,
  /** Frames of one session that wait while it is replayed. Above it they are let go, and a snapshot is read instead. */
  maxParkedFrames: 4_096,
  /** Rows and activity of one room that wait while older rows are read. Above it the subscription starts over. */
  maxParkedRoomEvents: 4_096,
  /** Runtime ids that a session had before, by which it is still found; the oldest is forgotten. */
  maxFormerIds: 64,
  /** Ids of requests that were answered on this connection; the oldest is forgotten. */
  maxAnsweredIds: 1_024,
  /** Attempts of one room whose numbers are followed; the one that was heard of first is forgotten. */
  maxFollowedAttempts: 1_024,
} as const;
