import { describe, expect, it } from "vitest";
import type { Scope } from "../../core/index.ts";
import { missingScope, scopeOf, type Scoped, type ScopeRule } from "../../rooms/index.ts";

const sessions = (names: string): string[] => names.split(" ").map((name) => `session.${name}`);
const groups = (names: string): string[] => names.split(" ").map((name) => `groups.${name}`);

/** The table as people read it: by scope, names in a row. A name behind a colon is a case of the one before it. */
const expected: readonly [what: Scoped, rule: ScopeRule, names: readonly string[]][] = [
  ["method", "none", ["gateway.ping", "client.capabilities", "gateway.ticket"]],
  ["method", "none", ["session.detach", "rooms.unsubscribe"]],
  ["method", "read_or_owner", sessions("resume activate history status usage list active_list observers events.since")],
  ["method", "read_or_write", ["session.attach"]],
  ["method", "read", [...groups("capabilities list state log"), "rooms.state", "rooms.verify", "rooms.subscribe"]],
  ["method", "write", sessions("create close interrupt steer redirect title visibility detach:other")],
  ["method", "write", ["prompt.submit", "clarify.lock", "request.answer", "request.answer:clarify"]],
  ["method", "write", [...groups("send stop retry"), "rooms.pause", "rooms.resume", "rooms.cancel"]],
  ["method", "approvals", ["approval.pending", "approval.received", "approval.respond", "groups.approve"]],
  ["method", "approvals", ["request.answer:approval"]],
  ["method", "admin", [...groups("create rename disband"), "rooms.set_roster", "session.events.stats"]],
  ["method", "admin", ["plugins.list", "plugins.enable", "plugins.disable", "plugins.reload", "plugins.run"]],
  ["method", "admin", ["plugins.run:admin"]],
  ["method", "read", ["plugins.run:read"]],
  ["method", "write", ["plugins.run:write"]],
  ["method", "approvals", ["plugins.run:approvals"]],
  ["event", "none", ["gateway.ready", "session.detached", "session.reclaimed"]],
  ["event", "read_or_owner", ["message.start", "message.complete", "reasoning.delta", "tool.start", "todo.updated"]],
  ["event", "read_or_owner", ["error", "notice", "status.update", ...sessions("info usage title sharing")]],
  ["event", "read_or_owner", ["subagent.start", "moa.done", "review.summary", "anything"]],
  ["event", "read", ["room.message", "room.log", "room.activity", "room.member"]],
  ["event", "write", ["request.update:clarify", "request.cancel:clarify", "request.resolved:sudo"]],
  ["event", "approvals", ["request.cancel:approval", "request.resolved:approval"]],
  ["request", "approvals", ["approval"]],
  ["request", "write", ["clarify", "secret", "sudo", "ask", "vault.read", "terminal.read", "window.read", "tour"]],
  ["request", "write", ["preview.read", "preview.act"]],
];

const rows = expected.flatMap(([what, rule, names]) => names.map((name) => [what, name, rule] as const));

describe("scopes", () => {
  it.each(rows)("of the %s %s are %s", (what, name, rule) => {
    const [bare = "", variant] = name.split(":");
    expect(scopeOf(what, bare, variant)).toBe(rule);
  });

  // Who holds what, whether it owns the session, and what each rule then lacks.
  const holders: readonly [scopes: readonly Scope[], isOwner: boolean, lacks: Readonly<Record<ScopeRule, string>>][] = [
    [[], false, lacks("read", "write", "approvals", "admin", "read", "read")],
    [[], true, lacks("read", "write", "approvals", "admin", "-", "read")],
    [["read"], false, lacks("-", "write", "approvals", "admin", "-", "-")],
    [["write"], false, lacks("read", "-", "approvals", "admin", "read", "-")],
    [["write"], true, lacks("read", "-", "approvals", "admin", "-", "-")],
    [["approvals"], false, lacks("read", "write", "-", "admin", "read", "read")],
    [["read", "write", "approvals"], true, lacks("-", "-", "-", "admin", "-", "-")],
    [["admin"], false, lacks("-", "-", "-", "-", "-", "-")],
  ];

  it.each(holders)("%j, owner %s, lack exactly what a rule asks", (scopes, isOwner, expectedLacks) => {
    const holder = { scopes: new Set(scopes), isOwner };
    const rules = Object.keys(expectedLacks) as ScopeRule[];
    const found = Object.fromEntries(rules.map((rule) => [rule, missingScope(rule, holder) ?? "-"]));
    expect(found).toEqual(expectedLacks);
  });
});

function lacks(
  read: string,
  write: string,
  approvals: string,
  admin: string,
  read_or_owner: string,
  read_or_write: string,
): Readonly<Record<ScopeRule, string>> {
  return { none: "-", read, write, approvals, admin, read_or_owner, read_or_write };
}
