import { messageOf, type FailureReason, type Runner, type TurnEnd, type Usage } from "../../core/index.ts";
import { AcpAgent, type AcpOptions, type AgentTurnEnd } from "./acp-agent.ts";
import type { PromptEnd } from "./acp.ts";
import type { AcpConfig } from "./config.ts";

/**
 * A runner that drives an agent over the Agent Client Protocol. The process starts with the first turn, is shared by
 * all turns and started anew after it is lost; each member keeps one ACP session in each thread while it lives.
 *
 * | what happened | end of the turn |
 * | --- | --- |
 * | the turn was asked to stop | `cancelled`, whatever the agent reports |
 * | `end_turn` | `completed`, with what was streamed |
 * | `max_tokens` | `failed`, `context_overflow` |
 * | `refusal`, `max_turn_requests`, `cancelled` unasked, an error for an answer | `failed`, `runner_error` |
 * | a stop reason that is unknown | `failed`, `unknown` |
 * | the agent wants a login (-32000) | `failed`, `provider_auth` |
 * | it could not be started, or no session opened | `failed`, `member_unavailable` |
 * | the process ended or its pipe broke | `failed`, `runner_lost` |
 * | the runner was closed before | `failed`, `not_admitted` |
 */
export function createAcpRunner(config: AcpConfig, options: AcpOptions): Runner {
  const agents = new Set<AcpAgent>();
  let current: AcpAgent | undefined;
  let closed = false;
  const agentFor = (session: string): AcpAgent => {
    if (current?.admits(session)) return current;
    current?.retire();
    const agent = new AcpAgent(config, options);
    agents.add(agent);
    void agent.ended.then(() => agents.delete(agent));
    current = agent;
    return agent;
  };
  return {
    kind: "acp",
    async run(turn) {
      if (turn.signal.aborted) return { status: "cancelled" };
      if (closed) return failed("not_admitted", "the runner is closed");
      let agent: AcpAgent;
      try {
        agent = agentFor(turn.session);
      } catch (fault) {
        return failed("member_unavailable", `${config.command} could not be started: ${messageOf(fault)}`);
      }
      return turnEndOf(await agent.run(turn), config.command);
    },
    async close() {
      closed = true;
      await Promise.all([...agents].map((agent) => agent.close()));
    },
  };
}

/** ACP's error code for an agent that nobody has logged in to. */
const authRequired = -32_000;

/** What the agent's end of a turn means to the host. @param command names the agent in error texts */
export function turnEndOf(end: AgentTurnEnd, command: string): TurnEnd {
  switch (end.kind) {
    case "stopped":
      return { status: "cancelled" };
    case "done":
      return promptEndOf(end.value, command);
    case "lost":
      return failed("runner_lost", `${command} ${end.problem}`);
    case "refused":
      return failed(end.code === authRequired ? "provider_auth" : "runner_error", `${command}: ${end.problem}`);
    case "not_started":
      return failed(end.code === authRequired ? "provider_auth" : "member_unavailable", `${command} ${end.problem}`);
  }
}

function promptEndOf({ stopReason, usage }: PromptEnd, command: string): TurnEnd {
  switch (stopReason) {
    case "end_turn":
      return completed(usage);
    case "max_tokens":
      return failed("context_overflow", `${command} reached its limit of tokens`);
    case "max_turn_requests":
      return failed("runner_error", `${command} reached its limit of model requests in a turn`);
    case "refusal":
      return failed("runner_error", `${command} refused to go on`);
    case "cancelled":
      return failed("runner_error", `${command} cancelled the turn without being asked`);
    default:
      return failed("unknown", `${command} ended the turn for an unknown reason`);
  }
}

function completed(usage: Usage | null): TurnEnd {
  return { status: "completed", usage };
}

function failed(reason_code: FailureReason, error: string): TurnEnd {
  return { status: "failed", reason_code, error };
}
