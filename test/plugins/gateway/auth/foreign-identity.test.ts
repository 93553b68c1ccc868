import { describe, expect, it } from "vitest";
import type { Authenticate } from "../../../../plugins/gateway/index.ts";
import { openGateway } from "../../../support/open-gateway.ts";
import { RawSocket } from "../../../support/raw-socket.ts";

const identity = { principal: "p", generation: "g", scopes: ["read"], grants: [] };

describe("an authenticate that gives no answer", () => {
  it.each([
    ["null", null, ""],
    ["undefined", undefined, ""],
    ["true", true, ""],
    ["an empty object", {}, ": principal, generation, scopes, grants"],
    ["nobody's name", { ...identity, principal: "" }, ": principal"],
    ["scopes as a text", { ...identity, scopes: "admin" }, ": scopes"],
    ["a scope that there is not", { ...identity, scopes: ["wirte"] }, ": scopes.0"],
    ["rooms as a text", { ...identity, rooms: "release" }, ": rooms"],
    ["an end that is no number", { ...identity, expiresAt: Number.NaN }, ": expiresAt"],
  ])("lets nobody in by %s, and says what is wrong", async (_title, answer, paths) => {
    const open = await openGateway({ authenticate: (() => answer) as unknown as Authenticate });
    const socket = new RawSocket(open.url);
    expect(await socket.closed).toEqual({ code: 1011, reason: "internal_error" });
    const ticket = await fetch(`http://127.0.0.1:${open.port}/api/auth/ws-ticket`, {
      method: "POST",
      headers: { authorization: "Bearer shown" },
    });
    expect([ticket.status, await ticket.json()]).toEqual([500, { error: "internal_error" }]);
    const message = `a credential could not be checked: authenticate gave no identity${paths}`;
    expect(open.host.notices.map((notice) => notice.message)).toEqual([message, message]);
    expect(open.gateway.connections).toBe(0);
  });

  it("lets nobody in by a word that is none, and shows it nowhere", async () => {
    for (const word of ["nope", "__proto__", "constructor", ""]) {
      const open = await openGateway({ authenticate: (() => word) as unknown as Authenticate });
      const socket = new RawSocket(open.url);
      expect(await socket.closed).toEqual({ code: 1011, reason: "internal_error" });
      expect(open.host.notices).toHaveLength(1);
    }
  });

  it("takes the whole of one that is an answer", async () => {
    const whole = { ...identity, rooms: ["one"], label: "door", expiresAt: Infinity };
    const open = await openGateway({ authenticate: (() => whole) as unknown as Authenticate });
    await open.connect();
    const [client] = open.host.clients;
    expect([client?.principal, [...(client?.rooms ?? [])]]).toEqual(["p", ["one"]]);
  });
});
