import { requestScope, type Client, type Frame } from "../../core/index.ts";
import { missingScope, scopeOf, type ScopeRule } from "../../rooms/index.ts";

/** Rules by type of event: they are asked for each frame and client. */
const rules = new Map<string, ScopeRule>();
/** Types of runners may be any text: beyond so many they are looked up anew. */
const maxRules = 1_024;

/**
 * Whether a frame may reach a client, by its scopes as they are now. Pure but for a cache of rules.
 * @param isOwner whether the client is of the principal that owns the session
 */
export function mayReceive(client: Client, frame: Frame, isOwner: boolean): boolean {
  if ("id" in frame) return client.holds(requestScope(frame.method));
  return missingScope(ruleOf(frame), { scopes: client.scopes, isOwner }) === null;
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
