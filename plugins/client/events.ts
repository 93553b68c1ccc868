import type { JsonObject } from "../../core/index.ts";
import type { ActivityEvent, LogRow, MemberEntry, RoomMessage } from "./room-types.ts";
import type { Json, WireEvent } from "./wire.ts";

/** Payloads of the event types that the types know. Others come with a loose payload. */
export interface EventPayloads {
  "message.start": { readonly input: Json | null; readonly inputs: readonly Json[]; readonly inputs_complete: boolean };
  "message.delta": { readonly text: string };
  "message.interim": { readonly text: string; readonly already_streamed: boolean };
  "message.input": { readonly kind: "steer" | "redirect"; readonly input: Json; readonly offset: number } & JsonObject;
  "message.complete": {
    readonly text: string;
    readonly status: "complete" | "error" | "interrupted";
    readonly usage: Json | null;
    readonly error?: string;
    readonly failure_reason?: string;
    readonly partial?: boolean;
  };
  "reasoning.delta": { readonly text: string };
  "tool.start": { readonly tool_id: string; readonly name: string; readonly args?: unknown } & JsonObject;
  "tool.complete": { readonly tool_id: string; readonly name: string; readonly outcome: string } & JsonObject;
  "session.info": { readonly running: boolean; readonly title: string; readonly queued: number } & JsonObject;
  "session.sharing": {
    readonly visibility: "private" | "shared" | "read_only";
    readonly observers: readonly { readonly client_id: string | null; readonly role: "owner" | "member" | "viewer" }[];
    readonly cause: "attach" | "detach" | "visibility" | "owner_returned";
  };
  "session.detached": { readonly session_id: string; readonly reason: string };
  "session.reclaimed": {
    readonly session_id: string;
    readonly stored_session_id: string;
    readonly reason: string;
  };
  "request.update": { readonly id: string; readonly answers: Json } & JsonObject;
  "request.cancel": { readonly id: string; readonly method: string; readonly reason: string };
  "request.resolved": {
    readonly id: string;
    readonly method: string;
    readonly outcome: "answered" | "denied" | "expired" | "cancelled";
    readonly choice?: string;
    readonly reason?: string;
    readonly by: { readonly origin: string } | null;
  };
  "room.message": RoomMessage;
  "room.log": LogRow;
  "room.activity": ActivityEvent;
  "room.member": MemberEntry;
  "room.unsubscribed": { readonly room_id: string; readonly subscription_id: string; readonly reason: string };
  error: { readonly message: string; readonly reason?: string };
  notice: { readonly message: string };
}

/** An event type that the types know. */
export type EventType = keyof EventPayloads;
type Family<Type extends string> = Type extends `${infer Name}.${string}` ? Name : never;

/** A type, a family such as `tool.*`, or `*` for all, unknown ones included. Any other text is a type as well. */
export type EventPattern = EventType | `${Family<EventType>}.*` | "*" | (string & {});

type KnownEvent = {
  [Type in EventType]: Omit<WireEvent, "type" | "payload"> & {
    readonly type: Type;
    readonly payload: EventPayloads[Type];
  };
}[EventType];

/** What a handler for a pattern gets. */
export type EventFor<Pattern extends string> = Pattern extends EventType
  ? Extract<KnownEvent, { readonly type: Pattern }>
  : WireEvent;

/** Handlers by pattern. One that throws stops no other. */
export class EventHandlers {
  readonly #handlers = new Set<{
    readonly matches: (type: string) => boolean;
    readonly run: (event: WireEvent) => void;
  }>();
  readonly #failed: (type: string, cause: unknown) => void;

  constructor(failed: (type: string, cause: unknown) => void) {
    this.#failed = failed;
  }

  /** Calls `handler` for each event of the pattern, in order of registration. Returns its undo. */
  add<Pattern extends EventPattern>(pattern: Pattern, handler: (event: EventFor<Pattern>) => void): () => void {
    // The pattern says which events come; the types of their payloads are the server's promise.
    const entry = { matches: matcherOf(pattern), run: handler as (event: WireEvent) => void };
    this.#handlers.add(entry);
    return () => void this.#handlers.delete(entry);
  }

  dispatch(event: WireEvent): void {
    // Those that are added meanwhile wait for the next event.
    for (const entry of [...this.#handlers]) {
      if (!entry.matches(event.type) || !this.#handlers.has(entry)) continue;
      try {
        entry.run(event);
      } catch (cause) {
        this.#failed(event.type, cause);
      }
    }
  }
}

function matcherOf(pattern: string): (type: string) => boolean {
  if (pattern === "*") return () => true;
  if (!pattern.endsWith(".*")) return (type) => type === pattern;
  const family = pattern.slice(0, -1);
  return (type) => type.startsWith(family);
}
