// The log: its contract, its texts and hashes, and the engine on SQLite.
export { canonicalJson, digest } from "./canonical-json.ts";
export { chainStart, rowBytes, rowHash, storedRowHash, verifyRows } from "./hash-chain.ts";
export type { ChainLink, ChainProblem, HashedColumns } from "./hash-chain.ts";
export type { AcceptResult, DueRow, InboxChange, InboxRow, NewPost, RetryRow } from "./inbox-row.ts";
export type { Fenced, LeaseLost, LeaseRow, ProcessMark, RoomLeases } from "./lease-row.ts";
export type { Append, AppendResult, ChangeListener, ChangeRefused, Refused, RoomLog } from "./log.ts";
export {
  rowKinds,
  settledPayloadSchema,
  startedPayloadSchema,
  zeroHash,
  type Head,
  type LogRow,
  type NewRow,
  type Page,
  type RowKind,
  type SettledRow,
  type StartedRow,
} from "./log-row.ts";
export type { NamedValues } from "./named-values.ts";
export type { PlanInput, RoomPage, RoomPageRequest, RoomReader, StoredCheckpoint } from "./room-reader.ts";
export type { Member, RoomRecord, StopFence } from "./room-record.ts";
export { parseRow, type StoredRow } from "./stored-row.ts";
export { openSqliteLog, SqliteRoomLog, type SqliteLogOptions } from "./sqlite/log.ts";
export { type OpenOptions } from "./sqlite/open.ts";
export { type Quota } from "./sqlite/quota.ts";
export { openSqliteLogReader, SqliteLogReader } from "./sqlite/reader.ts";
export { type SessionQuota } from "./sqlite/put-session.ts";
export { SqliteNamedValues } from "./sqlite/named-values.ts";
export { SqliteSessionStore } from "./sqlite/sessions.ts";
export {
  verifyLog,
  verifyRoom,
  type OpenTurn,
  type Orphan,
  type RoomCheck,
  type RoomVerdict,
  type TableProblem,
  type VerifiableLog,
  type VerifyProblem,
} from "./verify.ts";

// Sessions outside rooms, and what a connection needs to do a thing.
export { missingScope, scopeOf, scopeTable, type Scoped, type ScopeHolder, type ScopeRule } from "./scopes.ts";
export {
  SeatedSessions,
  type Attached,
  type Departure,
  type DetachReason,
  type Held,
  type SeatedSessionsParts,
  type SeatEvents,
} from "./seated-sessions.ts";
export { SessionSeats, type Revoked, type RosterEntry, type Seat, type Sitter } from "./session-seats.ts";
export { SessionSharing, visibilityOf, type SharedSessionOptions } from "./session-sharing.ts";
export {
  denial,
  judgeAnswer,
  judgeAttach,
  judgeUse,
  lacksScope,
  maySee,
  mayWatch,
  roles,
  roleUnder,
  type AttachRequest,
  type Caller,
  type ObserverRole,
  type Role,
  type Stance,
  type Standing,
  type Use,
} from "./sharing.ts";
export { fromSnapshot, toSnapshot, type SessionReading } from "./stored-session.ts";

// What follows from a log, purely: ids, rosters, mentions, the fold, the plan.
export {
  checkpointOf,
  readStored,
  toStored,
  type Checkpoint,
  type IgnoredReason,
  type StoredReading,
} from "./checkpoint.ts";
export { fold, RoomFold } from "./fold.ts";
export {
  emptyState,
  type DiscussionState,
  type FoldState,
  type MemberRow,
  type MemberState,
  type NamedWord,
  type OpenAttempt,
  type SeenThread,
  type SettledAttempt,
  type ShownRow,
  type TaskState,
  type ThreadState,
} from "./fold-state.ts";
export { foldStateVersion } from "./fold-state-schema.ts";
export { eventId, messageId, sessionId, taskId, turnId, type TurnIdParts } from "./ids.ts";
export { afterLeadingMentions, mentionedWords } from "./mention-words.ts";
export { changedEntries, memberEntries, type MembersSource } from "./member-states.ts";
export { parseMentions, type Mentions } from "./mentions.ts";
export {
  planNext,
  type Plan,
  type PlannedStart,
  type PlanSource,
  type ThreadPlan,
  type ThreadStanding,
} from "./plan.ts";
export { defaultPolicy, parsePolicy, policySchema, type PolicyOptions, type RoomPolicy } from "./policy.ts";
export { dueAfter, retryable, type Retryable } from "./retryable.ts";
export { driverStatus, type DriverStatus, type PendingAction } from "./driver-status.ts";
export { roomState, type InboxEntry, type RoomState } from "./room-state.ts";
export { isSuperseded } from "./supersede.ts";
export {
  drivenMembers,
  parseRoster,
  readRoster,
  reservedHandles,
  rosterDigest,
  type MemberInput,
  type RosterReading,
} from "./roster.ts";
export { transcriptOf, transcriptRows, type Transcript, type TranscriptSource } from "./transcript.ts";

// What carries the plan out: rooms side by side, attempts with exactly one end.
export { admit, Places, type Admission, type Place } from "./admission.ts";
export type { AttemptRun } from "./attempt-run.ts";
export type { ClaimReason } from "./lease.ts";
export type { LeaseWait } from "./lease-claim.ts";
export type { StoredLog } from "./load-room.ts";
export {
  LeaseKeeper,
  type Lease,
  type LeaseCounters,
  type LeaseKeeperOptions,
  type LossReason,
} from "./lease-keeper.ts";
export type { PostInput, PostReceipt } from "./post.ts";
export { isGone, processMark } from "./process-mark.ts";
export type { Room } from "./room.ts";
export type { LogPageRequest, Readable } from "./room-catalog.ts";
export type { RoomChange, RoomMessage } from "./room-change.ts";
export type { RetryReceipt, Tombstone } from "./room-commands.ts";
export type { AttemptSnapshot, RoomSnapshot } from "./room-snapshot.ts";
export { roomNameSchema, type MemberDefinition, type RoomDefinition } from "./room-definition.ts";
export { RoomHost, type StaleCounters } from "./room-host.ts";
export type { RoomHostOptions } from "./room-host-options.ts";
