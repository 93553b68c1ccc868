// The log: its contract, its texts and hashes, and the engine on SQLite.
export { canonicalJson, digest } from "./canonical-json.ts";
export { chainStart, rowBytes, rowHash, storedRowHash, verifyRows } from "./hash-chain.ts";
export type { ChainLink, ChainProblem, HashedColumns } from "./hash-chain.ts";
export {
  rowKinds,
  settledPayloadSchema,
  startedPayloadSchema,
  zeroHash,
  type AcceptResult,
  type Append,
  type AppendResult,
  type ChangeListener,
  type ChangeRefused,
  type DueRow,
  type Fenced,
  type Head,
  type InboxChange,
  type InboxRow,
  type LeaseLost,
  type LeaseRow,
  type LogRow,
  type Member,
  type NewPost,
  type NewRow,
  type Page,
  type PlanInput,
  type ProcessMark,
  type Refused,
  type RetryRow,
  type RoomLeases,
  type RoomLog,
  type RoomReader,
  type RoomRecord,
  type RowKind,
  type SettledRow,
  type StartedRow,
  type StopFence,
  type StoredCheckpoint,
} from "./log.ts";
export { parseRow, type StoredRow } from "./stored-row.ts";
export { openSqliteLog, SqliteRoomLog, type SqliteLogOptions } from "./sqlite/log.ts";
export { type OpenOptions } from "./sqlite/open.ts";
export { type Quota } from "./sqlite/quota.ts";
export { openSqliteLogReader, SqliteLogReader } from "./sqlite/reader.ts";
export {
  verifyLog,
  type OpenTurn,
  type Orphan,
  type RoomCheck,
  type RoomVerdict,
  type TableProblem,
  type VerifiableLog,
  type VerifyProblem,
} from "./verify.ts";

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
export { type MemberDefinition, type RoomDefinition } from "./room-definition.ts";
export { RoomHost, type RoomHostOptions, type StaleCounters } from "./room-host.ts";
export { abandoned, settle, type SettlementSource } from "./settlement.ts";
