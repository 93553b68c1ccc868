import { Readable, Writable } from "node:stream";
import {
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
  type AnyMessage,
  type ClientContext,
} from "@agentclientprotocol/sdk";
import { z } from "zod";
import { cutUtf8, type Usage } from "../../core/index.ts";
import type { PermissionAnswer, PermissionOption } from "./acp-permission.ts";

/**
 * Of an agent's error text, so much is passed on: bytes. Many times what is kept of it in the end, because secrets are
 * masked in between, and a secret that was cut is none that a rule knows.
 */
const maxErrorBytes = 65_536;

/** What an agent answered, or why it did not. */
export type Reply<T> =
  | { readonly kind: "done"; readonly value: T }
  /** It answered with an error, or with what is no answer; `code` is the one of JSON-RPC or ACP. */
  | { readonly kind: "refused"; readonly code: number | null; readonly problem: string }
  /** The connection is gone: no answer will come. */
  | { readonly kind: "lost" };

/** The client's side, as an agent needs it. */
export interface AcpClient {
  /** Told each `session/update` in the order of the wire, ahead of whatever the agent sent behind it. Never throws. */
  onUpdate(sessionId: string, update: unknown): void;
  /** Asked for a permission. Never rejects. */
  onPermission(request: PermissionRequest): Promise<PermissionAnswer>;
  /** Told of each answer to a question that was not asked, or was answered before. Never throws. */
  onStrayAnswer(): void;
}

export interface PermissionRequest {
  readonly sessionId: string;
  readonly toolCall: unknown;
  readonly options: readonly PermissionOption[];
}

export interface PromptEnd {
  /** `end_turn`, `max_tokens`, `max_turn_requests`, `refusal`, `cancelled`, or a word of a newer agent. */
  readonly stopReason: string;
  readonly usage: Usage | null;
}

/** A connection to one agent process. Calls of several sessions run side by side. */
export interface AcpConnection {
  /** The handshake, before all else. Neither files nor terminals are offered: agents use their own. */
  initialize(): Promise<Reply<{ readonly closesSessions: boolean }>>;
  /** @param cwd absolute path */
  newSession(cwd: string): Promise<Reply<string>>;
  /** One turn of a session, until the agent says that it has ended. */
  prompt(sessionId: string, prompt: string): Promise<Reply<PromptEnd>>;
  /** Asks the agent to end the running turn of a session. It may take its time, or not listen. */
  cancel(sessionId: string): void;
  /** Tells the agent that a session is not used any more. */
  closeSession(sessionId: string): void;
  /** Settles once the connection is gone; from then on every call is `lost`. */
  readonly closed: Promise<void>;
  close(): void;
}

/**
 * Speaks the Agent Client Protocol, version 1, over an agent's standard input and output. Lines that are no JSON are
 * answered with an error and skipped; one of more than 32 MiB ends the connection.
 */
export function connectAcp(stdin: Writable, stdout: Readable, handlers: AcpClient): AcpConnection {
  const wire = ndJsonStream(Writable.toWeb(stdin), Readable.toWeb(stdout) as ReadableStream<Uint8Array>);
  const asked = new Set<unknown>();
  const connection = client({ name: "roomtap" })
    .onRequest(methods.client.session.requestPermission, async ({ params }) => ({
      outcome: await handlers.onPermission(params),
    }))
    .connect({
      writable: outgoingTap(asked, wire.writable),
      readable: wire.readable.pipeThrough(incomingTap(asked, handlers)),
    });
  const { agent } = connection;
  return {
    initialize: async () => {
      const clientCapabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: false };
      const params = { protocolVersion: PROTOCOL_VERSION, clientCapabilities };
      const reply = await call(agent, methods.agent.initialize, params, initializedSchema);
      if (reply.kind !== "done") return reply;
      const { protocolVersion, agentCapabilities } = reply.value;
      if (protocolVersion === PROTOCOL_VERSION) {
        return { kind: "done", value: { closesSessions: Boolean(agentCapabilities?.sessionCapabilities?.close) } };
      }
      const problem = `speaks version ${protocolVersion} of ACP, roomtap version ${PROTOCOL_VERSION}`;
      return { kind: "refused", code: null, problem };
    },
    newSession: async (cwd) => {
      const reply = await call(agent, methods.agent.session.new, { cwd, mcpServers: [] }, newSessionSchema);
      return reply.kind === "done" ? { kind: "done", value: reply.value.sessionId } : reply;
    },
    prompt: async (sessionId, prompt) => {
      const params = { sessionId, prompt: [{ type: "text", text: prompt }] };
      const reply = await call(agent, methods.agent.session.prompt, params, promptedSchema);
      if (reply.kind !== "done") return reply;
      return { kind: "done", value: { stopReason: reply.value.stopReason, usage: usageOf(reply.value.usage) } };
    },
    // Either is lost with the connection, whose end is told by the prompts that run.
    cancel: (sessionId) => void agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => undefined),
    closeSession: (sessionId) => void call(agent, methods.agent.session.close, { sessionId }, z.unknown()),
    closed: connection.closed,
    close: () => connection.close(),
  };
}

// The SDK hands answers over as they came. Loose: agents add keys.
const initializedSchema = z.looseObject({
  protocolVersion: z.number(),
  agentCapabilities: z
    .looseObject({ sessionCapabilities: z.looseObject({ close: z.unknown().optional() }).nullish().catch(undefined) })
    .nullish()
    .catch(undefined),
});
const newSessionSchema = z.looseObject({ sessionId: z.string().min(1) });
const promptedSchema = z.looseObject({ stopReason: z.string(), usage: z.unknown().optional() });

async function call<T>(agent: ClientContext, method: string, params: object, schema: z.ZodType<T>): Promise<Reply<T>> {
  let answer: unknown;
  try {
    answer = await agent.request<unknown>(method, params);
  } catch (fault) {
    if (!(fault instanceof RequestError)) return { kind: "lost" };
    return { kind: "refused", code: fault.code, problem: cutUtf8(textOf(fault), maxErrorBytes) };
  }
  const parsed = schema.safeParse(answer);
  if (parsed.success) return { kind: "done", value: parsed.data };
  return { kind: "refused", code: null, problem: `gave an answer to ${method} that is none` };
}

/** The message, and the detail that SDKs put beside a general one ("Internal error"). */
function textOf({ message, data }: RequestError): string {
  const details = detailsSchema.safeParse(data).data?.details;
  return details === undefined ? message : `${message}: ${details}`;
}

const detailsSchema = z.looseObject({ details: z.string() });

/** The numbers that an agent reported with the end of a turn, unchanged; null when it reported none. */
function usageOf(usage: unknown): Usage | null {
  if (typeof usage !== "object" || usage === null) return null;
  const numbers = Object.entries(usage).filter((entry): entry is [string, number] => Number.isFinite(entry[1]));
  return numbers.length === 0 ? null : Object.fromEntries(numbers);
}

/** Notes the ids of the requests that leave. */
function outgoingTap(asked: Set<unknown>, wire: WritableStream<AnyMessage>): WritableStream<AnyMessage> {
  const writer = wire.getWriter();
  return new WritableStream({
    write(message) {
      if ("method" in message && "id" in message) asked.add(message.id);
      return writer.write(message);
    },
  });
}

/**
 * Lets through what the SDK has a use for: requests, the withdrawal of one, and answers to what was asked. It would print
 * an answer that nobody waits for, and what it cannot read, as the agent wrote them. Session updates are taken off the
 * stream: it would tell of a turn's end ahead of the updates that came just before, and refuse those of newer agents.
 */
function incomingTap(asked: Set<unknown>, handlers: AcpClient): TransformStream<AnyMessage, AnyMessage> {
  return new TransformStream({
    transform(message, controller) {
      const update = updateSchema.safeParse(message).data;
      if (update !== undefined) {
        if (update.params !== undefined) handlers.onUpdate(update.params.sessionId, update.params.update);
      } else if ("method" in message) {
        if ("id" in message || message.method === methods.protocol.cancelRequest) controller.enqueue(message);
      } else if ("id" in message) {
        if (asked.delete(message.id)) controller.enqueue(message);
        else handlers.onStrayAnswer();
      }
    },
  });
}

const updateSchema = z.object({
  method: z.literal(methods.client.session.update),
  // Without a session there is nobody to tell.
  params: z.object({ sessionId: z.string(), update: z.unknown() }).optional().catch(undefined),
});
