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
  type Head,
  type InboxChange,
  type InboxRow,
  type LogRow,
  type Member,
  type NewPost,
  type NewRow,
  type Page,
  type RoomLog,
  type RoomRecord,
  type RowKind,
  type SettledRow,
  type StartedRow,
} from "./log.ts";
export { parseRow, type StoredRow } from "./stored-row.ts";
export { openSqliteLog, SqliteRoomLog, type SqliteLogOptions } from "./sqlite/log.ts";
export { type OpenOptions } from "./sqlite/open.ts";
export { type Quota } from "./sqlite/quota.ts";
export { openSqliteLogReader } from "./open-reader.ts";
export { SqliteLogReader } from "./sqlite/reader.ts";
export { verifyLog, type OpenTurn, type RoomVerdict, type VerifiableLog, type VerifyProblem } from "./verify.ts";

// What follows from a log, purely: ids, rosters, mentions, the fold, the plan.
export { checkpointOf, type Checkpoint } from "./checkpoint.ts";
export { fold, RoomFold } from "./fold.ts";
export {
  emptyState,
  type DiscussionState,
  type FoldState,
  type MemberState,
  type OpenAttempt,
  type SeenThread,
  type SettledAttempt,
  type ShownRow,
  type TaskState,
  type ThreadState,
} from "./fold-state.ts";
export { eventId, messageId, sessionId, taskId, turnId, type TurnIdParts } from "./ids.ts";
export { afterLeadingMentions, mentionedWords } from "./mention-words.ts";
export { parseMentions, type Mentions } from "./mentions.ts";
export { planNext, type Plan, type PlannedStart, type PlanSource } from "./plan.ts";
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
export { Places, admits } from "./admission.ts";
export type { AttemptRun } from "./attempt-run.ts";
export type { PostInput, PostReceipt } from "./post.ts";
export type { Room } from "./room.ts";
export { RoomHost, type MemberDefinition, type RoomDefinition, type RoomHostOptions } from "./room-host.ts";
export { abandoned, settle, type SettlementSource } from "./settlement.ts";
