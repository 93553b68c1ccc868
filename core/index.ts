export {
  activityEventSchema,
  activityKinds,
  kindTable,
  reasonCodes,
  requestOutcomes,
  startCauses,
  toolOutcomes,
  turnStatuses,
  type ActivityEvent,
  type ActivityKind,
  type ActivityPayloads,
  type Author,
  type CancelReason,
  type Delta,
  type EventOf,
  type FailureReason,
  type Gap,
  type InputItem,
  type KindEntry,
  type ReasonCode,
  type RequestOutcomeWord,
  type RowRef,
  type StartCause,
  type ToolOutcome,
  type TruncatedField,
  type TurnSettled,
  type TurnStarted,
  type TurnStatus,
  type Usage,
} from "./activity.ts";
export type { ActivitySink } from "./activity-sink.ts";
export { Agent, type AgentDefinition } from "./agent.ts";
export { Attempt, kindIndex } from "./attempt.ts";
export { approvalChoices, type ApprovalChoice } from "./approval-question.ts";
export { ApprovalRules, normalisedCommand, type ApprovedCall, type RuledAgent } from "./approval-rules.ts";
export { busyModes, type BusyMode } from "./busy-mode.ts";
export { called, refuse, type Called, type Refused } from "./called.ts";
export { cleanPayload, cleanText, type Cleaned } from "./clean.ts";
export { cleanReport } from "./clean-report.ts";
export { Client } from "./client.ts";
export {
  countingIds,
  manualClock,
  systemClock,
  systemIds,
  type Clock,
  type IdSource,
  type ManualClock,
  type Undo,
} from "./clock.ts";
export {
  coordinatesSchema,
  coordinatesText,
  idSchema,
  isId,
  makeCoordinates,
  type Coordinates,
} from "./coordinates.ts";
export { cutPayload, envelopeBytes, estimateBytes, type CutPayload } from "./cut.ts";
export type { DeltaStream } from "./delta-stream.ts";
export { createEmitter, type Emitter } from "./emitter.ts";
export {
  errorTable,
  isPassing,
  messageOf,
  reportLater,
  RoomtapError,
  type ErrorCode,
  type Notice,
  type Report,
} from "./errors.ts";
export { Execution, type OpenTool } from "./execution.ts";
export {
  FanOut,
  type ClientLine,
  type AttachResult,
  type EventsSince,
  type FanOutParts,
  type FanOutStats,
  type MayReceive,
} from "./fan-out.ts";
export type { FrameSink } from "./frame-sinks.ts";
export {
  frameTable,
  parseEventFrame,
  type EventFrame,
  type Frame,
  type JsonObject,
  type KnownFrameType,
  type RequestFrame,
  type RunnerFrame,
} from "./frames.ts";
export type { ErrorEntry } from "./host-errors.ts";
export { createLane, type Lane } from "./lane.ts";
export { Mailbox, type MailboxParts, type Occupancy, type Outlet } from "./mailbox.ts";
export {
  liveAttemptOf,
  memberStateOf,
  memberStateWords,
  type LiveAttempt,
  type MemberEntry,
  type MemberFacts,
  type MemberStateWord,
  type RunningTool,
  type WaitsBehind,
} from "./member-state.ts";
export { consumerDefaults, gatewayDefaults, hostDefaults, limits, workerBounds } from "./options.ts";
export type { Prompt } from "./prompt.ts";
export { enqueue, queueBytes, type Enqueued } from "./prompt-queue.ts";
export { createRedactor, noRedaction, type Redactor, type StreamRedactor } from "./redact.ts";
export type { Refusal } from "./refusals.ts";
export { replayBounds, type ReplayBounds, type ReplayStats } from "./replay.ts";
export type { RingBounds } from "./replay-ring.ts";
export { requestFrame, type CancelWord, type OpenRequest } from "./open-request.ts";
export type { AnswerResult, ApprovalResponse, LockResult, RequestAnswer, RespondResult } from "./request-answers.ts";
export {
  RequestDelivery,
  type RequestAudience,
  type RequestClient,
  type RequestDeliveryParts,
  type ResponseFate,
  type ResponseFrame,
} from "./request-delivery.ts";
export { approvalEntries, requestEntry, type ApprovalEntry, type RequestEntry } from "./request-entry.ts";
export type { RequestEvents } from "./request-keeper.ts";
export {
  requestKind,
  requestMethods,
  requestScope,
  requestTable,
  type Reading,
  type RequestKind,
} from "./request-table.ts";
export { ResumeTokens, type TokenOwner } from "./resume-tokens.ts";
export type {
  Answered,
  Correction,
  Question,
  RequestOutcome,
  Runner,
  TranscriptEntry,
  Turn,
  TurnEnd,
  TurnMember,
  WriteResult,
} from "./runner.ts";
export { scopes, type Scope } from "./scope.ts";
export { Seam } from "./seam.ts";
export { defaultSecretRules, mask, secretsOfEnvironment, type SecretRule } from "./secret-rules.ts";
export { secretToken } from "./secret-token.ts";
export { ServerRequests, type ServerRequestsParts } from "./server-requests.ts";
export { LiveSession, type LiveSessionParts, type SessionEnd } from "./session-driver.ts";
export { SessionHost, type CreateSession, type SessionHostParts } from "./session-host.ts";
export type { ListedSession, SessionHostEvents } from "./session-host-events.ts";
export type { TranscriptPage } from "./session-journal.ts";
export { newRecord, type NewSession } from "./session-record.ts";
export {
  shownMessage,
  snapshotOf,
  statusOf,
  type SessionSnapshot,
  type SessionStatus,
  type SnapshotSource,
  type TurnFacts,
} from "./session-snapshot.ts";
export {
  visibilities,
  type ApprovalRule,
  type InputRef,
  type MessageKey,
  type QueuedPrompt,
  type SessionRecord,
  type SessionsOf,
  type SessionStore,
  type SessionSummary,
  type StoredMessage,
  type UnfinishedTurn,
  type Visibility,
} from "./session-store.ts";
export { Session, SessionRegistry } from "./sessions.ts";
export {
  abandoned,
  cancelWordOf,
  settle,
  type SettlementRules,
  type SettlementSource,
  type StopReason,
} from "./settlement.ts";
export { Signal } from "./signal.ts";
export { Steps } from "./steps.ts";
export { Stopwatch } from "./stopwatch.ts";
export type { CorrectionRefused, CorrectionResult, MaySend, SubmitRefused, SubmitResult } from "./submissions.ts";
export { Tap, type Sealed, type TapOptions } from "./tap.ts";
export { parseTurnEnd } from "./turn-end.ts";
export { TurnRun, type TurnRunParts, type WorkPlace } from "./turn-run.ts";
export { hostTurns, originOf, sourceOf, type HostTurn, type TurnMark, type TurnSource } from "./turn-source.ts";
export { cutUtf8, cutUnits, utf8Length } from "./utf8.ts";
export { Chunk, WireFrame, type Encoding } from "./wire-frame.ts";
