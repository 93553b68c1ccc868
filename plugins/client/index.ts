export type { ActivityLoss } from "./attempt-numbers.ts";
export { Client, createClient, type CallSettings, type ClientOptions, type Problem, type RoomPost } from "./client.ts";
export type { ClientState } from "./connection.ts";
export { CallError, LinkError, type LinkReason } from "./errors.ts";
export type { EventFor, EventPattern, EventPayloads, EventType } from "./events.ts";
export type { Ready } from "./link.ts";
export type {
  AnswerReply,
  ConsumerStats,
  MessageEntry,
  MethodName,
  Methods,
  OpenRequest,
  ParamsOf,
  PluginStatus,
  ResultOf,
  Snapshot,
  SubmitResult,
  VerifyReply,
} from "./methods.ts";
export { clientDefaults, clientLimits } from "./options.ts";
export type { Chance, ClientClock } from "./platform.ts";
export { declined, type RequestCall, type RequestHandler } from "./requests.ts";
export type { Resync } from "./restore.ts";
export type { RoomListener, RoomRequest } from "./room-feed.ts";
export type { RoomSubscription } from "./room-feeds.ts";
export type { LogRow, RoomMessage, RoomStateEntry, RosterEntry, RunningAttempt } from "./room-types.ts";
export type { SocketConstructor, SocketLike } from "./socket.ts";
export type { Json, WireEvent } from "./wire.ts";
