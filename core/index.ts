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
export { Attempt, kindIndex, type OpenTool } from "./attempt.ts";
export { cleanPayload, cleanText, type Cleaned } from "./clean.ts";
export { cleanReport } from "./clean-report.ts";
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
export { createEmitter, type Emitter } from "./emitter.ts";
export {
  errorTable,
  messageOf,
  reportLater,
  RoomtapError,
  type ErrorCode,
  type ErrorEntry,
  type Notice,
  type Report,
} from "./errors.ts";
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
export { createLane, type Lane } from "./lane.ts";
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
export { consumerDefaults, hostDefaults, limits } from "./options.ts";
export { createRedactor, noRedaction, type Redactor, type StreamRedactor } from "./redact.ts";
export { requestEntry, type RequestEntry } from "./request-entry.ts";
export type {
  Question,
  RequestOutcome,
  Runner,
  TranscriptEntry,
  Turn,
  TurnEnd,
  TurnMember,
  WriteResult,
} from "./runner.ts";
export { Seam } from "./seam.ts";
export { defaultSecretRules, mask, secretsOfEnvironment, type SecretRule } from "./secret-rules.ts";
export {
  ServerRequests,
  type AnswerResult,
  type CancelWord,
  type OpenRequest,
  type RequestEvents,
} from "./server-requests.ts";
export { Session, SessionRegistry } from "./sessions.ts";
export { Tap, type Sealed, type TapOptions } from "./tap.ts";
export { cutUtf8, utf8Length } from "./utf8.ts";
