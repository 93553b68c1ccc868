import type { Coordinates, EventOf, InputItem, ToolOutcome, TurnStatus } from "../../core/index.ts";
import { tokensOf, type TokenType } from "../usage-tokens.ts";
import type { Attributes } from "./api.ts";
import type { OtelSettings } from "./config.ts";

/** Words of the conventions for generative AI, version 1.41. Those of roomtap's own begin with `roomtap.`. */
const usageNames: { readonly [Type in TokenType]: string } = {
  input: "gen_ai.usage.input_tokens",
  output: "gen_ai.usage.output_tokens",
  cache_read: "gen_ai.usage.cache_read.input_tokens",
  cache_creation: "gen_ai.usage.cache_creation.input_tokens",
  reasoning: "gen_ai.usage.reasoning.output_tokens",
};

/** How a turn ends is an error only when it failed: being stopped, overtaken or left behind is none. */
const failedTurns: readonly TurnStatus[] = ["failed"];
const failedTools: readonly ToolOutcome[] = ["error", "timeout"];

/** Where an attempt belongs. */
export function placeAttributes({ room_id, thread_id, member_id, ...of }: Coordinates): Attributes {
  return {
    "gen_ai.agent.id": member_id,
    "gen_ai.conversation.id": `${room_id}/${thread_id}`,
    "roomtap.room_id": room_id,
    "roomtap.thread_id": thread_id,
    "roomtap.turn_id": of.turn_id,
    "roomtap.task_id": of.task_id,
    "roomtap.execution_generation": of.execution_generation,
  };
}

/** What a turn's span begins with; samplers may look at it. */
export function turnAttributes(coordinates: Coordinates, name: string | null, { provider }: OtelSettings): Attributes {
  return {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.provider.name": provider,
    ...(name === null ? {} : { "gen_ai.agent.name": name }),
    ...placeAttributes(coordinates),
  };
}

/** What a turn's start tells. */
export function startedAttributes({ cause, input }: EventOf<"turn.started">["payload"], content: boolean): Attributes {
  return {
    "roomtap.turn.cause": cause,
    // At level meta there is no input.
    ...(content ? { "gen_ai.input.messages": JSON.stringify((input as readonly InputItem[]).flatMap(messageOf)) } : {}),
  };
}

/** How a turn ended, and what it cost as far as that was reported. */
export function settledAttributes(payload: EventOf<"turn.settled">["payload"], content: boolean): Attributes {
  const { status, reason_code, usage, text } = payload;
  const output = [{ role: "assistant", parts: [{ type: "text", content: text }], finish_reason: finishOf(status) }];
  return {
    "roomtap.turn.status": status,
    ...(reason_code === null ? {} : { "roomtap.turn.reason_code": reason_code }),
    ...(status === "abandoned" ? { "roomtap.turn.may_have_run": true } : {}),
    ...Object.fromEntries(tokensOf(usage).map(({ type, tokens }) => [usageNames[type], tokens])),
    ...(content && text !== "" ? { "gen_ai.output.messages": JSON.stringify(output) } : {}),
  };
}

/** `error.type` of a turn; null when it did not fail. */
export function turnErrorType({ status, reason_code }: EventOf<"turn.settled">["payload"]): string | null {
  return failedTurns.includes(status) ? (reason_code ?? "_OTHER") : null;
}

/** What a tool's span begins with. */
export function toolAttributes({ tool_id, name }: { readonly tool_id: string; readonly name: string }): Attributes {
  return {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": name,
    "gen_ai.tool.call.id": tool_id,
  };
}

/** A value of an agent's, as an attribute; nothing when there is none. */
export function contentAttribute(key: string, value: unknown): Attributes {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text === undefined ? {} : { [key]: text };
}

/** `error.type` of a tool call; null when it did not fail, or nobody knows. */
export function toolErrorType(outcome: ToolOutcome): string | null {
  return failedTools.includes(outcome) ? outcome : null;
}

/** A text that an earlier row holds is not told again. */
function messageOf(item: InputItem): readonly object[] {
  if (!("text" in item)) return [];
  const { author, text } = item;
  const role = author.kind === "person" ? "user" : "assistant";
  return [{ role, name: author.display_name ?? author.id, parts: [{ type: "text", content: text }] }];
}

function finishOf(status: TurnStatus): string {
  return status === "completed" ? "stop" : status === "failed" ? "error" : status;
}
