import { cleanPayload, type Client, type JsonObject, type Redactor } from "../../core/index.ts";
import type { Logger } from "../plugin.ts";
import type { Answer } from "./dispatcher.ts";
import { WindowCount } from "./limits.ts";
import type { RpcCall } from "./parse.ts";

/** How something that somebody wanted went, or that what was granted has ended. */
export type AuditOutcome = "granted" | "refused" | "ended";

/** Writes one line of the trail of who was granted or refused what. */
export type Audit = (outcome: AuditOutcome, what: string, fields: JsonObject) => void;

/** For hosts without a log. */
export const noAudit: Audit = () => undefined;

/** Refusals written within a minute. Whoever knocks all the time fills no disk; the rest is counted and told once. */
const maxRefusalsPerMinute = 600;

/** An audit trail in a log: refusals are warnings, the rest is information. Secrets are masked, whoever wrote them there. */
export function auditTo(logger: Logger, parts: { readonly redactor: Redactor; readonly now: () => number }): Audit {
  const refusals = new WindowCount(maxRefusalsPerMinute);
  let left = 0;
  return (outcome, what, fields) => {
    const isRefusal = outcome === "refused";
    const now = parts.now();
    if (isRefusal && refusals.isFull(now)) {
      left++;
      return;
    }
    const { payload } = cleanPayload({ audit: outcome, what, ...fields }, parts.redactor);
    if (!isRefusal) return logger.info(`${what} ${outcome}`, payload);
    refusals.add(now);
    logger.warn(`${what} ${outcome}`, left === 0 ? payload : { ...payload, left_out: left });
    left = 0;
  };
}

/** Methods by which somebody gets rights, gives or takes them, or uses one that is not everybody's. */
const audited: ReadonlySet<string> = new Set([
  "session.create",
  "session.close",
  "session.attach",
  "session.detach",
  "session.visibility",
  "approval.respond",
  "request.answer",
  "groups.approve",
  "groups.create",
  "groups.disband",
  "rooms.set_roster",
  "rooms.subscribe",
  "plugins.enable",
  "plugins.disable",
  "plugins.reload",
  "plugins.run",
]);

/** Of a call, what says whom and what it was about: never its texts. */
const shownParams = [
  "session_id",
  "room_id",
  "client_id",
  "role",
  "visibility",
  "id",
  "request_id",
  "member_id",
  "plugin_id",
  "command",
];

/** Refusals for what somebody may not do have these numbers. */
const isDenied = (code: number): boolean => code >= 4300 && code < 4400;

/** Writes down what came of a call, when it was about rights. */
export function auditCall(audit: Audit, client: Client, { method, params }: RpcCall, answer: Answer): void {
  if (answer.ok ? !audited.has(method) : !isDenied(answer.error.code)) return;
  const shown = Object.fromEntries(
    shownParams.flatMap((key) => {
      const value = params?.[key];
      return typeof value === "string" ? [[key, value.slice(0, 256)]] : [];
    }),
  );
  const refusal = answer.ok ? {} : answer.error.data;
  audit(answer.ok ? "granted" : "refused", "call", { method, ...whoIs(client), ...shown, ...refusal });
}

/** A connection, as the trail names it. */
export function whoIs({ origin, principal }: Pick<Client, "origin" | "principal">): JsonObject {
  return { client_id: origin, principal };
}
