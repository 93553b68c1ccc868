/**
 * Every default and bound of roomtap, once, with its unit in its name.
 * A bound says what happens at it in the docstring of the part that holds it.
 */
export const limits = {
  /** Nesting of a payload (arrays and objects together). Deeper ones are cut. */
  maxPayloadDepth: 64,
  /** Values inside the fields of one payload. Of an array or an object with more the rest is cut, and says so. */
  maxPayloadValues: 65_536,
  /** Texts of one field that are named as cut, each; of a field with more, only the field is named. */
  maxTruncatedFields: 64,
  /** A delta longer than this leaves the seam as several. UTF-16 units. */
  maxDeltaUnits: 8_192,
  /** Released text kept per kind of a live attempt, so that a gap can heal. UTF-16 units. */
  maxReleasedUnits: 1_048_576,
  /**
   * Released text of attempts that are over but still waited for in some queue: attempts, and their text in all. Beyond
   * it the one that ended first loses its text, and a gap in it stays open. UTF-16 units.
   */
  maxKeptTexts: 1_024,
  maxKeptTextUnits: 8_388_608,
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
  /** Of a row, what is kept free for all that is not the texts of posts: ids and digests above all. */
  reservedRowBytes: 16_384,
  maxInboxRows: 1_024,
  maxInboxBytes: 4_194_304,
  maxRoomRows: 100_000,
  maxRoomBytes: 268_435_456,
  maxMembers: 16,
  maxRooms: 256,
  maxPageRows: 500,
  maxPageBytes: 2_097_152,
  maxReceiptsPerRoom: 10_000,
  /** Stops of a room whose first answer is known by their `cancel_id`; the oldest is forgotten. */
  maxKeptStops: 256,
  /** Due times of a room; of more, the one that is due last is forgotten, and its task waits to be asked for. */
  maxDueTimes: 256,
  receiptMs: 2_592_000_000,

  /** What the fold keeps. */
  maxFoldThreads: 256,
  maxFoldMembers: 256,
  maxFoldSettledTasks: 256,
  maxTranscriptEntries: 24,
  /** Words behind `@` of one discussion. */
  maxNamedWords: 64,
  /** Turns of one round, and members that spoke in one discussion. */
  maxDiscussionMembers: 64,
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
  /**
   * How long a room stays with a host that does not show up. Renewed every third of it. Shorter: a hung host's rooms are
   * taken over sooner, and a host that hangs for longer loses its turns. A host that died on this machine is found at once.
   */
  leaseTtlMs: 15_000,
  /** How long a database that is locked by somebody else is tried again. */
  busyTimeoutMs: 5_000,
  /** How often a watched database is looked at for commits of other processes. A look costs some microseconds. */
  watchIntervalMs: 250,
  /** How long a runner that was asked to stop may take before its attempt is settled without it. */
  stopGraceMs: 30_000,
  /** How long a turn may run. The time in which it waits for a person does not count. */
  turnDeadlineMs: 1_800_000,
  /** How long closing waits for consumers to read what they hold. */
  drainMs: 2_000,
} as const;
