import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scopes, type Scope } from "../../core/index.ts";
import { missingScope, scopeOf, scopeTable, type Scoped } from "../../rooms/index.ts";

const kinds: readonly Scoped[] = ["method", "event", "request"];

/** Names that stand in no row, and in no family of one. */
const unnamed = fc
  .oneof(
    fc.string(),
    fc.tuple(fc.constantFrom("groups", "rooms", "session", "debug"), fc.string()).map(([a, b]) => `${a}.${b}`),
  )
  .filter((name) => !kinds.some((what) => isNamed(what, name)));

function isNamed(what: Scoped, name: string): boolean {
  const table = Object.keys(scopeTable[what]);
  return table.includes(name) || table.includes(`${name.split(".")[0]}.*`);
}

const everythingElse: ReadonlySet<Scope> = new Set(scopes.filter((scope) => scope !== "admin"));

describe("I11 deny by default", () => {
  it("I11 a method or request without a row needs admin, also of the owner", () => {
    fc.assert(
      fc.property(
        unnamed,
        fc.constantFrom<Scoped>("method", "request"),
        fc.option(fc.string()),
        (name, what, variant) => {
          const rule = scopeOf(what, name, variant ?? undefined);
          expect(missingScope(rule, { scopes: everythingElse, isOwner: true })).toBe("admin");
          expect(missingScope(rule, { scopes: new Set(["admin"]), isOwner: false })).toBeNull();
        },
      ),
    );
  });

  it.each(["room", "session.debug", "request.opened", "gateway.debug", "groups.changed", "client.seen"])(
    "I11 an own event %s without a row needs admin",
    (type) => {
      for (const what of kinds) expect(scopeOf(what, type)).toBe("admin");
    },
  );

  it.each(["constructor", "__proto__", "toString", "hasOwnProperty", ""])(
    "I11 the name %j finds nothing that an object has by itself",
    (name) => {
      for (const what of ["method", "request"] as const) expect(scopeOf(what, name)).toBe("admin");
      expect(scopeOf("event", name)).toBe("read_or_owner");
    },
  );

  it("I11 nobody without a scope may do more than what needs none", () => {
    const open = kinds.flatMap((what) =>
      Object.entries(scopeTable[what]).flatMap(([name, rule]) =>
        missingScope(rule, { scopes: new Set(), isOwner: false }) === null ? [name] : [],
      ),
    );
    const ofMethods = ["gateway.ping", "client.capabilities", "gateway.ticket", "session.detach", "rooms.unsubscribe"];
    const ofEvents = ["gateway.ready", "session.detached", "session.reclaimed", "room.unsubscribed"];
    expect(open).toEqual([...ofMethods, ...ofEvents]);
  });
});
