import { requestScope, type Client, type Frame } from "../../core/index.ts";
import { mayWatch, missingScope, scopeOf, type ScopeRule, type Standing } from "../../rooms/index.ts";
import { seesRoomOf } from "./room-access.ts";

/** Rules by type of event: they are asked for each frame and client. */
const rules = new Map<string, ScopeRule>();
/** Types of runners may be any text: beyond so many they are looked up anew. */
const maxRules = 1_024;

/**
 * Whether a frame may reach a client, by its scopes and rooms as they are now, and by what it is in the session. Pure but for a cache
 * of rules. Who only views is told how a question ended, and not what was asked or answered so far.
 * @param standing null for a frame of no session
 */
export function mayReceive(client: Client, frame: Frame, standing: Standing | null): boolean {
  if (standing !== null && !mayWatch({ standing, scopes: client.scopes })) return false;
  const isAsked = "id" in frame || frame.params.type === "request.update";
  if (isAsked && standing === "viewer") return false;
  if ("id" in frame) return client.holds(requestScope(frame.method));
  if (standing === null && !seesRoomOf(client, frame.params)) return false;
  return missingScope(ruleOf(frame), { scopes: client.scopes, isOwner: standing === "owner" }) === null;
}

function ruleOf({ params: { type, payload } }: Extract<Frame, { readonly method: "event" }>): ScopeRule {
  // What is told of a request needs the scope of that request.
  const method = type.startsWith("request.") ? payload?.["method"] : undefined;
  const key = typeof method === "string" ? `${type}:${method}` : type;
  const known = rules.get(key);
  if (known !== undefined) return known;
  const rule = scopeOf("event", type, typeof method === "string" ? method : undefined);
  if (rules.size >= maxRules) rules.clear();
  rules.set(key, rule);
  return rule;
}
