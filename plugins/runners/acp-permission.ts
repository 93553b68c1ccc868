import { z } from "zod";
import type { Question, RequestOutcome } from "../../core/index.ts";
import { nameOf, type AcpToolCall } from "./acp-frames.ts";

/** An answer that an agent offers with its permission request. */
export interface PermissionOption {
  readonly optionId: string;
  /** `allow_once`, `allow_always`, `reject_once`, `reject_always`; other kinds are never chosen. */
  readonly kind: string;
}

/** What goes back to the agent. */
export type PermissionAnswer =
  | { readonly outcome: "selected"; readonly optionId: string }
  | { readonly outcome: "cancelled" };

/**
 * The approval for an agent's permission request. `choices` are those that the agent can carry out: `once`, `always`
 * (it remembers by itself) and, whether it offers a refusal or not, `deny`. The room may offer fewer.
 */
export function questionOf(call: AcpToolCall, toolName: string, options: readonly PermissionOption[]): Question {
  const kinds = new Set(options.map((option) => option.kind));
  const command = commandOf(call.rawInput) ?? call.title ?? nameOf(call);
  return {
    method: "approval",
    params: {
      tool_id: call.toolCallId,
      tool_name: toolName,
      command,
      ...(call.title && call.title !== command && { description: call.title }),
      choices: [...(kinds.has("allow_once") ? ["once"] : []), ...(kinds.has("allow_always") ? ["always"] : []), "deny"],
    },
  };
}

/**
 * The agent's option for what people answered. A lesser grant is taken where the asked one is missing, a greater one
 * never. Without a fitting option, and when nobody answered, it is `cancelled`: the agent must not go on with the call.
 */
export function answerOf({ outcome, choice }: RequestOutcome, options: readonly PermissionOption[]): PermissionAnswer {
  const kinds = outcome === "denied" ? rejections : outcome === "answered" ? (kindsOf.get(choice ?? "") ?? []) : [];
  const chosen = kinds.map((kind) => options.find((option) => option.kind === kind)).find((option) => option);
  return chosen === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId: chosen.optionId };
}

const rejections = ["reject_once", "reject_always"];
const kindsOf: ReadonlyMap<string, readonly string[]> = new Map([
  ["once", ["allow_once"]],
  ["session", ["allow_always", "allow_once"]],
  ["always", ["allow_always", "allow_once"]],
  ["deny", rejections],
]);

// Agents that run commands put the command line, or its words, there.
const commandSchema = z.object({ command: z.union([z.string().min(1), z.array(z.string()).min(1)]) });

function commandOf(rawInput: unknown): string | undefined {
  const command = commandSchema.safeParse(rawInput).data?.command;
  return typeof command === "object" ? command.join(" ") : command;
}
