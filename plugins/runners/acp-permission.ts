import { z } from "zod";
import type { Question, RequestOutcome } from "../../core/index.ts";
import { nameOf, toolIdOf, type AcpToolCall } from "./acp-frames.ts";

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
  const asked = commandOf(call.rawInput);
  const command = asked?.line ?? call.title ?? nameOf(call);
  const title = call.title === command ? undefined : call.title;
  const description = [title, asked?.rest].filter(Boolean).join("\n");
  return {
    method: "approval",
    params: {
      tool_id: toolIdOf(call),
      tool_name: toolName,
      command,
      ...(description !== "" && { description }),
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

// Agents that run commands put the command line, or its words, there; `args` are further words.
const commandSchema = z.looseObject({
  command: z.union([z.string().min(1), z.array(z.string()).min(1)]),
  args: z.unknown().optional(),
});
const wordsSchema = z.array(z.string()).nullish();

/** All of what is to be run: the line, and as JSON what else the call says of it (a folder, an environment). */
function commandOf(rawInput: unknown): { readonly line: string; readonly rest: string | undefined } | undefined {
  const parsed = commandSchema.safeParse(rawInput).data;
  if (parsed === undefined) return undefined;
  const { command, args, ...others } = parsed;
  const words = wordsSchema.safeParse(args);
  const line = [...(typeof command === "string" ? [command] : command.map(quoted)), ...(words.data ?? []).map(quoted)];
  // Words in a shape that nobody knows are not put behind the command, and not hidden either.
  const rest = words.success ? others : { ...others, args };
  return {
    line: line.join(" "),
    rest: Object.keys(rest).length === 0 ? undefined : `with ${JSON.stringify(rest)}`,
  };
}

/** A word as a shell would take it: so that two words are not read as one, nor one as two. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
