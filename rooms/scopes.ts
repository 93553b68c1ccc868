import type { Scope } from "../core/index.ts";

/**
 * What a connection needs. `read_or_owner`: `read`, or being of the principal that owns the session. `read_or_write`: one
 * of the two. Wherever a scope is needed `admin` will do.
 */
export type ScopeRule = "none" | Scope | "read_or_owner" | "read_or_write";

/** What has a scope: a method that is called, an event that is received, a server request that is received and answered. */
export type Scoped = "method" | "event" | "request";

/**
 * The one table of scopes. A name behind a colon is a case of the one before it, for which another rule holds; a name
 * that ends in `.*` stands for all that begin so and have no row of their own. What has no row needs `admin`.
 */
export const scopeTable: Readonly<Record<Scoped, Readonly<Record<string, ScopeRule>>>> = {
  method: {
    "gateway.ping": "none",
    "client.capabilities": "none",
    "gateway.ticket": "none",

    "session.resume": "read_or_owner",
    "session.activate": "read_or_owner",
    "session.history": "read_or_owner",
    "session.status": "read_or_owner",
    "session.usage": "read_or_owner",
    "session.list": "read_or_owner",
    "session.active_list": "read_or_owner",
    "session.observers": "read_or_owner",
    "session.events.since": "read_or_owner",
    "session.events.stats": "admin",
    "session.attach": "read_or_write",
    "session.detach": "none",
    "session.detach:other": "write",
    "session.create": "write",
    "session.close": "write",
    "session.interrupt": "write",
    "session.steer": "write",
    "session.redirect": "write",
    "session.title": "write",
    "session.visibility": "write",
    "prompt.submit": "write",

    "clarify.lock": "write",
    "request.answer": "write",
    "request.answer:approval": "approvals",
    "approval.pending": "approvals",
    "approval.received": "approvals",
    "approval.respond": "approvals",

    "groups.capabilities": "read",
    "groups.list": "read",
    "groups.state": "read",
    "groups.log": "read",
    "groups.send": "write",
    "groups.stop": "write",
    "groups.retry": "write",
    "groups.approve": "approvals",
    "groups.create": "admin",
    "groups.rename": "admin",
    "groups.disband": "admin",
    "rooms.state": "read",
    "rooms.verify": "read",
    "rooms.subscribe": "read",
    "rooms.unsubscribe": "none",
    "rooms.pause": "write",
    "rooms.resume": "write",
    "rooms.cancel": "write",
    "rooms.set_roster": "admin",
    "consumers.list": "admin",

    "plugins.list": "admin",
    "plugins.enable": "admin",
    "plugins.disable": "admin",
    "plugins.reload": "admin",
    "plugins.run": "admin",
    "plugins.run:read": "read",
    "plugins.run:write": "write",
    "plugins.run:approvals": "approvals",
  },
  event: {
    "gateway.ready": "none",
    "session.detached": "none",
    "session.reclaimed": "none",

    "message.*": "read_or_owner",
    "reasoning.*": "read_or_owner",
    "tool.*": "read_or_owner",
    "todo.updated": "read_or_owner",
    error: "read_or_owner",
    notice: "read_or_owner",
    "status.update": "read_or_owner",
    "session.info": "read_or_owner",
    "session.usage": "read_or_owner",
    "session.title": "read_or_owner",
    "session.sharing": "read_or_owner",

    "request.update": "write",
    "request.cancel": "write",
    "request.cancel:approval": "approvals",
    "request.resolved": "write",
    "request.resolved:approval": "approvals",

    "room.unsubscribed": "none",
    "room.*": "read",
  },
  request: {
    approval: "approvals",
    clarify: "write",
    secret: "write",
    sudo: "write",
    ask: "write",
    "vault.*": "write",
    "terminal.read": "write",
    "window.read": "write",
    "preview.read": "write",
    "preview.act": "write",
    tour: "write",
  },
};

/** The first words of events that roomtap itself makes: no runner's event of such a name passes without a row. */
const ownWords: ReadonlySet<string> = new Set(["gateway", "session", "request", "room", "rooms", "groups", "client"]);

/**
 * The rule of a name. Events that roomtap has no opinion on are a runner's, and read like its others.
 * @param variant the case of it: `other` when somebody else is detached; of an answer, and of an event of a request, the
 * method of that request; of a plugin's command the scope that it says it needs
 */
export function scopeOf(what: Scoped, name: string, variant?: string): ScopeRule {
  const table = scopeTable[what];
  const row = (key: string): ScopeRule | undefined => (Object.hasOwn(table, key) ? table[key] : undefined);
  const [first = "", second] = name.split(".");
  const family = second === undefined ? undefined : row(`${first}.*`);
  const stated = row(`${name}:${variant}`) ?? row(name) ?? family;
  if (stated !== undefined) return stated;
  return what === "event" && !ownWords.has(first) ? "read_or_owner" : "admin";
}

/** What a connection holds in view of one session, or of none. */
export interface ScopeHolder {
  readonly scopes: ReadonlySet<Scope>;
  /** Whether its principal owns the session that this is about. */
  readonly isOwner: boolean;
}

/** The scope for whose lack this is refused; null: it is not. */
export function missingScope(rule: ScopeRule, { scopes, isOwner }: ScopeHolder): Scope | null {
  if (rule === "none" || scopes.has("admin")) return null;
  if (rule === "read_or_owner") return isOwner || scopes.has("read") ? null : "read";
  if (rule === "read_or_write") return scopes.has("read") || scopes.has("write") ? null : "read";
  return scopes.has(rule) ? null : rule;
}
