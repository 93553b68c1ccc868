import type { JsonObject } from "./frames.ts";
import { limits } from "./options.ts";
import { toolIdOf } from "./stamp.ts";
import { cutUnits } from "./utf8.ts";

/**
 * How far an approval reaches: this call; calls like it of this session; calls like it of this agent, whatever the session.
 * `deny` reaches this call only.
 */
export const approvalChoices = ["once", "session", "always", "deny"] as const;
/** A word of `approvalChoices`. */
export type ApprovalChoice = (typeof approvalChoices)[number];

/** What a member of a room may be answered; a wider scope is a rule of the room that has to be stored first. */
const roomChoices: readonly ApprovalChoice[] = ["once", "deny"];

/** Fields of an approval that reach people, besides the call's id and the choices. Nothing else beside it does. */
const texts = ["tool_name", "command", "description"] as const;
const flags = ["allow_session", "allow_permanent", "smart_denied"] as const;

/** Of an approval's params, what people get to see and may answer. */
export function shownApproval(params: JsonObject, inRoom: boolean): JsonObject {
  const shown: Record<string, unknown> = {};
  const toolId = toolIdOf(params);
  if (toolId !== undefined) shown["tool_id"] = toolId;
  let isWhole = true;
  for (const field of texts) {
    const text = params[field];
    if (typeof text !== "string") continue;
    shown[field] = cutUnits(text, limits.maxApprovalTextUnits);
    isWhole &&= text.length <= limits.maxApprovalTextUnits;
  }
  for (const flag of flags) if (typeof params[flag] === "boolean") shown[flag] = params[flag];
  // Nobody can agree to what nobody can read.
  shown["choices"] = isWhole ? offered(params, inRoom) : ["deny"];
  return shown;
}

/** What was answered to an approval: without a choice, or with one that is not offered, `deny`. */
export function readApproval(result: unknown, shown: JsonObject): { readonly choice: string; readonly all: boolean } {
  const answer: JsonObject = typeof result === "object" && result !== null ? (result as JsonObject) : {};
  const choice = choicesOf(shown).find((word) => word === answer["choice"]);
  return { choice: choice ?? "deny", all: choice !== undefined && answer["all"] === true };
}

/** The choices that an approval offers. */
export function choicesOf(shown: JsonObject): readonly string[] {
  return shown["choices"] as readonly string[];
}

/** The choices that the agent names, else all but those that its flags exclude; `deny` always. */
function offered(params: JsonObject, inRoom: boolean): readonly string[] {
  const named = params["choices"];
  const possible = inRoom ? roomChoices : approvalChoices;
  if (Array.isArray(named)) return possible.filter((choice) => choice === "deny" || named.includes(choice));
  const excluded = new Set<string>();
  if (params["smart_denied"] === true || params["allow_session"] === false) excluded.add("session");
  if (params["allow_permanent"] === false) excluded.add("always");
  return possible.filter((choice) => !excluded.has(choice));
}
