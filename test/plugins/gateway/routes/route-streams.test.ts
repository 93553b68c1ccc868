import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { limits, Signal } from "../../../../core/index.ts";
import type { RouteRequest, RouteResponse } from "../../../../plugins/index.ts";
import { loopClock, turnsOfLoop } from "../../../support/open-log.ts";
import { principals, tokenOf } from "../../../support/principals.ts";
import {
  handMade,
  people,
  pieceOf,
  refusalOf,
  routeGateway,
  type RouteGateway,
} from "../../../support/route-gateway.ts";

const bearer = { authorization: `Bearer ${tokenOf("admin")}` };

/** A stream whose pieces the test gives, and which says when it was told to end. */
class Pieces implements AsyncIterable<string | Uint8Array> {
  readonly returned = new Signal();
  isReturned = false;
  asked = 0;
  readonly #waiting: ((result: IteratorResult<string | Uint8Array>) => void)[] = [];
  readonly #given: IteratorResult<string | Uint8Array>[] = [];

  give(value: string | Uint8Array): void {
    this.#push({ value, done: false });
  }

  end(): void {
    this.#push({ value: undefined, done: true });
  }

  #push(result: IteratorResult<string | Uint8Array>): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#given.push(result);
    else next(result);
  }

  [Symbol.asyncIterator](): AsyncIterator<string | Uint8Array> {
    return {
      next: () => {
        this.asked++;
        const given = this.#given.shift();
        if (given !== undefined) return Promise.resolve(given);
        return new Promise((resolve) => void this.#waiting.push(resolve));
      },
      return: () => {
        this.isReturned = true;
        this.returned.fire();
        return Promise.resolve({ value: undefined, done: true as const });
      },
    };
  }
}

interface Streaming {
  readonly open: RouteGateway;
  readonly pieces: Pieces;
  readonly response: IncomingMessage;
  /** As the plugin was handed it. */
  readonly request: RouteRequest;
  /** Resolves when the response is over: whether it came whole. */
  readonly over: Promise<"whole" | "cut">;
  readonly undo: () => void;
}

/** A reader that has the first piece of a stream. */
async function streaming(open: RouteGateway, headers: Readonly<Record<string, string>> = bearer): Promise<Streaming> {
  const pieces = new Pieces();
  let seen: RouteRequest | undefined;
  const undo = open.route(
    "GET /events",
    (request) => {
      seen = request;
      return { headers: { "content-type": "text/event-stream" }, body: pieces };
    },
    { scope: "read" },
  );
  const made = handMade(open, "/plugins/p/events", { headers });
  made.request.end();
  const response = await made.response;
  expect([response.statusCode, response.headers["content-type"]]).toEqual([200, "text/event-stream"]);
  pieces.give("data: 1\n\n");
  expect(await pieceOf(response)).toBe("data: 1\n\n");
  if (seen === undefined) throw new Error("the handler was not called");
  const over = new Promise<"whole" | "cut">((resolve) => {
    response.on("error", () => undefined).once("close", () => resolve(response.complete ? "whole" : "cut"));
  });
  return { open, pieces, response, request: seen, over, undo };
}

describe("a stream", () => {
  it("comes piece by piece, the next one asked for when there is one before it, and ends", async () => {
    const { pieces, response, request, over } = await streaming(await routeGateway());
    pieces.give("");
    pieces.give(new TextEncoder().encode("é"));
    expect(await pieceOf(response)).toBe("é");
    expect(pieces.asked).toBe(4);
    pieces.end();
    response.resume();
    expect([await over, request.signal.aborted, pieces.isReturned]).toEqual(["whole", false, false]);
  });

  it("I8 asks a plugin for no more than its reader takes", async () => {
    const open = await routeGateway();
    const piece = new Uint8Array(65_536);
    let asked = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        asked++;
        yield piece;
      }
    }
    open.route("GET /", () => ({ body: endless() }));
    const { request, response } = handMade(open, "/plugins/p", { headers: bearer });
    request.end();
    // Nobody reads from it: what the system takes in between is all there is.
    const paused = await response;
    let before = -1;
    while (asked !== before) {
      before = asked;
      await turnsOfLoop(200);
    }
    expect(asked).toBeLessThan(1_000);
    paused.once("readable", () => undefined);
    while (asked < before + 50) await pieceOf(paused);
    request.destroy();
  });

  it("whose reader leaves is told so, and asked for nothing more", async () => {
    const { pieces, response, request } = await streaming(await routeGateway());
    const aborted = new Promise((resolve) => request.signal.addEventListener("abort", resolve));
    response.destroy();
    await Promise.all([aborted, pieces.returned.fired]);
    pieces.give("late");
    expect(pieces.asked).toBe(2);
  });

  it.each([
    ["the gateway is closed", ({ open }: Streaming) => void open.gateway.close()],
    ["its route is taken away", ({ undo }: Streaming) => undo()],
    ["its principal is revoked", ({ open }: Streaming) => void open.gateway.revoke({ principal: "admin" })],
    ["its credential has gone", ({ open }: Streaming) => void open.gateway.reload(principals({ other: {} }))],
    [
      "its credential has other rights",
      ({ open }: Streaming) => void open.gateway.reload(principals({ admin: { scopes: ["read"] } })),
    ],
  ])("is cut when %s: nobody takes it for the whole", async (_, act) => {
    const stream = await streaming(await routeGateway());
    act(stream);
    expect(await stream.over).toBe("cut");
    await stream.pieces.returned.fired;
    expect([stream.request.signal.aborted, stream.open.host.faults]).toEqual([true, []]);
  });

  it("goes on when credentials are read again and its own is what it was", async () => {
    const stream = await streaming(await routeGateway());
    stream.open.gateway.reload(principals({ admin: { scopes: ["admin"] }, other: {} }));
    stream.pieces.give("data: 2\n\n");
    expect(await pieceOf(stream.response)).toBe("data: 2\n\n");
  });

  it("is cut when its reader takes nothing for 30 s", async () => {
    const clock = loopClock();
    const open = await routeGateway({ clock, pingIntervalMs: 0 });
    let piecesAsked = 0;
    const returned = new Signal();
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          piecesAsked++;
          yield new Uint8Array(1_048_576);
        }
      } finally {
        returned.fire();
      }
    }
    open.route("GET /", () => ({ body: endless() }));
    const { request, response } = handMade(open, "/plugins/p", { headers: bearer });
    request.on("error", () => undefined).end();
    const paused = await response;
    paused.on("error", () => undefined);
    for (let before = -1; before !== piecesAsked;) {
      before = piecesAsked;
      await turnsOfLoop(200);
    }
    clock.advance(limits.mailboxStallMs);
    await returned.fired;
    await turnsOfLoop(1);
    expect(open.gateway.count("slow_consumer")).toBe(1);
  });

  it.each([
    ["throws", "body: broken"],
    ["gives what is no piece", "body: expected pieces of text or bytes, got number"],
  ])("that %s is cut, and is a fault of the plugin", async (what, message) => {
    const open = await routeGateway();
    async function* faulty(): AsyncGenerator<string> {
      yield "first";
      if (what === "throws") throw new Error("broken");
      yield 5 as unknown as string;
    }
    open.route("GET /", () => ({ body: faulty() }));
    const response = await open.ask("/plugins/p");
    await expect(response.text()).rejects.toThrow("terminated");
    expect(open.host.faults).toEqual([`p: route GET /plugins/p: ${message}`]);
  });

  it("is not begun for a HEAD", async () => {
    const open = await routeGateway();
    const pieces = new Pieces();
    open.route("GET /", () => ({ body: pieces }));
    const response = await open.ask("/plugins/p", { method: "HEAD" });
    await pieces.returned.fired;
    expect([response.status, pieces.asked]).toEqual([200, 0]);
  });
});

describe("an answer that does not come", () => {
  it("is given up after 30 s with 504, and what comes of it later is not read", async () => {
    const clock = loopClock();
    const open = await routeGateway({ clock, pingIntervalMs: 0 });
    const called = new Signal();
    const pieces = new Pieces();
    let signal: AbortSignal | undefined;
    let answer: ((given: RouteResponse) => void) | undefined;
    open.route("GET /", (request) => {
      signal = request.signal;
      called.fire();
      return new Promise((resolve) => (answer = resolve));
    });
    const asked = open.ask("/plugins/p");
    await called.fired;
    clock.advance(limits.routeAnswerMs - 1);
    expect(signal?.aborted).toBe(false);
    clock.advance(1);
    expect(await refusalOf(await asked)).toEqual([504, "plugin_timeout"]);
    expect(signal?.aborted).toBe(true);
    answer?.({ body: pieces });
    await pieces.returned.fired;
    expect(open.host.faults).toEqual(["p: route GET /plugins/p: no answer within 30000 ms"]);
  });

  it.each([
    ["the gateway is closed", "shutting_down", (open: RouteGateway) => void open.gateway.close()],
    ["the route is taken away", "plugin_lost", (_: RouteGateway, undo: () => void) => undo()],
  ])("is a 503 when %s: %s", async (_, word, act) => {
    const open = await routeGateway();
    const called = new Signal();
    const undo = open.route("GET /", () => {
      called.fire();
      return new Promise<never>(() => undefined);
    });
    const asked = open.ask("/plugins/p");
    await called.fired;
    act(open, undo);
    expect(await refusalOf(await asked)).toEqual([503, word]);
  });

  it("aborts the plugin's signal when whoever asked leaves", async () => {
    const open = await routeGateway();
    const [called, aborted] = [new Signal(), new Signal()];
    open.route("GET /", ({ signal }) => {
      signal.addEventListener("abort", () => aborted.fire());
      called.fire();
      return new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(new Error("gone"))));
    });
    const { request } = handMade(open, "/plugins/p", { headers: bearer });
    request.on("error", () => undefined).end();
    await called.fired;
    request.destroy();
    await aborted.fired;
    expect(open.host.faults).toEqual([]);
  });

  it("a body that does not come is given up after 30 s with 408", async () => {
    const clock = loopClock();
    const open = await routeGateway({ clock, pingIntervalMs: 0 });
    open.route("POST /", () => ({ json: 1 }));
    open.route("GET /", () => ({ json: 1 }));
    const slow = handMade(open, "/plugins/p", { method: "POST", headers: { ...bearer, "content-length": "4" } });
    slow.request.write("ab");
    let isAnswered = false;
    void slow.response.then(() => (isAnswered = true));
    // Its first half has come when a request behind it is answered; then its time is over.
    while (!isAnswered) {
      await open.ask("/plugins/p");
      clock.advance(limits.routeBodyMs);
    }
    expect((await slow.response).statusCode).toBe(408);
  });
});

it("I8 one caller has 64 requests open; others are answered", async () => {
  const open = await routeGateway({ auth: people });
  let called = 0;
  const all = new Signal();
  open.route("GET /wait", ({ signal }) => {
    if (++called === limits.maxRouteRequestsPerCaller) all.fire();
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve({})));
  });
  open.route("GET /", () => ({ json: 1 }), { scope: "read" });
  const waiting = Array.from({ length: limits.maxRouteRequestsPerCaller }, () => {
    const made = handMade(open, "/plugins/p/wait", { headers: bearer });
    made.request.on("error", () => undefined).end();
    return made;
  });
  await all.fired;
  expect(await refusalOf(await open.ask("/plugins/p"))).toEqual([429, "connection_limit"]);
  expect((await open.ask("/plugins/p", { as: "reader" })).status).toBe(200);
  for (const { request } of waiting) request.destroy();
  let status: number;
  do ({ status } = await open.ask("/plugins/p"));
  while (status === 429);
  expect(status).toBe(200);
});
