import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { AuthConfig, AuthOptions } from "../../../../plugins/gateway/index.ts";
import { defineMethod } from "../../../../plugins/gateway/index.ts";
import { openGateway, type OpenGateway } from "../../../support/open-gateway.ts";
import { principals, tokenOf } from "../../../support/principals.ts";
import { RawSocket } from "../../../support/raw-socket.ts";

interface Ready {
  readonly origin: string;
  readonly resume_token: string;
  readonly resumed: boolean;
}

async function show({ port }: OpenGateway, token: string, resume = ""): Promise<{ socket: RawSocket; ready: Ready }> {
  const socket = new RawSocket(
    `ws://127.0.0.1:${port}/api/ws?token=${token}${resume === "" ? "" : `&resume=${resume}`}`,
  );
  const { params } = (await socket.next()) as unknown as { params: { payload: Ready } };
  return { socket, ready: params.payload };
}

const auth = principals({ laptop: {}, phone: { scopes: ["read"] } });
const [laptop] = auth.tokens;
const rotated = { code: 4401, reason: "credentials_rotated" };

/** The same list with another token for the laptop. */
const replaced: AuthConfig = {
  tokens: auth.tokens.map((entry) => (entry === laptop ? { ...entry, token: tokenOf("laptop-2") } : entry)),
};

describe("a reload", () => {
  it("S52 ends the connections of what has gone, and of nothing else", async () => {
    const open = await openGateway({ auth });
    const { gateway, host } = open;
    const old = await show(open, tokenOf("laptop"));
    const other = await show(open, tokenOf("phone"));
    expect(gateway.reload(replaced)).toBe(1);
    expect(await old.socket.closed).toEqual(rotated);
    const fresh = await show(open, tokenOf("laptop-2"));
    expect(gateway.reload(replaced)).toBe(0);
    expect(host.notices).toEqual([]);
    expect(gateway.reload({ tokens: [] })).toBe(0);
    expect(gateway.reload({ token: "" })).toBe(0);
    expect(host.notices.map(({ code }) => code)).toEqual(["empty_credentials", "empty_credentials"]);
    expect([gateway.reload({}), gateway.reload(undefined)]).toEqual([0, 0]);
    expect(gateway.reload({ ...auth, revokeOnRotation: false })).toBe(0);
    for (const { socket } of [other, fresh]) {
      expect(await socket.call("gateway.ping")).toMatchObject({ result: { ok: true } });
    }
    // Adopted: the one is good again, and the other no more, although its connection has stayed.
    await show(open, tokenOf("laptop"));
    const stale = new RawSocket(`ws://127.0.0.1:${open.port}/api/ws?token=${tokenOf("laptop-2")}`);
    expect((await stale.closed).reason).toBe("token_mismatch");
    expect(gateway.count("credentials_rotated")).toBe(1);
  });

  it("takes the resume tokens of what has gone, also when it comes back", async () => {
    const open = await openGateway({ auth });
    const { socket, ready } = await show(open, tokenOf("laptop"));
    const kept = await show(open, tokenOf("phone"));
    open.gateway.reload(replaced);
    await socket.closed;
    open.gateway.reload(auth);
    const again = await show(open, tokenOf("laptop"), ready.resume_token);
    expect([again.ready.resumed, again.ready.origin === ready.origin]).toEqual([false, false]);
    expect((await show(open, tokenOf("phone"), kept.ready.resume_token)).ready.resumed).toBe(true);
  });

  it("changes the rights of those who stay", async () => {
    const open = await openGateway({ auth });
    await show(open, tokenOf("laptop"));
    const [client] = open.host.clients;
    expect(
      open.gateway.reload({ tokens: [{ ...entryOf("laptop"), scopes: ["read"], rooms: ["r1"], grants: ["full"] }] }),
    ).toBe(0);
    expect(client).toMatchObject({ scopes: new Set(["read"]), rooms: new Set(["r1"]), grants: new Set(["full"]) });
    open.gateway.reload(auth);
    expect(client).toMatchObject({ scopes: new Set(["read", "write"]), rooms: null, grants: new Set() });
    const changes = open.host.trail.filter((line) => line.startsWith("rights granted"));
    expect(changes).toHaveLength(2);
  });

  it("that gives a token to somebody else ends who had it", async () => {
    const open = await openGateway({ auth });
    const { socket } = await show(open, tokenOf("laptop"));
    expect(open.gateway.reload({ tokens: [{ ...entryOf("laptop"), principal: "tv" }] })).toBe(1);
    expect(await socket.closed).toEqual(rotated);
  });

  it("of what could not be started with changes nothing", async () => {
    const open = await openGateway({ auth });
    const wrong = { tokens: [{ token: "x", principal: "a" }] } as unknown as AuthOptions;
    expect(() => open.gateway.reload(wrong)).toThrow(/auth\.tokens\[0\]\.scopes/);
    await show(open, tokenOf("laptop"));
    const foreign = await openGateway({ authenticate: () => "token_mismatch" });
    expect(() => foreign.gateway.reload(auth)).toThrow(/a function of its own/);
  });

  it("from one made token to a list ends those who had it", async () => {
    const open = await openGateway({ token: undefined });
    const { gateway } = open;
    expect(gateway.isTokenMade).toBe(true);
    const { socket } = await show(open, gateway.token);
    expect(gateway.reload(auth)).toBe(1);
    expect(await socket.closed).toEqual(rotated);
    expect([gateway.token, gateway.isTokenMade]).toEqual(["", false]);
    await show(open, tokenOf("phone"));
  });

  it("shows no credential anywhere", async () => {
    const open = await openGateway({ auth });
    await show(open, tokenOf("laptop"));
    open.gateway.reload(replaced);
    await show(open, tokenOf("laptop-2"));
    for (const token of [tokenOf("laptop"), tokenOf("phone"), tokenOf("laptop-2")]) {
      expect([...open.host.trail, JSON.stringify(open.host.notices)].join()).not.toContain(token);
      expect(open.host.redactor.text(`it is ${token}`)).toBe("it is [redacted]");
    }
    expect(open.host.trail.find((line) => line.includes('"principal":"laptop"'))).toContain('"by":"gw_****cdef"');
  });
});

describe("an operator", () => {
  it("ends one connection, or all of a principal, for good", async () => {
    const open = await openGateway({ auth });
    const { gateway } = open;
    const [one, two, three] = [
      await show(open, tokenOf("laptop")),
      await show(open, tokenOf("laptop")),
      await show(open, tokenOf("phone")),
    ];
    expect(gateway.revoke({ origin: one.ready.origin })).toBe(1);
    expect(await one.socket.closed).toEqual({ code: 4410, reason: "revoked" });
    const again = await show(open, tokenOf("laptop"), one.ready.resume_token);
    expect(again.ready.resumed).toBe(false);
    expect(gateway.revoke({ principal: "laptop" })).toBe(2);
    expect((await two.socket.closed).code).toBe(4410);
    expect([gateway.revoke({ principal: "laptop" }), gateway.revoke({ origin: "c-nobody" })]).toEqual([0, 0]);
    expect(await three.socket.call("gateway.ping")).toMatchObject({ result: { ok: true } });
  });
});

describe("a method without an entry", () => {
  it("S49 is for admins alone", async () => {
    const method = defineMethod({
      name: "room.debug",
      summary: "Nobody has thought of its scope.",
      params: z.object({}),
      result: z.object({ passes: z.boolean() }),
      handler: () => ({ passes: true }),
    });
    const scopes = ["read", "write", "approvals", "admin"] as const;
    const byScope = Object.fromEntries(scopes.map((scope) => [scope, { scopes: [scope] }]));
    const open = await openGateway({ auth: principals(byScope), methods: [method as never] });
    for (const scope of scopes.slice(0, 3)) {
      const { socket } = await show(open, tokenOf(scope));
      expect(await socket.call("room.debug")).toMatchObject({
        error: { code: 4300, data: { required_scope: "admin" } },
      });
    }
    const { socket } = await show(open, tokenOf("admin"));
    expect(await socket.call("room.debug")).toMatchObject({ result: { passes: true } });
  });
});

function entryOf(principal: "laptop" | "phone") {
  return { token: tokenOf(principal), principal, scopes: ["read", "write"] as const };
}
