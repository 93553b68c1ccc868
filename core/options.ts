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
  /**
   * Events kept per session for clients that come back, as compact JSON of their params in UTF-8. One that is larger by itself
   * is sent and not kept. Beyond the bound of the process the session that was active least recently loses its oldest.
   */
  maxReplayEvents: 512,
  maxReplayBytes: 4_194_304,
  maxReplayBytesInAll: 67_108_864,
  /**
   * Frames held for one client, queued or not confirmed by its socket, as JSON in UTF-8. At the bound that client is
   * closed with 1013, and so it is when a write is not confirmed for so long. A single larger frame is held alone.
   */
  maxMailboxFrames: 256,
  maxMailboxBytes: 4_194_304,
  mailboxStallMs: 30_000,
  /** Replies held for one client, as its transport sends them. Beyond it its socket is not read until they have gone. */
  maxHeldReplies: 64,
  maxHeldReplyBytes: 8_388_608,
  /** What one write to a socket takes at most, unless one piece is larger. The rest can still be taken back. */
  maxWriteBytes: 65_536,
  /** A frame on the wire. Of a larger one the longest texts are cut. Bytes of UTF-8. */
  maxWireFrameBytes: 8_388_608,
  /**
   * Frames that were written and not yet distributed, in all, and their estimate in bytes. At the bound what was written
   * leaves at once, not in the next turn of the event loop.
   */
  maxPendingFrames: 16_384,
  maxPendingBytes: 16_777_216,
  /** Sessions that one connection is attached to. */
  maxAttachedSessions: 64,
  /** Rooms that one connection is subscribed to. */
  maxRoomSubscriptions: 64,
  /**
   * Events of a room that are held for a client whose own call on that room is not answered yet, and their estimate in
   * bytes. At the bound they go out before the reply.
   */
  maxHeldRoomEvents: 256,
  maxHeldRoomBytes: 4_194_304,
  maxOpenRequestsPerSession: 32,
  maxOpenRequests: 1_024,
  /** Outcomes kept so that a second answer learns the first one. */
  maxKeptOutcomes: 1_024,
  keptOutcomeMs: 600_000,
  /** How long an agent's question waits for a person: an approval, any other, and one that a client answers by itself. */
  approvalLifetimeMs: 86_400_000,
  questionLifetimeMs: 3_600_000,
  relayedLifetimeMs: 60_000,
  /** Command and description of an approval, each. What is cut can only be denied. UTF-16 units. */
  maxApprovalTextUnits: 65_536,
  /** Estimate of any other question's params. A larger one is not asked. Bytes. */
  maxQuestionBytes: 262_144,
  /** Questions that are asked together. With more of them none is asked. */
  maxQuestions: 64,
  /** An answer that is a text. A longer one does not fit. UTF-16 units. */
  maxAnswerUnits: 65_536,
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
  /** Calls of one consumer's handler side by side. */
  maxConcurrency: 64,
  /**
   * Events in one batch for a handler, and their estimate in bytes: it ends before the event that takes it over. An event
   * larger than that is a batch by itself.
   */
  maxBatchEvents: 1_024,
  maxBatchBytes: 1_048_576,
  /** Plugins of a config. */
  maxPlugins: 64,
  /** Handlers, routes and commands of one plugin, each. One more is refused. */
  maxHandlersPerPlugin: 100,
  maxRoutesPerPlugin: 100,
  maxCommandsPerPlugin: 100,
  /** The path of a route. UTF-16 units. */
  maxRoutePathUnits: 256,
  /** Body of a request to a route, and what a command gives, as JSON. Bytes of UTF-8; a larger one is refused. */
  maxRouteBodyBytes: 1_048_576,
  maxCommandResultBytes: 1_048_576,
  /** How long the body of a request to a route may take to come, and the plugin's answer to begin. */
  routeBodyMs: 30_000,
  routeAnswerMs: 30_000,
  /** Requests to routes that are not over, streams with them: at a gateway, and of one principal or one address there. */
  maxRouteRequests: 1_000,
  maxRouteRequestsPerCaller: 64,
  /** What one call of a command is given: arguments, and one of them in UTF-16 units; more is refused. */
  maxCommandArgs: 256,
  maxCommandArgUnits: 65_536,
  /** What one plugin may store: keys, one key in UTF-16 units, and keys and values together in bytes. */
  maxStorageKeys: 1_024,
  maxStorageKeyUnits: 256,
  maxStorageBytes: 1_048_576,
  /** Calls to the storage of one plugin that are not over, and what they store. Carried out one after the other; more are refused. */
  maxStorageCalls: 1_024,
  maxStorageCallBytes: 4_194_304,
  /** A file of a recording that is read back. A larger one is refused: it is held as a whole. */
  maxRecordingBytes: 268_435_456,

  /** Calls between the host and a plugin's worker that wait for their answers, each way. One more is refused. */
  maxWorkerCalls: 1_024,
  /** What a plugin in a worker hands over in one call, and what its route gives in one piece. By estimate; more is refused. */
  maxWorkerCallBytes: 16_777_216,
  /** A piece of a streamed body on its way out of a worker; a larger one goes in several. Bytes. */
  maxWorkerPieceBytes: 262_144,
  /**
   * Lines that a worker logs or prints: UTF-16 units of one, of its fields as JSON, and lines in a second. The rest is cut,
   * left out, dropped and counted in the next line.
   */
  maxLogLineUnits: 8_192,
  maxLogFieldUnits: 16_384,
  maxLogLinesPerSecond: 100,
  /** What a worker prints in a second, on each stream: writes, and UTF-16 units or bytes. The rest is dropped where it is printed. */
  maxPrintsPerSecond: 1_000,
  maxPrintedUnitsPerSecond: 262_144,

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
  /** How long the log of a disbanded room may be read. */
  disbandedHistoryMs: 7_776_000_000,
  /** Disbanded rooms that a host still knows as rooms of its own; of more, the one that was disbanded first is forgotten. */
  maxKnownDisbanded: 256,
  /** Rooms in one answer. */
  maxListedRooms: 500,

  /** Of ordinary sessions. A new one beyond it is refused. */
  maxStoredSessions: 65_536,
  /** Of one transcript; the oldest messages are forgotten. Bytes of JSON. */
  maxSessionMessages: 100_000,
  maxTranscriptBytes: 268_435_456,
  /** JSON of one message; of a larger one the longest texts are cut. It fits into any page of a history. */
  maxMessageBytes: 2_097_152,
  maxRulesPerAgent: 1_024,
  /** Agents that sessions may be opened with. */
  maxAgents: 64,
  /** Prompts that wait in one session: entries, submissions in one entry, and UTF-8 bytes; more are refused. */
  maxQueuedPrompts: 32,
  maxMergedInputs: 64,
  maxQueuedPromptBytes: 1_048_576,
  /** Idempotency keys of one session; the oldest is forgotten. */
  maxMessageKeys: 256,
  /** An answer, and the reasoning behind it, as the transcript keeps them. UTF-8 bytes; the rest is cut. */
  maxAnswerBytes: 1_048_576,
  maxReasoningBytes: 65_536,
  /** A title, and the beginning of a first prompt in lists. UTF-16 units; the rest is cut. */
  maxTitleUnits: 200,
  maxPreviewUnits: 120,
  /** A working folder, and the name of a model or provider: each stands in every `session.info`. UTF-16 units. */
  maxSessionDetailUnits: 4_096,
  /** Messages of a snapshot, and their JSON; it says how many stand before them. */
  maxSnapshotMessages: 500,
  maxSnapshotBytes: 1_048_576,
  /**
   * Ordinary sessions that are open, of a process and of one principal. At it the one unused for longest that nobody is
   * attached to and that runs nothing is closed; if there is none, the new one is refused.
   */
  maxLiveSessions: 1_000,
  maxLiveSessionsPerPrincipal: 64,
  /** Clients of other principals that are attached to one session; one more is refused. */
  maxObservers: 32,
  /** Principals that the owner of a session sent away; of more, the one that was sent away first may come again. */
  maxBarred: 64,
  /** Without a turn and with nobody attached, a session that was made in process is closed after so long. */
  idleSessionMs: 1_800_000,
  maxListedSessions: 1_000,

  /** A message of a client. UTF-8 bytes: above the first it is refused, above the second its connection is closed. */
  maxInboundBytes: 1_048_576,
  maxSocketMessageBytes: 2_097_152,
  /** Messages, and UTF-8 bytes, held of a connection that is not ready yet; beyond them it is closed. */
  maxEarlyMessages: 16,
  maxEarlyBytes: 65_536,
  /** Calls of one connection that are not answered yet; of more each is refused. */
  maxCallsInFlight: 64,
  /** The result of a call, as JSON. UTF-8 bytes. */
  maxResultBytes: 4_194_304,
  /** How a caller that was refused at `maxCallsInFlight` is told to wait. */
  busyRetryMs: 100,
  /** Tokens by which connections come back, and how long one is valid behind the end of its connection. */
  maxResumeTokens: 4_096,
  resumeTokenMs: 300_000,
  /** How long a connection that is closed may still read what was sent before; then it is cut. */
  closeGraceMs: 1_000,
  /** Tokens of a config; and the name of a principal that a JWT brings, in UTF-16 units: a longer one is refused. */
  maxTokens: 256,
  maxPrincipalUnits: 256,
  /** How long a key set may take to come; then the JWT that asked for it is not taken. */
  keySetTimeoutMs: 5_000,
  /** Internet addresses whose upgrades are counted; when full a new address is refused. */
  maxAddresses: 10_000,

  /** What the fold keeps. */
  maxFoldThreads: 256,
  maxFoldMembers: 256,
  maxFoldSettledTasks: 256,
  maxTranscriptEntries: 24,
  /** Attempts at a task, or at a prompt, that are made without being asked for. */
  maxUnaskedAttempts: 3,
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
  /** How long the setup of a plugin may take, and the check of its config before; then it has failed. */
  setupMs: 30_000,
  /** How long closing waits for consumers to read what they hold. */
  drainMs: 2_000,
  /**
   * How long a session stays open without a connection of its owner, and then until its turn has settled. Longer: members
   * may go on without the owner, and what runs costs. 0: it is closed at once, and an owner on a bad line finds its turn
   * interrupted.
   */
  ownerGraceMs: 60_000,
} as const;

/** Bounds of a plugin's worker. */
export const workerBounds = {
  /** Heap of its thread. One that needs more is ended. Buffers lie outside of it. */
  heapMb: 256,
  /** Events that are handed to it at once. More of them cost less each, and more are lost when it ends amidst them. */
  batchEvents: 256,
  /** A thread that owes an answer and shows no sign of life for so long is ended. */
  blockedMs: 30_000,
  /** How long it may take to undo what it registered; then it is ended all the same. */
  unloadMs: 10_000,
  /** It is started again after the first of these, doubled with each end up to the second. */
  minBackOffMs: 250,
  maxBackOffMs: 30_000,
  /** So many ends within this time, and it is given up. */
  maxEnds: 5,
  endsWithinMs: 600_000,
} as const;

/** Defaults of a gateway; each can be set when it is made. Rates are counted on the monotonic clock. */
export const gatewayDefaults = {
  /** Calls of one connection: so many per second on average, so many at once. Beyond them a call is refused. */
  callsPerSecond: 100,
  callBurst: 200,
  /** A connection with so many refused calls within a minute is closed. */
  maxRefusedCalls: 1_000,
  /** A connection with so many calls refused for its scope or role within a minute is closed. */
  maxDeniedCalls: 10,
  /**
   * How often a connection is asked whether it still lives; 0 never asks and never gives up. Shorter: a dead peer is found
   * sooner, for two small packets per connection and interval.
   */
  pingIntervalMs: 30_000,
  /** A connection that was silent for longer than so many intervals is closed. */
  maxSilentPings: 2,
  maxConnections: 1_000,
  maxConnectionsPerPrincipal: 64,
  /** Connections of one address that have not shown their credential yet. */
  maxPendingPerAddress: 32,
  /** Upgrades of one address within a minute. Those of loopback peers of a loopback bind count nowhere. */
  maxUpgradesPerAddress: 60,
  /** Wrong credentials of one address within a minute; then it is locked out. */
  maxFailedUpgradesPerAddress: 10,
  lockOutMs: 300_000,
  /**
   * How long a ticket may be used, once. Longer: one that leaks with an address in some log is good for longer. Shorter: a
   * page on a slow line comes too late with it.
   */
  ticketMs: 30_000,
  /** The same of the ticket in a link that a command prints for a person: as long as it takes to go and open it. */
  linkMs: 600_000,
  /** Tickets that wait to be used, of one principal and in all; and those of one principal within a minute. */
  maxTicketsPerPrincipal: 16,
  maxTickets: 4_096,
  maxTicketMints: 30,
} as const;
