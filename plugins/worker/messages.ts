import { z } from "zod";
import {
  activityKinds,
  scopes,
  type ActivityEvent,
  type ActivityKind,
  type AnswerResult,
  type RequestEntry,
} from "../../core/index.ts";
import type { ConsumerStats } from "../../observers/index.ts";
import type { RoomSnapshot } from "../../rooms/index.ts";
import type { Permit } from "../permit.ts";
import type { PluginCaller, RoomSummary, RouteRequest, RowPage } from "../plugin.ts";
import type { HandlerRegistration } from "../services.ts";

/**
 * All that a host and a plugin's worker say to each other. Each side has methods, which are answered, and notes, which are
 * not. What comes out of a worker is checked; what a host says is its own, and only its shape is.
 */
export interface Side {
  readonly methods: { readonly [name: string]: { readonly params: z.ZodType; readonly result: z.ZodType } };
  readonly notes: { readonly [name: string]: z.ZodType };
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** What the host says: nothing of it needs to be checked. */
const hosts = <Shape>(): z.ZodType<Shape> => z.custom<Shape>();
const object = <Shape extends object>(): z.ZodType<Shape> => z.custom<Shape>(isObject);
const bytes = z.custom<Uint8Array>((value) => value instanceof Uint8Array);

const count = z.int().min(0);
/** Names a handler, a route or a command of a guest, from its registration on. */
const registration = z.int().min(1);
/** Names a streamed body of a guest. */
const body = z.int().min(1);
const nothing = z.undefined();

const kind = z.enum(activityKinds as [ActivityKind, ...ActivityKind[]]);
const scope = z.enum(scopes);

/** A handler's misbehaviour in one batch. */
const batchAck = z.strictObject({ thrown: count, rejected: count, message: z.string().optional() });
export type BatchAck = z.output<typeof batchAck>;

const routeReply = z.strictObject({
  status: z.number().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  /** JSON. */
  json: z.string().optional(),
  body: z.union([z.string(), bytes]).optional(),
  /** A body that is asked for piece by piece. */
  stream: body.optional(),
});
export type RouteReply = z.output<typeof routeReply>;

const piece = z.union([
  z.strictObject({ done: z.literal(true) }),
  z.strictObject({ done: z.literal(false), piece: z.union([z.string(), bytes]) }),
]);
export type Piece = z.output<typeof piece>;

/** What a worker is asked. */
export const guestSide = {
  methods: {
    /** Reads the plugin's file. */
    load: {
      params: z.strictObject({ file: z.string() }),
      result: z.strictObject({ id: z.string(), version: z.string(), manifest: z.unknown() }),
    },
    /** Has the plugin's schema check the config. */
    check: { params: z.strictObject({ config: z.unknown() }), result: nothing },
    setup: { params: z.strictObject({ permit: hosts<Permit>(), stepMs: z.number() }), result: nothing },
    ready: { params: nothing, result: nothing },
    drain: { params: z.strictObject({ deadlineMs: z.number() }), result: nothing },
    unload: { params: nothing, result: nothing },
    /** Whether its thread still runs. */
    ping: { params: nothing, result: nothing },
    /** Hands a batch to a handler; the answer comes when all of it was handled. */
    batch: {
      params: z.strictObject({ registration, events: hosts<readonly ActivityEvent[]>() }),
      result: batchAck,
    },
    request: {
      params: z.strictObject({ registration, request: hosts<Omit<RouteRequest, "signal">>() }),
      result: routeReply,
    },
    /** The next piece of a streamed body. */
    pull: { params: z.strictObject({ body }), result: piece },
    command: {
      params: z.strictObject({ registration, args: z.array(z.string()), caller: hosts<PluginCaller>() }),
      result: z.unknown(),
    },
  },
  notes: {
    /** Whoever read the body does not want the rest. */
    stop: z.strictObject({ body }),
  },
} as const satisfies Side;

/** What a host is asked. Arguments that came from the plugin's own code are judged by who carries the call out. */
export const hostSide = {
  methods: {
    /** `position` counts the registrations of handlers of this worker. Gives where what was handled is marked. */
    observe: {
      params: z.strictObject({
        registration,
        position: count,
        kinds: z.array(kind),
        options: object<HandlerRegistration["options"]>(),
      }),
      result: z.strictObject({ marks: hosts<SharedArrayBuffer>() }),
    },
    addRoute: {
      params: z.strictObject({
        registration,
        method: z.string(),
        path: z.string(),
        options: z.strictObject({
          scope: z.enum([...scopes, "public"]),
          at: z.enum(["plugin", "server"]),
        }),
      }),
      result: nothing,
    },
    addCommand: {
      params: z.strictObject({ registration, name: z.string(), summary: z.string(), scope: scope.optional() }),
      result: nothing,
    },
    stats: { params: nothing, result: hosts<readonly ConsumerStats[]>() },
    rooms: { params: nothing, result: hosts<readonly RoomSummary[]>() },
    roomState: { params: z.strictObject({ roomId: z.unknown() }), result: hosts<RoomSnapshot>() },
    roomLog: { params: z.strictObject({ roomId: z.unknown(), page: z.unknown() }), result: hosts<RowPage>() },
    openRequests: { params: nothing, result: hosts<readonly RequestEntry[]>() },
    answer: { params: z.strictObject({ id: z.unknown(), answer: z.unknown() }), result: hosts<AnswerResult>() },
    /** Values are JSON texts. */
    getValue: { params: z.strictObject({ key: z.string() }), result: z.string().optional() },
    setValue: { params: z.strictObject({ key: z.string(), value: z.string() }), result: nothing },
    deleteValue: { params: z.strictObject({ key: z.string() }), result: z.boolean() },
    keys: { params: z.strictObject({ prefix: z.string() }), result: hosts<readonly string[]>() },
  },
  notes: {
    /** A registration is undone. */
    end: z.strictObject({ registration }),
    log: z.strictObject({
      level: z.enum(["debug", "info", "warn", "error"]),
      message: z.string(),
      fields: z.record(z.string(), z.unknown()),
    }),
    /** A fault that nobody waits for. */
    fault: z.strictObject({ message: z.string(), stack: z.string().optional() }),
  },
} as const satisfies Side;

export type GuestSide = typeof guestSide;
export type HostSide = typeof hostSide;

const faultSchema = z.strictObject({
  /** Of a `RoomtapError`, null of any other. */
  code: z.string().nullable(),
  message: z.string(),
  stack: z.string().optional(),
});
/** A fault on its way through a port. */
export type FaultData = z.output<typeof faultSchema>;

const call = z.int().min(1);

/** What goes over the port. */
export const messageSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("call"), call, method: z.string(), params: z.unknown() }),
  z.strictObject({ type: z.literal("answer"), call, value: z.unknown() }),
  z.strictObject({ type: z.literal("refusal"), call, fault: faultSchema }),
  /** Whoever made the call does not wait for its answer any more. */
  z.strictObject({ type: z.literal("abort"), call }),
  z.strictObject({ type: z.literal("note"), note: z.string(), params: z.unknown() }),
]);
export type Message = z.output<typeof messageSchema>;
