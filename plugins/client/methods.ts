import type { LogRow, RoomStateEntry, RunningAttempt } from "./room-types.ts";
import type { Json } from "./wire.ts";

/** Counters of a consumer of activity. published = delivered + merged + dropped + depth. */
export interface ConsumerStats {
  readonly id: string;
  readonly published: number;
  readonly delivered: number;
  readonly merged: number;
  readonly dropped: number;
  readonly dropped_by_kind: { readonly [kind: string]: number };
  readonly gaps: number;
  readonly failures: { readonly thrown: number; readonly rejected: number; readonly stalled: number };
  /** Events and estimated bytes that wait for it. */
  readonly depth: number;
  readonly bytes: number;
  /** Of the oldest event that waits; null when none does. */
  readonly oldest_age_ms: number | null;
  /** An event that starts or ends something was dropped. */
  readonly lagging: boolean;
  /** Calls of its handler that have not settled yet. */
  readonly running: number;
  /** null before the first of every 64 calls. */
  readonly handler_ms: { readonly p50: number; readonly p99: number } | null;
}

/** A message of a transcript. */
export interface MessageEntry {
  readonly role: string;
  readonly text: string;
  readonly timestamp?: number;
  readonly display_kind?: string;
  readonly name?: string;
  readonly context?: string;
  readonly args?: unknown;
  readonly reasoning?: string;
}

/** A question that is open, as replies list it. */
export interface OpenRequest {
  readonly id: string;
  readonly method: string;
  readonly params: Json;
}

/** All there is to know of a session at one instant; frames above `latest_seq` go on from it. */
export interface Snapshot {
  readonly session_id: string;
  readonly stored_session_id: string;
  readonly message_count: number;
  readonly messages: readonly MessageEntry[];
  readonly messages_omitted: number;
  readonly info: Json;
  readonly running: boolean;
  readonly turn_started_at: number | null;
  readonly status: "idle" | "starting" | "waiting" | "working" | "streaming" | "resuming";
  readonly inflight: { readonly user: string | null; readonly assistant: string; readonly streaming: boolean } | null;
  readonly queued: { readonly user: string } | null;
  readonly queue: readonly { readonly input_id: string; readonly origin: string | null; readonly text: string }[];
  /** How the last turn ended, also when its last frame was lost. */
  readonly last_turn: { readonly turn_id: string; readonly status: string; readonly reason_code: string | null } | null;
  readonly open_requests: readonly OpenRequest[];
  /** Another live client was attached when this one came. */
  readonly watching: boolean;
  readonly visibility: string;
  readonly role: string;
  readonly epoch: string;
  readonly latest_seq: number;
  readonly truncated: boolean;
}

/** What became of a prompt. */
export interface SubmitResult {
  readonly status: "streaming" | "redirected" | "steered" | "queued" | "duplicate";
  readonly turn_id?: string;
  readonly submission: { readonly input_id: string; readonly ref?: string; readonly disposition: string };
}

/** What became of an answer. */
export interface AnswerReply {
  readonly status: "ok" | "already_resolved";
  readonly outcome?: {
    readonly outcome: string;
    readonly choice?: string;
    readonly reason?: string;
    readonly by: Json | null;
  };
}

/** A plugin of the server, and how it fares. */
export interface PluginStatus {
  readonly id: string;
  readonly version: string;
  readonly state: "loading" | "running" | "restarting" | "disabled" | "failed";
  readonly isolation: "inline" | "worker";
  /** null for one that was handed over in code. */
  readonly path: string | null;
  /** What it may see and do. */
  readonly permit: {
    /** null: all. */
    readonly rooms: readonly string[] | null;
    readonly payload: string;
    readonly grants: readonly string[];
    readonly answers: boolean;
    readonly routes: boolean;
    readonly paths: readonly string[];
  };
  readonly disclosure: string | null;
  readonly dependencies: { readonly [id: string]: string };
  /** Counters of its handlers. */
  readonly handlers: readonly (Json & {
    readonly id: string;
    readonly delivered: number;
    readonly dropped: number;
    readonly depth: number;
    readonly failures: { readonly thrown: number; readonly rejected: number; readonly stalled: number };
  })[];
  readonly routes: readonly string[];
  readonly commands: readonly { readonly name: string; readonly summary: string }[];
  readonly faults: number;
  readonly restarts: number;
  readonly last_fault: string | null;
}

type PluginId = { readonly plugin_id: string };
type SessionId = { readonly session_id: string };
type RoomId = { readonly room_id: string };
type JoinParams = SessionId & {
  readonly lazy?: boolean;
  readonly omit_messages?: boolean;
  readonly last_seen?: number;
};
type None = { readonly [key: string]: never };

/** What checking every row of a room found. */
export interface VerifyReply {
  readonly room_id: string;
  /** Rows that are right: all of them, or those before the problem. */
  readonly rows: number;
  readonly log_hash: string;
  readonly digest: string;
  readonly problem: { readonly seq: number | null; readonly kind: string; readonly message: string } | null;
}

/** The main methods of a server: params and result of each. Servers add keys; unknown ones are passed over on both sides. */
export interface Methods {
  "session.create": {
    params: {
      readonly agent_id?: string;
      readonly title?: string;
      readonly cwd?: string;
      readonly model?: string;
      readonly provider?: string;
      readonly visibility?: "private" | "shared" | "read_only";
      readonly close_on_disconnect?: boolean;
    };
    result: SessionId & { readonly stored_session_id: string; readonly message_count: number; readonly info: Json };
  };
  "session.resume": { params: JoinParams; result: Snapshot };
  "session.activate": { params: JoinParams; result: Snapshot };
  "session.attach": { params: JoinParams & { readonly role?: "member" | "viewer" }; result: Snapshot };
  "session.detach": { params: SessionId & { readonly client_id?: string }; result: { readonly detached: boolean } };
  "session.observers": {
    params: SessionId;
    result: {
      readonly observers: readonly {
        readonly client_id: string | null;
        readonly role: "owner" | "member" | "viewer";
        readonly connections: number;
        readonly since: number;
      }[];
    };
  };
  "session.visibility": {
    params: SessionId & { readonly visibility: "private" | "shared" | "read_only" };
    result: {
      readonly visibility: "private" | "shared" | "read_only";
      readonly revoked: readonly { readonly client_id: string; readonly from: string; readonly to: string | null }[];
    };
  };
  "session.close": { params: SessionId; result: { readonly closed: boolean; readonly left?: boolean } };
  "session.interrupt": { params: SessionId; result: { readonly status: "interrupted" | "not_interrupted" } };
  "session.steer": { params: SessionId & { readonly text: string }; result: { readonly status: string } };
  "session.redirect": { params: SessionId & { readonly text: string }; result: { readonly status: string } };
  "session.history": {
    params: SessionId & { readonly limit?: number; readonly before?: number };
    result: { readonly count: number; readonly messages: readonly MessageEntry[]; readonly messages_omitted: number };
  };
  "session.status": {
    params: SessionId;
    result: { readonly status: string; readonly running: boolean; readonly queued: number };
  };
  "session.title": { params: SessionId & { readonly title?: string }; result: { readonly title: string } };
  "session.list": {
    params: { readonly limit?: number; readonly offset?: number };
    result: { readonly sessions: readonly (Json & { readonly id: string })[]; readonly next_offset: number | null };
  };
  "session.active_list": Methods["session.list"];
  "session.events.since": {
    params: SessionId & { readonly last_seen?: number };
    result: {
      readonly events: readonly Json[];
      readonly latest_seq: number;
      readonly truncated: boolean;
      readonly count: number;
      readonly epoch: string;
      readonly open_requests: readonly OpenRequest[];
    };
  };
  "prompt.submit": {
    params: SessionId & {
      readonly text: string | readonly Json[];
      readonly attachments?: readonly unknown[];
      readonly display_kind?: "hidden";
      readonly queued?: boolean;
      readonly message_id?: string;
      readonly submission_ref?: string;
    };
    result: SubmitResult;
  };
  "clarify.lock": {
    params: { readonly request_id: string; readonly question_id: string; readonly answer: string };
    result: AnswerReply & { readonly remaining: readonly string[] };
  };
  "request.answer": { params: { readonly id: string; readonly result: Json }; result: AnswerReply };
  "approval.respond": {
    params: SessionId & { readonly choice?: string; readonly request_id?: string; readonly all?: boolean };
    result: AnswerReply & { readonly resolved: number };
  };
  "groups.list": {
    params: { readonly include_disbanded?: boolean; readonly limit?: number; readonly offset?: number };
    result: { readonly rooms: readonly (Json & RoomId)[]; readonly next_offset: number | null };
  };
  "groups.send": {
    params: RoomId & {
      readonly event_id?: string;
      readonly payload: {
        readonly text: string;
        readonly thread_id?: string;
        readonly attachments?: readonly string[];
      };
    };
    result: {
      readonly event: Json & { readonly event_id: string };
      readonly client_event_id: string;
      readonly accepted: true;
      readonly driver_started: boolean;
      /** Members that will answer, by id; words behind `@` that name nobody. */
      readonly addressed: readonly string[];
      readonly unresolved: readonly string[];
    };
  };
  "groups.log": {
    params: RoomId & { readonly since_seq?: number; readonly limit?: number; readonly include_disbanded?: boolean };
    result: {
      readonly events: readonly LogRow[];
      readonly cursor: number;
      readonly latest_seq: number;
      readonly has_more: boolean;
    };
  };
  "groups.stop": { params: RoomId & { readonly cancel_id?: string }; result: { readonly cancelled: number } };
  "groups.retry": {
    params: RoomId & { readonly task_id: string; readonly execution_generation?: number };
    result: { readonly retried: true; readonly task: Json };
  };
  "groups.approve": {
    params: RoomId & {
      readonly member_id: string;
      readonly task_id: string;
      readonly execution_generation: number;
      readonly request_id: string;
      readonly choice: string;
    };
    result: { readonly approved: boolean; readonly result: Json };
  };
  "rooms.state": { params: RoomId; result: RoomStateEntry };
  "rooms.verify": { params: RoomId; result: VerifyReply };
  "rooms.subscribe": {
    params: RoomId & {
      readonly since_seq?: number;
      readonly kinds?: readonly string[];
      readonly payload?: "meta" | "standard" | "full";
      readonly reasoning?: boolean;
    };
    result: {
      readonly subscription_id: string;
      readonly state: RoomStateEntry;
      readonly rows: readonly LogRow[];
      readonly cursor: number;
      readonly latest_seq: number;
      readonly has_more: boolean;
      readonly attempts: readonly RunningAttempt[];
    };
  };
  "rooms.unsubscribe": { params: RoomId; result: { readonly unsubscribed: boolean } };
  "rooms.pause": { params: RoomId & { readonly member_id?: string }; result: { readonly paused: readonly string[] } };
  "rooms.resume": { params: RoomId & { readonly member_id?: string }; result: { readonly paused: readonly string[] } };
  "rooms.cancel": {
    params: RoomId & { readonly turn_id?: string; readonly message_id?: string };
    result: { readonly cancelled: number };
  };
  "gateway.ticket": { params: None; result: { readonly ticket: string; readonly expires_in: number } };
  "plugins.list": { params: None; result: { readonly plugins: readonly PluginStatus[] } };
  "plugins.enable": { params: PluginId; result: { readonly plugin: PluginStatus } };
  "plugins.disable": { params: PluginId; result: { readonly plugin: PluginStatus } };
  "plugins.reload": { params: PluginId; result: { readonly plugin: PluginStatus } };
  "plugins.run": {
    params: PluginId & { readonly command: string; readonly args?: readonly string[] };
    result: { readonly result: unknown };
  };
  "consumers.list": {
    params: None;
    result: {
      /** Wall ms of the server. */
      readonly at: number;
      readonly consumers: readonly ConsumerStats[];
    };
  };
  "gateway.ping": { params: None; result: { readonly ok: true } };
}

/** A method that the types know. Others can be called too, with loose types. */
export type MethodName = keyof Methods;

/** What a call of `Method` takes. */
export type ParamsOf<Method extends string> = Method extends MethodName ? Methods[Method]["params"] : Json;

/** What a call of `Method` gives. */
export type ResultOf<Method extends string> = Method extends MethodName ? Methods[Method]["result"] : unknown;
