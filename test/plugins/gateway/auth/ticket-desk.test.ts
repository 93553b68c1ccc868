import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { createGateway, RpcTable } from "../../../../plugins/gateway/index.ts";
import { manualClock } from "../../../../core/index.ts";
import { openGateway, TestHost, type OpenGateway, type OpenGatewayOptions } from "../../../support/open-gateway.ts";
import { principals, tokenOf } from "../../../support/principals.ts";
import { RawSocket } from "../../../support/raw-socket.ts";

const u = "https://u.example";
const w = "https://w.example";
const auth = { ...principals({ laptop: {}, phone: { scopes: ["read"] } }), allowedOrigins: [u, w] };

interface Asked {
  readonly token?: string;
  readonly origin?: string;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Asks for a ticket, as the laptop unless something else is said. */
async function ask({ port }: { readonly port: number }, asked: Asked = {}): Promise<Response> {
  const { token = tokenOf("laptop"), origin, method = "POST", path = "/api/auth/ws-ticket", headers = {} } = asked;
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: {
      ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
      ...(origin === undefined ? {} : { origin }),
      ...headers,
    },
  });
}

async function ticketOf(open: { readonly port: number }, asked: Asked = {}): Promise<string> {
  const response = await ask(open, asked);
  expect(response.status).toBe(200);
  const { ticket, ...rest } = (await response.json()) as { ticket: string };
  expect(rest).toEqual({ expires_in: 30 });
  return ticket;
}

const v1 = "hermes-gateway-v1";
const offered = (ticket: string): string => `hermes-gateway-ticket.${ticket}`;

const open = (options: OpenGatewayOptions = {}): Promise<OpenGateway> => openGateway({ auth, ...options });

/** How an upgrade with these protocols or this query goes: `ready`, or the code and word that it is closed with. */
async function upgrade(
  port: number,
  given: { protocols?: string[]; query?: string; origin?: string },
): Promise<string> {
  const { protocols = [], query = "", origin } = given;
  // As a header: a client that offers something ends by itself when nothing is selected.
  const offer = protocols.length === 0 ? {} : { "sec-websocket-protocol": protocols.join(", ") };
  const headers = { ...offer, ...(origin === undefined ? {} : { origin }) };
  const isSelected = protocols.includes(v1);
  const socket = new RawSocket(`ws://127.0.0.1:${port}/api/ws${query}`, isSelected ? { protocols } : { headers });
  const ended = socket.closed.then(({ code, reason }) => `${code} ${reason}`);
  return Promise.race([socket.next().then(() => "ready"), ended]).catch(() => ended);
}

describe("a ticket of the desk", () => {
  it("W5 lets in once, by the subprotocol, which alone is selected", async () => {
    const gateway = await open();
    const { port } = gateway;
    const ticket = await ticketOf(gateway);
    const socket = new RawSocket(`ws://127.0.0.1:${port}/api/ws`, { protocols: [v1, offered(ticket)] });
    expect(await socket.next()).toMatchObject({ params: { type: "gateway.ready" } });
    expect(socket.ws.protocol).toBe(v1);
    expect(gateway.host.clients[0]).toMatchObject({ principal: "laptop", scopes: new Set(["read", "write"]) });
    const [second, third] = [await ticketOf(gateway), await ticketOf(gateway)];
    expect(await upgrade(port, { protocols: [v1, offered(ticket)] })).toBe("4401 ticket_invalid");
    expect(await upgrade(port, { protocols: [offered(second)] })).toBe("4401 ticket_invalid");
    expect(await upgrade(port, { protocols: [v1, offered(second), offered(third)] })).toBe("4401 ticket_invalid");
  });

  it("W6 stands alone: not beside a bearer", async () => {
    const gateway = await open();
    const { port } = gateway;
    const headers = { authorization: `Bearer ${tokenOf("laptop")}` };
    const url = `ws://127.0.0.1:${port}/api/ws`;
    expect(await new RawSocket(url, { headers }).next()).toMatchObject({ params: { type: "gateway.ready" } });
    const both = new RawSocket(`${url}?ticket=${await ticketOf(gateway)}`, { headers });
    expect(await both.closed).toEqual({ code: 4401, reason: "credential_ambiguous" });
  });

  it("S56 is bound to its page, to one use and to 30 s", async () => {
    const clock = manualClock();
    const gateway = await open({ clock, pingIntervalMs: 0 });
    const { port } = gateway;
    const query = `?ticket=${await ticketOf(gateway, { origin: u })}`;
    expect(await upgrade(port, { query, origin: w })).toBe("4401 ticket_invalid");
    expect(await upgrade(port, { query, origin: u })).toBe("ready");
    expect(await upgrade(port, { query, origin: u })).toBe("4401 ticket_invalid");
    const late = `?ticket=${await ticketOf(gateway, { origin: u })}`;
    clock.advance(31_000);
    expect(await upgrade(port, { query: late, origin: u })).toBe("4401 ticket_invalid");
  });

  it("C-048 takes a ticket in an address once, and a token never", async () => {
    const gateway = await open({ host: "0.0.0.0" });
    const { port, host } = gateway;
    expect(await upgrade(port, { query: `?token=${tokenOf("laptop")}` })).toBe("4401 no_credential");
    const ticket = await ticketOf(gateway);
    expect(await upgrade(port, { query: `?ticket=${ticket}` })).toBe("ready");
    expect(await upgrade(port, { query: `?ticket=${ticket}` })).toBe("4401 ticket_invalid");
    const seen = JSON.stringify([host.trail, host.notices]);
    expect([seen.includes(tokenOf("laptop")), seen.includes(ticket)]).toEqual([false, false]);
  });

  it("is what its token is: scopes, whatever they are, and void with it", async () => {
    const gateway = await open();
    const [first, second] = [await ticketOf(gateway, { token: tokenOf("phone") }), await ticketOf(gateway)];
    expect(await upgrade(gateway.port, { query: `?ticket=${first}` })).toBe("ready");
    expect(gateway.host.clients[0]).toMatchObject({ principal: "phone", scopes: new Set(["read"]) });
    gateway.gateway.reload(principals({ phone: { scopes: ["read"] } }));
    expect(await upgrade(gateway.port, { query: `?ticket=${second}` })).toBe("4401 ticket_invalid");
  });

  it("is made for whoever the embedder's function knows", async () => {
    const identity = { principal: "someone", generation: "g", scopes: ["read"] as const, grants: [] };
    const gateway = await openGateway({
      authenticate: ({ kind, value }) => (kind === "token" && value === "shown" ? identity : "token_mismatch"),
    });
    const ticket = await ticketOf(gateway, { token: "shown" });
    expect(await upgrade(gateway.port, { query: `?ticket=${ticket}` })).toBe("ready");
    expect(gateway.host.clients[0]?.principal).toBe("someone");
    expect((await ask(gateway, { token: "else" })).status).toBe(401);
  });
});

describe("the desk", () => {
  it.each<readonly [asked: Asked, status: number, error: string]>([
    [{ token: "" }, 401, "no_credential"],
    [{ token: "wrong" }, 401, "token_mismatch"],
    [{ token: "", path: `/api/auth/ws-ticket?token=${tokenOf("laptop")}` }, 401, "no_credential"],
    [{ origin: "https://evil.example" }, 403, "origin_not_allowed"],
    [{ origin: "null" }, 403, "origin_not_allowed"],
    [{ method: "OPTIONS", token: "", origin: "https://evil.example" }, 403, "origin_not_allowed"],
    [{ method: "GET" }, 405, "method_not_allowed"],
  ])("answers %j with %i %s", async (asked, status, error) => {
    const { host, ...gateway } = await open();
    const response = await ask(gateway, asked);
    expect([response.status, await response.json()]).toEqual([status, { error }]);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
    expect(response.headers.get("www-authenticate")).toBe(status === 401 ? "Bearer" : null);
    expect(gateway.gateway.count(error as "no_credential")).toBe(status === 405 ? 0 : 1);
    expect(host.trail.some((line) => line.includes(tokenOf("laptop")))).toBe(false);
  });

  it("lets a page of an origin that is allowed ask, and read the answer", async () => {
    const gateway = await open();
    const before = await ask(gateway, { method: "OPTIONS", token: "", origin: u });
    expect([before.status, Object.fromEntries(before.headers)]).toMatchObject([
      204,
      {
        "access-control-allow-origin": u,
        "access-control-allow-headers": "authorization, content-type",
        "access-control-allow-methods": "POST",
        vary: "origin",
      },
    ]);
    for (const token of [tokenOf("laptop"), "wrong"]) {
      expect((await ask(gateway, { origin: u, token })).headers.get("access-control-allow-origin")).toBe(u);
    }
  });

  it("has no more for a principal, and says so with 429", async () => {
    const gateway = await open({ maxTicketsPerPrincipal: 2 });
    await ticketOf(gateway);
    await ticketOf(gateway);
    const third = await ask(gateway);
    expect([third.status, await third.json()]).toEqual([429, { error: "too_many_tickets" }]);
    expect(third.headers.get("retry-after")).toBe("60");
    expect(gateway.gateway.count("too_many_tickets")).toBe(1);
    expect((await ask(gateway, { token: tokenOf("phone") })).status).toBe(200);
  });

  it("locks out who guesses, by the same count as upgrades", async () => {
    const clock = manualClock();
    const gateway = await open({ clock, host: "0.0.0.0", maxFailedUpgradesPerAddress: 3 });
    const statuses: number[] = [];
    for (const token of ["a", "b", "c", tokenOf("laptop")]) statuses.push((await ask(gateway, { token })).status);
    expect(statuses).toEqual([401, 401, 401, 429]);
    const headers = { authorization: `Bearer ${tokenOf("laptop")}` };
    const socket = new RawSocket(`ws://127.0.0.1:${gateway.port}/api/ws`, { headers });
    expect(await socket.closed).toEqual({ code: 4429, reason: "upgrade_rate" });
    clock.advance(300_000);
    expect((await ask(gateway)).status).toBe(200);
  });

  it("stands on somebody else's server too, beside what is there", async () => {
    const host = new TestHost();
    const gateway = createGateway({ host, table: new RpcTable<TestHost>([]) }, { auth });
    onTestFinished(() => gateway.close());
    const server = createServer((request, response) => {
      if (!gateway.handle(request, response)) response.end("a page");
    });
    onTestFinished(() => void server.close());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    gateway.attach(server);
    const { port } = server.address() as AddressInfo;
    const ticket = await ticketOf({ port });
    expect(await upgrade(port, { query: `?ticket=${ticket}` })).toBe("ready");
    expect(await (await ask({ port }, { path: "/" })).text()).toBe("a page");
  });

  it("is closed with its gateway", async () => {
    const host = new TestHost();
    const gateway = createGateway({ host, table: new RpcTable<TestHost>([]) }, { auth });
    const server = createServer((request, response) => void gateway.handle(request, response));
    onTestFinished(() => void server.close());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    await gateway.close();
    const { port } = server.address() as AddressInfo;
    const response = await ask({ port });
    expect([response.status, await response.json()]).toEqual([503, { error: "shutting_down" }]);
  });
});
