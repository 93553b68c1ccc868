/**
 * Every default and bound of roomtap, once, with its unit in its name.
 * A bound says what happens at it in the docstring of the part that holds it.
 */
export const limits = {
  /** Nesting of a payload (arrays and objects together). Deeper ones are cut. */
  maxPayloadDepth: 64,
  /** Values in one payload. One with more is a way to hold the loop and leaves as no JSON. */
  maxPayloadValues: 1_000_000,
  /** A delta longer than this leaves the seam as several. UTF-16 units. */
  maxDeltaUnits: 8_192,
  /** Released text kept per kind of a live attempt, so that a gap can heal. UTF-16 units. */
  maxReleasedUnits: 1_048_576,
  /** Of a held tail, so much comes out as it is when a frame that is no delta follows. UTF-16 units. */
  maxShownTailUnits: 8,
  /** The longest and the shortest literal that can be registered with the redactor. UTF-16 units. */
  maxLiteralUnits: 4_096,
  minLiteralUnits: 9,
  maxLiterals: 1_024,
  /** Sessions a process remembers; when full, the one unused for longest goes. */
  maxSessions: 65_536,
  /** Runtime ids by which one session is found; the oldest is forgotten. */
  maxRuntimeIds: 64,
  maxOpenRequestsPerSession: 32,
  maxOpenRequests: 1_024,
  /** Outcomes kept so that a second answer learns the first one. */
  maxKeptOutcomes: 1_024,
  keptOutcomeMs: 600_000,
  approvalLifetimeMs: 86_400_000,
  /** Command and description of an approval, each. What is cut can only be denied. UTF-16 units. */
  maxApprovalTextUnits: 65_536,
  /** Ids above it are refused; names of tools are cut. UTF-16 units. */
  maxToolIdUnits: 512,
  /** Open tools of one attempt; above it a start is refused. */
  maxOpenTools: 1_024,
  /** Ended calls of one attempt whose second end is refused; older ids are forgotten. */
  maxEndedTools: 4_096,
  /** Attempts with pending gaps of one consumer; the rest is counted in one gap without coordinates. */
  maxGapAttempts: 256,
  /** Attempts whose text is broken for one consumer; of more, the one that has ended goes first. */
  maxBrokenAttempts: 1_024,
  /** Unread events in the ring that all consumers share. A power of two, and estimated bytes. */
  maxRingEvents: 1_024,
  maxRingBytes: 4_194_304,
  /** The smallest `maxBytes` of a consumer: any delta, and any event cut to what names it, fits into it. */
  minQueueBytes: 16_384,
  /** Handlers of one plugin. */
  maxHandlersPerPlugin: 100,

  /** Texts of the log. Bytes of UTF-8. */
  maxPostBytes: 65_536,
  maxSettledTextBytes: 65_536,
  maxErrorTextBytes: 4_096,
  maxAttachments: 16,
  maxAttachmentBytes: 1_024,
  maxRowBytes: 262_144,
  maxInboxRows: 1_024,
  maxInboxBytes: 4_194_304,
  maxRoomRows: 100_000,
  maxRoomBytes: 268_435_456,
  maxMembers: 16,
  maxRooms: 256,
  maxPageRows: 500,
  maxPageBytes: 2_097_152,
  maxReceiptsPerRoom: 10_000,
  receiptMs: 2_592_000_000,

  /** What the fold keeps. */
  maxFoldThreads: 256,
  maxFoldMembers: 256,
  maxFoldSettledTasks: 256,
  maxTranscriptEntries: 24,
  /** Words behind `@` of one discussion. */
  maxNamedWords: 64,
} as const;

/** Defaults of a consumer; each can be set at its registration. */
export const consumerDefaults = {
  maxEvents: 1_024,
  maxBytes: 4_194_304,
  maxEventBytes: 16_384,
  /** A handler that runs longer is reported `stalled`, once; it is never interrupted in process. */
  stallMs: 30_000,
} as const;

/** Defaults of a host; each can be set when it is opened. */
export const hostDefaults = {
  maxConcurrentTurns: 4,
  /** How long a database that is locked by somebody else is tried again. */
  busyTimeoutMs: 5_000,
  /** How long a runner that was asked to stop may take before its attempt is settled without it. */
  stopGraceMs: 30_000,
  /** How long closing waits for consumers to read what they hold. */
  drainMs: 2_000,
} as const;
