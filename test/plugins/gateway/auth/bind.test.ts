import { once } from "node:events";
import { request, type IncomingMessage, type RequestOptions } from "node:http";
import { describe, expect, it } from "vitest";
import type { AuthOptions, GatewayOptions } from "../../../../plugins/gateway/index.ts";
import { checkBind } from "../../../../plugins/gateway/bind-check.ts";
import { openGateway } from "../../../support/open-gateway.ts";
import { principals } from "../../../support/principals.ts";
import { RawSocket } from "../../../support/raw-socket.ts";

/** The status of a request; its Host header is sent as it is given. */
async function statusOf(port: number, options: RequestOptions): Promise<number | undefined> {
  const asked = request({ host: "127.0.0.1", port, ...options });
  asked.end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

const strong = "0123456789abcdef";
const external = "0.0.0.0";

/** How a gateway with these credentials starts at an address: with which warnings, or why not. */
async function start(host: string, options: GatewayOptions): Promise<readonly string[]> {
  try {
    const open = await openGateway({ token: undefined, ...options, host });
    return ["starts", ...open.host.notices.map(({ message }) => message)];
  } catch (fault) {
    expect(fault).toMatchObject({ code: "invalid_config" });
    return [(fault as Error).message];
  }
}

const refused = (why: string) => [`the gateway cannot listen at ${external}, which others can reach: ${why}`];

describe("a bind that others can reach", () => {
  it("S53 needs a credential, a strong one, and a word on pages", async () => {
    const weak = (token: string) => ({ token, allowedOrigins: [] });
    expect(await start(external, { allowedOrigins: [] })).toEqual(refused("no credential is configured"));
    expect(await start(external, weak("Change-Me"))).toEqual(
      refused("the token of local is too weak: it is a common word"),
    );
    expect(await start(external, weak("Change-Me "))).toEqual(["token: expected up to 4,096 visible ASCII characters"]);
    expect(await start(external, weak("0123456789abcde"))).toEqual(
      refused("the token of local is too weak: it has fewer than 16 characters"),
    );
    expect(await start(external, { token: strong })).toEqual(
      refused("list the pages that may connect as allowedOrigins, or an empty list"),
    );
    expect(await start(external, { token: strong, allowedOrigins: [] })).toEqual(["starts"]);
    expect(await start("127.0.0.1", { token: "test" })).toEqual([
      "starts",
      "the token of local is weak: it is a common word",
    ]);
  });

  it("needs it of every token of a list, and is never open", async () => {
    const { tokens } = principals({ laptop: {}, phone: {} });
    const list = (...more: typeof tokens): AuthOptions => ({ tokens: [...tokens, ...more], allowedOrigins: [] });
    expect(await start(external, { auth: list() })).toEqual(["starts"]);
    expect(
      await start(external, { auth: list({ token: "aaaaaaaaaaaaaaaa", principal: "tv", scopes: ["read"] }) }),
    ).toEqual(refused("the token of tv is too weak: it is one character, repeated"));
    expect(await start(external, { auth: "none" })).toEqual(refused('auth "none" is for this machine alone'));
    const jwks = { url: "https://id.example/keys", audience: "roomtap" };
    expect(await start(external, { auth: { jwks, allowedOrigins: [] } })).toEqual(["starts"]);
  });

  it("keeps what it has when a reload would not do for it", async () => {
    const { gateway, port } = await openGateway({ auth: { token: strong, allowedOrigins: [] }, host: external });
    expect(() => gateway.reload({ token: "test" })).toThrow(
      refused("the token of local is too weak: it is a common word")[0],
    );
    expect(() => gateway.reload("none")).toThrow(/this machine alone/);
    const headers = { authorization: `Bearer ${strong}` };
    expect(await new RawSocket(`ws://127.0.0.1:${port}/api/ws`, { headers }).next()).toBeDefined();
  });

  it.each(["::", "0.0.0.0", "10.0.0.1", "example.org"])("is one at %s", (host) => {
    const guard = { isOpen: false, isMade: true, weak: [], allowedOrigins: [] };
    expect(() => checkBind(host, guard)).toThrow(/no credential is configured/);
    expect(checkBind("::1", guard)).toEqual([]);
  });
});

describe("a loopback bind", () => {
  /** How an upgrade goes: `ready`, or the code that it is closed with. */
  const upgrade = async (url: string, headers: Record<string, string>): Promise<unknown> => {
    const socket = new RawSocket(url, { headers });
    const ended = socket.closed.then(({ code }) => code);
    return Promise.race([socket.next().then(() => "ready"), ended]).catch(() => ended);
  };

  it("S54 takes its own pages and those that are no browser's", async () => {
    const { url, port } = await openGateway();
    expect(await upgrade(url, { origin: `http://127.0.0.1:${port}` })).toBe("ready");
    expect(await upgrade(url, { origin: "https://evil.example" })).toBe(4403);
    expect(await upgrade(url, { origin: "null" })).toBe(4403);
    expect(await upgrade(url, {})).toBe("ready");
  });

  it("S55 trusts no name and no nearness", async () => {
    const { url, port } = await openGateway();
    const bare = `ws://127.0.0.1:${port}/api/ws`;
    expect(await upgrade(url, { host: "rebind.example" })).toBe(4403);
    expect(await upgrade(bare, { origin: `http://127.0.0.1:${port}` })).toBe(4401);
    expect(await upgrade(bare, {})).toBe(4401);
  });

  it("C-047 opens nothing to strange pages and names, nor without a credential", async () => {
    const { url, port, gateway } = await openGateway();
    const bare = `ws://127.0.0.1:${port}/api/ws`;
    const own = `http://127.0.0.1:${port}`;
    const bearer = { authorization: `Bearer ${gateway.token}` };
    const refusal = async (target: string, headers: Record<string, string>): Promise<unknown> => {
      const socket = new RawSocket(target, { headers });
      return { ...(await socket.closed), frames: socket.frames };
    };
    const refusedWith = (code: number, reason: string) => ({ code, reason, frames: [] });
    const evil = { origin: "https://evil.example" };
    const rebound = { host: "rebind.example" };
    expect(await refusal(url, evil)).toEqual(refusedWith(4403, "origin_not_allowed"));
    expect(await refusal(url, rebound)).toEqual(refusedWith(4403, "host_not_allowed"));
    expect(await refusal(bare, { origin: own })).toEqual(refusedWith(4401, "no_credential"));
    expect(await refusal(bare, {})).toEqual(refusedWith(4401, "no_credential"));
    for (const [method, path] of [
      ["POST", "/api/auth/ws-ticket"],
      ["GET", "/"],
    ] as const) {
      for (const headers of [evil, rebound]) {
        expect(await statusOf(port, { method, path, headers: { ...bearer, ...headers } })).toBe(403);
      }
    }
    expect(await statusOf(port, { method: "POST", path: "/api/auth/ws-ticket", headers: { origin: own } })).toBe(401);
    const asked = { method: "POST", path: "/api/auth/ws-ticket", headers: { ...bearer, origin: own } };
    expect(await statusOf(port, asked)).toBe(200);
  });

  it("may be open when that is written out, but not to pages and not behind a proxy", async () => {
    const { port, gateway, host } = await openGateway({ auth: "none" });
    const bare = `ws://127.0.0.1:${port}/api/ws`;
    expect([await upgrade(bare, {}), gateway.token]).toEqual(["ready", ""]);
    expect(host.clients[0]).toMatchObject({
      principal: "local",
      scopes: new Set(["read", "write", "approvals", "admin"]),
    });
    expect(await upgrade(bare, { origin: "https://evil.example" })).toBe(4403);
    expect(await upgrade(bare, { "x-forwarded-for": "10.0.0.1" })).toBe(4401);
  });

  it("takes other pages after a reload", async () => {
    const { gateway, url } = await openGateway();
    const origin = "https://a.example";
    expect(await upgrade(url, { origin })).toBe(4403);
    expect(gateway.reload({ allowedOrigins: [origin] })).toBe(0);
    expect(await upgrade(url, { origin })).toBe("ready");
  });
});
