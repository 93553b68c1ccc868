import type { JsonObject } from "./frames.ts";
import { messageOf, type Report } from "./errors.ts";
import { limits } from "./options.ts";
import { mask } from "./secret-rules.ts";
import type { ApprovalRule } from "./session-store.ts";
import type { Session } from "./sessions.ts";

/** What makes two approvals equal: the tool, and the command as it is compared. */
export interface ApprovedCall {
  readonly tool_name: string;
  readonly command: string;
}

/** The agent behind a session, and where its rules are kept. */
export interface RuledAgent {
  readonly agent_id: string;
  /** What is kept already. */
  readonly rules: readonly ApprovalRule[];
  readonly putRule: (rule: ApprovalRule) => Promise<void>;
}

/**
 * What an approval is compared by. null when nothing is equal to it: without a command nobody can tell what is asked, and
 * two that are masked look alike and may differ.
 */
export function approvedCall({ tool_name, command }: JsonObject): ApprovedCall | null {
  if (typeof command !== "string" || command.includes(mask)) return null;
  return { tool_name: typeof tool_name === "string" ? tool_name : "", command: normalisedCommand(command) };
}

/**
 * A command without the blanks that no shell sees: those around it, and of several between two words all but one. What
 * stands in quotes or behind a backslash stays, and so does a command of several lines, where blanks may be text.
 */
export function normalisedCommand(command: string): string {
  if (/[\n\r`]|<</.test(command)) return command;
  const parts = command.match(/'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[ \t]+|[^'"\\ \t]+|./gu) ?? [];
  // A quote that is never closed: nobody knows what stands inside.
  if (parts.some((part) => part === "'" || part === '"')) return command;
  const isBlank = (part: string | undefined): boolean => part !== undefined && /^[ \t]/.test(part);
  if (isBlank(parts.at(-1))) parts.pop();
  if (isBlank(parts[0])) parts.shift();
  return parts.map((part) => (isBlank(part) ? " " : part)).join("");
}

/**
 * What was approved for longer than one call: for a session, in memory; for an agent, kept by whoever keeps its sessions.
 * Of each 1,024 calls at most; the one that was added first is forgotten, and asked about again.
 */
export class ApprovalRules {
  readonly #report: Report;
  readonly #ofSession = new WeakMap<Session, Set<string>>();
  readonly #ofAgent = new Map<string, Set<string>>();
  readonly #agents = new WeakMap<Session, RuledAgent>();

  /** @param report hears of a rule that could not be kept: it holds as long as the process */
  constructor(report: Report) {
    this.#report = report;
  }

  /** From now on the agent's rules answer for the session, and `always` makes one. Without an agent it is `session`. */
  bind(session: Session, agent: RuledAgent): void {
    this.#agents.set(session, agent);
    const known = this.#ofAgent.get(agent.agent_id) ?? new Set();
    this.#ofAgent.set(agent.agent_id, known);
    for (const { tool_name, command } of agent.rules) remember(known, keyOf({ tool_name, command }));
  }

  /** Whether a call of the session was approved before: for the session, or for its agent. */
  covers(choice: "session" | "always", session: Session, call: ApprovedCall): boolean {
    const known = choice === "session" ? this.#ofSession.get(session) : this.#ofAgent.get(this.#agentOf(session) ?? "");
    return known?.has(keyOf(call)) === true;
  }

  /** Remembers that a call was approved for longer. It holds at once, also while it is not kept yet. */
  add(choice: "session" | "always", session: Session, call: ApprovedCall): void {
    const agent = choice === "always" ? this.#agents.get(session) : undefined;
    const known = agent === undefined ? this.#ofSession.get(session) : this.#ofAgent.get(agent.agent_id);
    const rules = known ?? new Set();
    remember(rules, keyOf(call));
    if (agent === undefined) this.#ofSession.set(session, rules);
    else void this.#keep(agent, call);
  }

  #agentOf(session: Session): string | undefined {
    return this.#agents.get(session)?.agent_id;
  }

  async #keep({ agent_id, putRule }: RuledAgent, call: ApprovedCall): Promise<void> {
    try {
      await putRule({ agent_id, ...call });
    } catch (fault) {
      const message = `an approval rule of ${agent_id} is not kept: ${messageOf(fault)}`;
      this.#report({ code: "approval_rule_not_kept", message, subject: agent_id, cause: fault });
    }
  }
}

function keyOf({ tool_name, command }: ApprovedCall): string {
  return JSON.stringify([tool_name, command]);
}

function remember(keys: Set<string>, key: string): void {
  // Behind the others, also when it was known: one that is added again is a new one.
  keys.delete(key);
  keys.add(key);
  if (keys.size <= limits.maxRulesPerAgent) return;
  const [oldest] = keys;
  if (oldest !== undefined) keys.delete(oldest);
}
