import { toolOutcomes, type ActivityPayloads, type ToolOutcome } from "./activity.ts";
import type { OpenTool } from "./execution.ts";
import type { JsonObject, RequestFrame } from "./frames.ts";
import { limits } from "./options.ts";
import { cutUnits } from "./utf8.ts";

/** Frames whose activity is a plain selection of their fields. Tools, deltas and requests need the attempt as well. */
export const stampTable = {
  "message.interim": {
    kind: "message.interim",
    payload: (frame: JsonObject): ActivityPayloads["message.interim"] => ({
      text: textOf(frame["text"]),
      already_streamed: frame["already_streamed"] === true,
      ...problemOf(frame),
    }),
  },
  "tool.output_risk": {
    kind: "tool.output_risk",
    payload: (frame: JsonObject): ActivityPayloads["tool.output_risk"] => ({
      tool_id: toolIdOf(frame) ?? "",
      name: nameOf(frame, ""),
      ...pick(frame, ["risk", "findings", "redacted"]),
      ...problemOf(frame),
    }),
  },
  error: {
    kind: "turn.error",
    payload: (frame: JsonObject): ActivityPayloads["turn.error"] => ({
      message: textOf(frame["message"]),
      ...(typeof frame["reason"] === "string" ? { reason: frame["reason"] } : {}),
      ...problemOf(frame),
    }),
  },
} as const;

/** A tool call that lasts longer states no duration but nonsense: a hundred years. */
const maxStatedSeconds = 3_200_000_000;

export type StampedType = keyof typeof stampTable;

export function isStampedType(type: string): type is StampedType {
  return Object.hasOwn(stampTable, type);
}

/** The id of a tool frame: 1 to 512 characters, any text; undefined when it has none. */
export function toolIdOf(payload: unknown): string | undefined {
  const id = typeof payload === "object" && payload !== null ? (payload as JsonObject)["tool_id"] : undefined;
  return typeof id === "string" && id !== "" && id.length <= limits.maxToolIdUnits ? id : undefined;
}

/** @param name stands in when the frame names no tool */
export function toolStarted(frame: JsonObject, name: string): ActivityPayloads["tool.started"] {
  return {
    tool_id: textOf(frame["tool_id"]),
    name: nameOf(frame, name),
    ...pick(frame, ["args", "context"]),
    ...problemOf(frame),
  };
}

/** @param atMs monotonic ms of the end: a frame that states no `duration_s` is timed from its start */
export function toolCompleted(frame: JsonObject, tool: OpenTool, atMs: number): ActivityPayloads["tool.completed"] {
  const stated = frame["duration_s"];
  const isStated = typeof stated === "number" && stated >= 0 && stated <= maxStatedSeconds;
  const durationMs = isStated ? stated * 1_000 : atMs - tool.startedAt;
  const result = frame["result"] ?? frame["result_text"];
  return {
    tool_id: textOf(frame["tool_id"]),
    name: nameOf(frame, tool.name),
    outcome: outcomeOf(frame["outcome"]),
    duration_ms: Math.round(durationMs),
    ...(result === undefined ? {} : { result }),
    ...pick(frame, ["summary", "error"]),
    ...problemOf(frame),
  };
}

/** How a tool call ended: one of the table's words, or an honest `unknown`. */
export function outcomeOf(value: unknown): ToolOutcome {
  return toolOutcomes.find((outcome) => outcome === value) ?? "unknown";
}

const requestFields = [
  "request_id",
  "tool_id",
  "command",
  "description",
  "question",
  "questions",
  "prompt",
  "env_var",
  "choices",
] as const;

/** A fixed list of fields and no others: nothing else that an agent puts beside its question reaches anybody. */
export function requestOpened(frame: RequestFrame, expiresAt: number | null): ActivityPayloads["request.opened"] {
  const { id, method, params } = frame;
  return {
    id,
    method,
    ...(pick(params, requestFields) as object),
    expires_at: expiresAt,
  };
}

/** A tool's name, cut to 512 UTF-16 units: names are never cut later. */
export function nameOf(frame: JsonObject, fallback: string): string {
  const name = frame["name"];
  return typeof name === "string" && name !== "" ? cutUnits(name, limits.maxToolIdUnits) : fallback;
}

/** Says that the frame's payload was no JSON. */
function problemOf(frame: JsonObject): { readonly unserialisable?: true } {
  return frame["unserialisable"] === true ? { unserialisable: true } : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function pick(frame: JsonObject, fields: readonly string[]): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const field of fields) if (frame[field] !== undefined) picked[field] = frame[field];
  return picked;
}
