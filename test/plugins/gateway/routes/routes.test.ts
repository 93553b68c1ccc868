import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { limits, RoomtapError } from "../../../../core/index.ts";
import type { RouteRequest } from "../../../../plugins/index.ts";
import { createGateway, RpcTable } from "../../../../plugins/gateway/index.ts";
import { TestHost, withToken } from "../../../support/open-gateway.ts";
import { tokenOf } from "../../../support/principals.ts";
import { handMade, people, type AskInit, refusalOf, routeGateway } from "../../../support/route-gateway.ts";

const u = "https://u.example";

describe("a route of a plugin", () => {
  it("is handed the request without any credential, and who asks", async () => {
    const open = await routeGateway();
    const seen: RouteRequest[] = [];
    open.route("POST /rooms/:room_id/notes/*", (request) => {
      seen.push(request);
      return { json: { ok: true } };
    });
    const response = await open.ask("/plugins/p/rooms/de%20sk/notes/a/b?x=1&x=2&y=%C3%A9", {
      method: "POST",
      body: "héllo",
      headers: { cookie: "session=1", "x-own": "yes", "sec-websocket-protocol": "a" },
    });
    expect([response.status, await response.json()]).toEqual([200, { ok: true }]);
    const [request] = seen;
    expect(request).toMatchObject({
      method: "POST",
      path: "/rooms/de sk/notes/a/b",
      params: { room_id: "de sk", "*": "a/b" },
      query: { x: "2", y: "é" },
      body: "héllo",
      caller: { principal: "admin", scopes: ["admin"], rooms: null },
    });
    expect(request?.headers).toMatchObject({ "x-own": "yes", "content-length": "6" });
    for (const name of ["authorization", "cookie", "sec-websocket-protocol"]) {
      expect(request?.headers[name]).toBeUndefined();
    }
    expect(request?.signal.aborted).toBe(false);
  });

  it("tells the plugin which rooms are there for the caller, and what it was granted", async () => {
    const open = await routeGateway();
    open.route("GET /who", ({ caller }) => ({ json: caller }), { scope: "read" });
    expect(await (await open.ask("/plugins/p/who", { as: "reader" })).json()).toEqual({
      principal: "reader",
      scopes: ["read"],
      rooms: ["desk"],
      grants: ["reasoning"],
    });
  });

  it.each([
    ["a bearer", { as: "admin" as const }, 200],
    ["a token in the query, on loopback", { as: "nobody" as const, query: `?token=${tokenOf("admin")}` }, 200],
    ["nothing", { as: "nobody" as const }, 401],
    ["a wrong bearer", { as: "nobody" as const, headers: { authorization: "Bearer wrong-wrong-wrong-wrong" } }, 401],
    ["another kind of authorization", { as: "nobody" as const, headers: { authorization: "Basic YTpi" } }, 401],
    ["two credentials", { as: "admin" as const, query: `?token=${tokenOf("admin")}` }, 401],
    ["a ticket that is none", { as: "nobody" as const, query: "?ticket=none" }, 401],
    ["a scope that will not do", { as: "reader" as const }, 403],
  ])("with %s", async (_, { query = "", ...init }: AskInit & { query?: string }, status) => {
    const open = await routeGateway();
    let calls = 0;
    open.route("GET /", ({ query: given }) => ({ json: [++calls, given] }));
    const response = await open.ask(`/plugins/p${query}`, init);
    expect([response.status, calls]).toEqual([status, status === 200 ? 1 : 0]);
    if (status === 200) expect(await response.json()).toEqual([1, {}]);
    if (status === 401) expect(response.headers.get("www-authenticate")).toBe("Bearer");
    if (status === 403) {
      expect(await response.json()).toEqual({
        error: "insufficient_scope",
        message: "this needs the scope admin",
        required_scope: "admin",
      });
    }
    const lines = open.host.trail.filter((line) => line.startsWith("route refused"));
    expect(lines).toHaveLength(status === 200 ? 0 : 1);
    expect(lines.join("")).not.toContain(tokenOf("admin"));
  });

  it("takes a ticket once: for an EventSource, which sends no header", async () => {
    const open = await routeGateway();
    open.route("GET /", ({ query }) => ({ json: query }));
    const made = await open.ask("/api/auth/ws-ticket", { method: "POST" });
    const { ticket } = (await made.json()) as { ticket: string };
    const first = await open.ask(`/plugins/p?ticket=${ticket}&a=1`, { as: "nobody" });
    expect([first.status, await first.json()]).toEqual([200, { a: "1" }]);
    expect(await refusalOf(await open.ask(`/plugins/p?ticket=${ticket}`, { as: "nobody" }))).toEqual([
      401,
      "ticket_invalid",
    ]);
  });

  it.each([
    ["nobody", {}, 200, null],
    ["a reader", { as: "reader" as const }, 200, "reader"],
    ["a wrong token", { headers: { authorization: "Bearer wrong-wrong-wrong-wrong" } }, 401, undefined],
    ["a wrong token in the query", { query: "?token=wrong-wrong-wrong-wrong" }, 401, undefined],
  ])(
    "that is public is open to %s",
    async (_, { query = "", ...init }: AskInit & { query?: string }, status, principal) => {
      const open = await routeGateway();
      open.route("GET /", ({ caller }) => ({ json: caller?.principal ?? null }), { scope: "public" });
      const response = await open.ask(`/plugins/p${query}`, { as: "nobody", ...init });
      expect(response.status).toBe(status);
      if (principal !== undefined) expect(await response.json()).toBe(principal);
    },
  );

  it("takes no token from the query when other machines reach it, also where it is public", async () => {
    const open = await routeGateway({ auth: { ...people, allowedOrigins: [] }, host: "0.0.0.0" });
    open.route("GET /mine", () => ({ json: 1 }));
    open.route("GET /all", () => ({ json: 1 }), { scope: "public" });
    for (const path of ["/plugins/p/mine", "/plugins/p/all"]) {
      const response = await open.ask(`${path}?token=${tokenOf("admin")}`, { as: "nobody" });
      expect(await refusalOf(response)).toEqual([401, "no_credential"]);
    }
  });

  it("is found by path and method: 404, 405 with what there is, HEAD as GET", async () => {
    const open = await routeGateway();
    open.route("GET /a", () => ({ json: { long: "answer" } }));
    open.route("POST /a", () => ({ status: 201 }));
    expect(await refusalOf(await open.ask("/plugins/p/b"))).toEqual([404, "unknown_route"]);
    const wrong = await open.ask("/plugins/p/a", { method: "DELETE" });
    expect([wrong.headers.get("allow"), await refusalOf(wrong)]).toEqual([
      "GET, HEAD, POST",
      [405, "method_not_allowed"],
    ]);
    const head = await open.ask("/plugins/p/a", { method: "HEAD" });
    expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "17", ""]);
    expect((await open.ask("/plugins/p/a", { method: "POST" })).status).toBe(201);
    // Of a plugin that has no routes nothing is said.
    const other = await open.ask("/plugins/q/a");
    expect([other.status, await other.text()]).toEqual([404, "not found\n"]);
  });

  it("at the server stands where the manifest lists it", async () => {
    const open = await routeGateway();
    open.route("GET /metrics", ({ path }) => ({ body: `at ${path}\n` }), { scope: "public", at: "server" });
    const response = await open.ask("/metrics", { as: "nobody" });
    expect([response.headers.get("content-type"), await response.text()]).toEqual([
      "text/plain; charset=utf-8",
      "at /metrics\n",
    ]);
    expect((await open.ask("/")).status).toBe(404);
  });

  it.each(["/plugins/p/..%2f..%2fetc", "/plugins/p/a%2fb", "/plugins/p/a%5cb", "/plugins/p/a%00", "/plugins/p/%zz"])(
    "is not led out of its folder by %s",
    async (path) => {
      const open = await routeGateway();
      let calls = 0;
      open.route("GET /*", () => ({ json: ++calls }));
      expect([(await open.ask(path)).status, calls]).toEqual([404, 0]);
    },
  );
});

describe("who may ask at all", () => {
  it.each([
    ["a name that was made to point here", { host: "evil.example" }, 403, "host_not_allowed"],
    ["a page of somebody else", { origin: "https://evil.example" }, 403, "origin_not_allowed"],
  ])("not %s, also of what is public", async (_, headers, status, word) => {
    const open = await routeGateway();
    let calls = 0;
    open.route("GET /", () => ({ json: ++calls }), { scope: "public" });
    const { request, response } = handMade(open, "/plugins/p", { headers });
    request.end();
    const came = await response;
    expect([came.statusCode, came.headers["access-control-allow-origin"], calls]).toEqual([status, undefined, 0]);
    expect(open.host.trail).toEqual([`route refused {"reason":"${word}","address":"127.0.0.1"}`]);
  });

  it("a page of an origin that is allowed asks first, and reads the answer", async () => {
    const open = await routeGateway({ auth: { ...people, allowedOrigins: [u] } });
    open.route("PUT /a", () => ({ json: 1 }));
    const asked = await open.ask("/plugins/p/a", { method: "OPTIONS", as: "nobody", headers: { origin: u } });
    expect([asked.status, asked.headers.get("access-control-allow-methods")]).toEqual([204, "PUT"]);
    expect(asked.headers.get("access-control-allow-headers")).toBe("authorization, content-type, last-event-id");
    for (const as of ["admin", "nobody"] as const) {
      const answer = await open.ask("/plugins/p/a", { method: "PUT", as, headers: { origin: u } });
      expect([answer.headers.get("access-control-allow-origin"), answer.headers.get("vary")]).toEqual([u, "origin"]);
    }
    const stranger = await open.ask("/plugins/p/a", { method: "OPTIONS", headers: { origin: "https://w.example" } });
    expect([stranger.status, stranger.headers.get("access-control-allow-origin")]).toEqual([403, null]);
  });

  it("without credentials in force no page of another site, which a browser asks for without an origin", async () => {
    const open = await routeGateway({ auth: "none" });
    open.route("GET /mine", ({ caller }) => ({ json: caller?.principal }));
    open.route("GET /all", ({ caller }) => ({ json: caller }), { scope: "public" });
    const as = "nobody";
    const cross = { "sec-fetch-site": "cross-site" };
    expect(await (await open.ask("/plugins/p/mine", { as })).json()).toBe("local");
    expect(await (await open.ask("/plugins/p/mine", { as, headers: { "sec-fetch-site": "none" } })).json()).toBe(
      "local",
    );
    expect(await refusalOf(await open.ask("/plugins/p/mine", { as, headers: cross }))).toEqual([
      403,
      "origin_not_allowed",
    ]);
    expect(await (await open.ask("/plugins/p/all", { as, headers: cross })).json()).toBeNull();
  });

  it("one address at a time has 32 requests that are not through", async () => {
    const open = await routeGateway({ maxPendingPerAddress: 2 });
    open.route("POST /", ({ body }) => ({ body }), { scope: "public" });
    const slow = Array.from({ length: 2 }, () => {
      const made = handMade(open, "/plugins/p", { method: "POST", headers: { "content-length": "4" } });
      made.request.write("ab");
      return made;
    });
    let refused: Response;
    do refused = await open.ask("/plugins/p", { method: "POST", body: "x" });
    while (refused.status === 200);
    expect([refused.headers.get("retry-after"), await refusalOf(refused)]).toEqual(["60", [429, "too_many_pending"]]);
    for (const { request } of slow) request.end("cd");
    expect(await Promise.all(slow.map(async ({ response }) => (await response).statusCode))).toEqual([200, 200]);
    expect((await open.ask("/plugins/p", { method: "POST", body: "x" })).status).toBe(200);
  });
});

describe("a body", () => {
  it.each([
    ["one below", limits.maxRouteBodyBytes - 1, 200],
    ["at the bound", limits.maxRouteBodyBytes, 200],
    ["one above", limits.maxRouteBodyBytes + 1, 413],
  ])("I8 has 1 MiB at most: %s", async (_, length, status) => {
    const open = await routeGateway();
    const lengths: number[] = [];
    open.route("POST /", ({ body }) => ({ json: lengths.push(body.length) }));
    const body = "x".repeat(length);
    expect((await open.ask("/plugins/p", { method: "POST", body })).status).toBe(status);
    // In pieces nobody says before how much will come.
    const pieces = new Blob([body]).stream();
    const init = { method: "POST", body: pieces, duplex: "half" } as object;
    expect((await open.ask("/plugins/p", init)).status).toBe(status);
    expect(lengths).toEqual(status === 200 ? [length, length] : []);
  });

  it("that is no UTF-8 is refused", async () => {
    const open = await routeGateway();
    open.route("POST /", ({ body }) => ({ body }));
    const response = await open.ask("/plugins/p", { method: "POST", body: new Uint8Array([0x68, 0xff]) });
    expect(await refusalOf(response)).toEqual([400, "invalid_request"]);
  });
});

describe("an answer", () => {
  it.each([
    ["JSON", { json: { a: 1 } }, "application/json; charset=utf-8", '{"a":1}'],
    ["a text", { body: "é" }, "text/plain; charset=utf-8", "é"],
    ["bytes", { body: new Uint8Array([104, 105]) }, "application/octet-stream", "hi"],
    ["nothing", {}, null, ""],
    ["a type of its own", { body: "a,b", headers: { "Content-Type": "text/csv" } }, "text/csv", "a,b"],
  ])("is %s", async (_, given, type, text) => {
    const open = await routeGateway();
    open.route("GET /", () => given);
    const response = await open.ask("/plugins/p");
    expect([response.status, response.headers.get("content-type"), await response.text()]).toEqual([200, type, text]);
    expect([response.headers.get("cache-control"), response.headers.get("x-content-type-options")]).toEqual([
      "no-store",
      "nosniff",
    ]);
  });

  it("that is a page runs what comes from here alone, unless the plugin says otherwise", async () => {
    const open = await routeGateway();
    const html = { "content-type": "text/html; charset=utf-8" };
    open.route("GET /page", () => ({ headers: html, body: "<p>hi" }));
    open.route("GET /own", () => ({ headers: { ...html, "content-security-policy": "default-src *" }, body: "<p>" }));
    const { headers } = await open.ask("/plugins/p/page");
    expect(headers.get("content-security-policy")).toMatch(/^default-src 'self';.* frame-ancestors 'none'$/);
    expect([headers.get("x-frame-options"), headers.get("referrer-policy")]).toEqual(["DENY", "no-referrer"]);
    const own = await open.ask("/plugins/p/own");
    expect(own.headers.get("content-security-policy")).toBe("default-src *");
  });

  it.each([
    ["nothing", undefined, "expected an answer such as { json: {} }, got undefined"],
    ["a status below", { status: 199 }, "status: expected a whole number of 200 to 599, got 199"],
    ["a status above", { status: 600 }, "status: expected a whole number of 200 to 599, got 600"],
    ["a status that is a text", { status: "200" }, "status: expected a whole number of 200 to 599, got string"],
    ["headers that are none", { headers: "a: b" }, "headers: expected an object, got string"],
    ["a header that is no text", { headers: { a: 1 } }, "headers: a: expected a text, got number"],
    [
      "a header with a line break",
      { headers: { a: "b\r\nset-cookie: c" } },
      'headers: Invalid character in header content ["a"]',
    ],
    [
      "a header with a bad name",
      { headers: { "a b": "c" } },
      'headers: Header name must be a valid HTTP token ["a b"]',
    ],
    [
      "a header of the gateway's",
      { headers: { "Content-Length": "3" } },
      "headers: content-length is the gateway's own",
    ],
    ["two bodies", { json: 1, body: "a" }, "expected json or body, got both"],
    ["a body that is none", { body: 5 }, "body: expected a text, bytes or an async iterable, got number"],
    ["a body where there is none", { status: 204, body: "a" }, "body: expected none with status 204"],
    ["what JSON has not", { json: () => 1 }, "json: expected a value that JSON has"],
    ["a big integer", { json: 1n }, "json: Do not know how to serialize a BigInt"],
  ])("that is %s is a fault of the plugin, and nothing worse", async (_, given, message) => {
    const open = await routeGateway();
    open.route("GET /", () => given as object);
    const response = await open.ask("/plugins/p");
    expect(await refusalOf(response)).toEqual([500, "plugin_failed"]);
    expect(open.host.faults).toEqual([`p: route GET /plugins/p: ${message}`]);
    expect([response.headers.get("set-cookie"), (await open.ask("/plugins/p")).status]).toEqual([null, 500]);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("the password is hunter2");
      },
    ],
    ["rejects", () => Promise.reject(new Error("the password is hunter2"))],
    [
      "meets a fault of roomtap's",
      () => {
        throw new RoomtapError("log_corrupt", "the password is hunter2");
      },
    ],
  ])("of a handler that %s tells the caller nothing of it, and the operator all", async (_, handler) => {
    const open = await routeGateway();
    open.route("GET /", handler as () => never);
    const text = await (await open.ask("/plugins/p")).text();
    expect(text).not.toContain("hunter2");
    expect(open.host.faults).toEqual(["p: route GET /plugins/p: the password is hunter2"]);
  });

  it.each([
    ["unknown_room", 404],
    ["invalid_params", 400],
    ["not_granted", 403],
    ["idempotency_conflict", 409],
    ["too_many_requests", 429],
    ["text_too_large", 413],
  ] as const)("of a handler that refuses with %s is that refusal", async (code, status) => {
    const open = await routeGateway();
    open.host.redactor.addLiterals(["a-secret-literal"]);
    open.route("GET /", () => {
      throw new RoomtapError(code, "not so, a-secret-literal", { data: { hint: "x" } });
    });
    const response = await open.ask("/plugins/p");
    expect([response.status, await response.json()]).toEqual([
      status,
      { error: code, message: expect.not.stringContaining("a-secret-literal") as string, hint: "x" },
    ]);
    expect(open.host.faults).toEqual([]);
  });
});

describe("an embedder's server", () => {
  it("hands over what is a plugin's, and keeps the rest", async () => {
    const host = new TestHost();
    const gateway = createGateway({ host, table: new RpcTable<TestHost>([]) }, withToken({ auth: people }));
    onTestFinished(() => gateway.close());
    host.table.add("p", {
      method: "POST",
      path: "/",
      options: { scope: "admin", at: "plugin" },
      handler: ({ body }) => ({ body: `got ${body}` }),
    });
    const server = createServer((request, response) => {
      if (!gateway.handle(request, response)) response.end(`own ${request.url ?? ""}`);
    });
    onTestFinished(() => void server.close());
    gateway.attach(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const get = async (path: string, init: RequestInit = {}): Promise<string> =>
      (await fetch(`http://127.0.0.1:${port}${path}`, init)).text();
    expect([await get("/"), await get("/plugins"), await get("/plugins/q/x")]).toEqual([
      "own /",
      "own /plugins",
      "own /plugins/q/x",
    ]);
    const headers = { authorization: `Bearer ${tokenOf("admin")}` };
    expect(await get("/plugins/p", { method: "POST", body: "it", headers })).toBe("got it");
  });
});

describe("an answer that throws when it is read", () => {
  const trap = (): never => {
    throw new Error("gotcha");
  };
  it.each<[string, () => unknown]>([
    ["headers", () => ({ headers: new Proxy({}, { ownKeys: trap }) })],
    ["a getter", () => Object.defineProperty({}, "body", { get: trap, enumerable: true })],
    ["what looks like bytes", () => ({ body: new Proxy(new Uint8Array(5), {}) })],
    ["bytes that hide what they are", () => ({ body: new Proxy({}, { getPrototypeOf: trap }) })],
  ])("(%s) is the plugin's fault, not roomtap's", async (_, made) => {
    const open = await routeGateway();
    open.route("GET /", made as () => object);
    const response = await open.ask("/plugins/p");
    expect(await refusalOf(response)).toEqual([500, "plugin_failed"]);
    expect(open.host.faults).toEqual([expect.stringMatching(/^p: route GET \/plugins\/p: it cannot be read: /)]);
  });
});

describe("a plugin that is not there for a while", () => {
  it("is asked in vain, with no further fault of it, also in the middle of a stream", async () => {
    const open = await routeGateway();
    const lost = new RoomtapError("plugin_lost", "plugin p: its worker ended, and is started again");
    open.route("GET /", () => Promise.reject(lost));
    open.route("GET /live", () => ({
      body: (async function* () {
        yield "first";
        throw lost;
      })(),
    }));
    expect(await refusalOf(await open.ask("/plugins/p"))).toEqual([503, "plugin_lost"]);
    await expect((await open.ask("/plugins/p/live")).text()).rejects.toThrow("terminated");
    expect(open.host.faults).toEqual([]);
  });

  it("says so to whoever it has not answered when it is taken out", async () => {
    const open = await routeGateway();
    const asked = new Promise<void>((resolve) => {
      const undo = open.route("GET /", () => {
        queueMicrotask(() => (undo(), resolve()));
        return new Promise(() => undefined);
      });
    });
    const [response] = await Promise.all([open.ask("/plugins/p"), asked]);
    expect(await response.json()).toEqual({
      error: "plugin_lost",
      message: "The plugin was unloaded, or its worker ended, before it answered.",
    });
  });

  it("that threw tells callers nothing of its setup", async () => {
    const open = await routeGateway();
    open.route("GET /", () => Promise.reject(new Error("the password is hunter2")));
    expect(await (await open.ask("/plugins/p")).json()).toEqual({
      error: "plugin_failed",
      message:
        "A plugin's code failed: its setup, of which nothing is left registered then, or a route or command of it.",
    });
  });
});
