import type { ActivityPayloads } from "./activity.ts";
import type { Execution } from "./execution.ts";
import type { JsonObject } from "./frames.ts";
import type { WaitingRequest } from "./open-request.ts";
import type { RequestOutcome } from "./runner.ts";
import type { Seam } from "./seam.ts";

/**
 * Tells how a request ended, in this order: that it is withdrawn, its outcome, the end of the calls that it was about. What
 * was answered is told to nobody but the agent.
 * @param isShown somebody has it before them who did not answer: told that it is withdrawn although it was answered
 */
export function tellRequestEnd(seam: Seam, request: WaitingRequest, outcome: RequestOutcome, isShown: boolean): void {
  const { id, request_id, method, execution } = request;
  const isAnswered = outcome.outcome === "answered" || outcome.outcome === "denied";
  if (!isAnswered || isShown) {
    writeRequestEvent(seam, execution, "request.cancel", {
      id,
      method,
      reason: isAnswered ? "resolved" : outcome.reason,
    });
  }
  // The reason is a text of whoever answered: it leaves like any other.
  const { payload, bytes } = seam.clean({ id, request_id: request_id ?? undefined, method, ...outcome });
  writeRequestEvent(seam, execution, "request.resolved", payload);
  seam.publish(execution, "request.resolved", payload as unknown as ActivityPayloads["request.resolved"], { bytes });
  const toolOutcome = outcome.outcome === "denied" ? "denied" : outcome.outcome === "expired" ? "timeout" : null;
  if (toolOutcome === null) return;
  for (const { toolId } of request.waiters) if (toolId !== undefined) seam.endTool(execution, toolId, toolOutcome);
}

/** An event of a session about one of its requests: numbered like any other, also while no turn is left to mark it. */
export function writeRequestEvent(
  seam: Seam,
  execution: Execution,
  type: "request.update" | "request.cancel" | "request.resolved",
  payload: JsonObject,
): void {
  const params = { type, session_id: execution.session.runtimeId, payload };
  seam.writeJson({ jsonrpc: "2.0", method: "event", params }, execution);
}
