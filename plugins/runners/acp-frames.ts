import { createHash } from "node:crypto";
import { z } from "zod";
import { limits, type RunnerFrame, type ToolOutcome } from "../../core/index.ts";

/** Calls remembered of one turn, so that each starts once and ends once. At the bound the oldest is forgotten. */
const maxCalls = 4_096;

/** What a turn has to remember to tell its frames. */
export interface TurnState {
  /** By the full id, whatever its length. */
  readonly calls: Map<string, { readonly name: string; ended: boolean }>;
  plans: number;
}

export function newTurnState(): TurnState {
  return { calls: new Map(), plans: 0 };
}

// Agents differ in what they leave out, so only the id must be there; an odd field counts as absent, an unknown one
// is dropped.
const text = z.string().nullish().catch(undefined);
const toolCallSchema = z.object({
  toolCallId: z.string().min(1),
  name: text,
  title: text,
  kind: text,
  status: text,
  content: z.array(z.unknown()).nullish().catch(undefined),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
});

/** A tool call as an ACP agent names it: in `tool_call`, in `tool_call_update` or in a permission request. */
export type AcpToolCall = z.infer<typeof toolCallSchema>;

/** undefined when it has no id: nothing can be paired by it. */
export function parseToolCall(value: unknown): AcpToolCall | undefined {
  return toolCallSchema.safeParse(value).data;
}

const endings: ReadonlyMap<string, ToolOutcome> = new Map([
  ["completed", "ok"],
  ["failed", "error"],
  ["cancelled", "cancelled"],
]);

type Row = (update: Readonly<Record<string, unknown>>, state: TurnState) => readonly RunnerFrame[];

/** ACP session update -> frames. */
const table: ReadonlyMap<string, Row> = new Map<string, Row>([
  ["agent_message_chunk", ({ content }) => deltaFrames("message.delta", content)],
  ["agent_thought_chunk", ({ content }) => deltaFrames("reasoning.delta", content)],
  ["tool_call", toolFrames],
  ["tool_call_update", toolFrames],
  ["plan", planFrames],
  // An echo of the prompt: the room has it.
  ["user_message_chunk", () => []],
]);

/**
 * The frames of one `session/update`, in order. An update of another type passes as `acp.` and its name, which is never
 * activity; what has no type, or lacks what its type is about, gives none.
 */
export function framesOf(update: unknown, state: TurnState): readonly RunnerFrame[] {
  if (typeof update !== "object" || update === null) return [];
  const fields = update as Readonly<Record<string, unknown>>;
  const type = fields["sessionUpdate"];
  if (typeof type !== "string") return [];
  const row = table.get(type);
  if (row !== undefined) return row(fields, state);
  return [{ type: /^\w{1,64}$/.test(type) ? `acp.${type}` : "acp.update", payload: fields }];
}

/** Opens a call at its first mention, wherever that is; a call that is known gives no frame. */
export function mentionFrames(call: AcpToolCall, { calls }: TurnState): RunnerFrame[] {
  if (calls.has(call.toolCallId)) return [];
  const oldest = calls.keys().next();
  if (calls.size >= maxCalls && !oldest.done) calls.delete(oldest.value);
  const name = nameOf(call);
  calls.set(call.toolCallId, { name, ended: false });
  const title = call.title;
  return [
    {
      type: "tool.start",
      payload: {
        tool_id: toolIdOf(call),
        name,
        ...(call.rawInput !== undefined && { args: call.rawInput }),
        ...(title && title !== name && { context: title }),
      },
    },
  ];
}

/** The call's id as frames name it: one that is longer than roomtap takes is told by its digest. */
export function toolIdOf({ toolCallId }: AcpToolCall): string {
  if (toolCallId.length <= limits.maxToolIdUnits) return toolCallId;
  return `sha256-${createHash("sha256").update(toolCallId).digest("hex")}`;
}

/** The tool's own name where the agent gives one, else the title ("Reading project files"), else the kind ("read"). */
export function nameOf({ name, title, kind }: AcpToolCall): string {
  return name || title || kind || "tool";
}

function toolFrames(update: unknown, state: TurnState): readonly RunnerFrame[] {
  const call = parseToolCall(update);
  if (call === undefined) return [];
  const frames = mentionFrames(call, state);
  const outcome = endings.get(call.status ?? "");
  const known = state.calls.get(call.toolCallId);
  // Still running, or ended before: what agents add to a call that has ended changes nothing.
  if (outcome === undefined || known === undefined || known.ended) return frames;
  known.ended = true;
  const result = call.rawOutput ?? contentText(call.content ?? []);
  const field = outcome === "error" ? "error" : "result";
  const end = { tool_id: toolIdOf(call), name: known.name, outcome, ...(result !== undefined && { [field]: result }) };
  return [...frames, { type: "tool.complete", payload: end }];
}

function planFrames({ entries }: Readonly<Record<string, unknown>>, state: TurnState): readonly RunnerFrame[] {
  if (!Array.isArray(entries)) return [];
  state.plans += 1;
  return [{ type: "todo.updated", payload: { todos: entries, revision: state.plans } }];
}

function deltaFrames(type: "message.delta" | "reasoning.delta", content: unknown): readonly RunnerFrame[] {
  const delta = blockText(content);
  return delta === "" ? [] : [{ type, payload: { text: delta } }];
}

// What a tool shows: content blocks, and in their place the names of diffs and terminals.
function contentText(items: readonly unknown[]): string | undefined {
  const shown = items.map((item) => {
    const { type, content, path, terminalId } = toolContentSchema.safeParse(item).data ?? {};
    if (type === "diff") return `[diff of ${path}]`;
    if (type === "terminal") return `[terminal ${terminalId}]`;
    return blockText(content);
  });
  return shown.join("\n") || undefined;
}

const toolContentSchema = z.object({ type: text, content: z.unknown().optional(), path: text, terminalId: text });

const blockSchema = z.object({
  type: z.string(),
  text,
  uri: text,
  mimeType: text,
  resource: z.object({ uri: text, text }).nullish().catch(undefined),
});

/** A content block as text: what is no text stands there by its name, in brackets. */
function blockText(block: unknown): string {
  const parsed = blockSchema.safeParse(block).data;
  if (parsed === undefined) return "";
  switch (parsed.type) {
    case "text":
      return parsed.text ?? "";
    case "resource":
      return parsed.resource?.text ?? `[resource ${parsed.resource?.uri ?? "without a name"}]`;
    case "resource_link":
      return `[link ${parsed.uri ?? "without an address"}]`;
    default:
      return `[${[parsed.type, parsed.mimeType].filter(Boolean).join(" ")}]`;
  }
}
