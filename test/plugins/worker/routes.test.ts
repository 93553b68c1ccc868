/** Routes of a plugin in a worker: clients that leave cost it nothing, and mistakes of an answer stay mistakes. */
import { beforeEach, describe, expect, it } from "vitest";
import { limits } from "../../../core/index.ts";
import { operator, PluginBench } from "../../support/plugin-files.ts";
import type { RouteResponse } from "../../../plugins/index.ts";

type Body = AsyncIterable<string | Uint8Array>;

describe("routes in a worker", () => {
  let bench: PluginBench;
  const ask = async (path: string, signal = new AbortController().signal): Promise<RouteResponse> => {
    const match = bench.host.routes.match("GET", `/plugins/p${path}`);
    if (match === null || !("route" in match)) throw new Error(`no route for ${path}`);
    const request = {
      ...{ method: "GET", path, params: {}, query: {}, headers: {}, body: "" },
      caller: operator,
      signal,
    };
    return match.route.handler(request);
  };
  /** So many ask and leave once `hasBegun`; more than may be open at a time. */
  const askAndLeave = async (path: string, hasBegun: () => Promise<unknown>): Promise<void> => {
    for (let round = 0; round < 2; round++) {
      const controller = new AbortController();
      const asked = Array.from({ length: limits.maxWorkerCalls - 1 }, () =>
        ask(path, controller.signal).catch(() => null),
      );
      await hasBegun();
      controller.abort();
      await Promise.all(asked);
      await bench.until(() => true);
      await ask("/ok").catch(() => undefined);
    }
  };
  const expectHealthy = async (): Promise<void> => {
    await bench.until(() => true);
    expect(await ask("/ok")).toEqual({ json: "ok" });
    expect(bench.host.list()[0]).toMatchObject({ state: "running", restarts: 0 });
    expect(bench.bus.notices).toEqual([]);
  };
  const ok = `ctx.routes.add("GET", "/ok", () => ({ json: "ok" }));`;

  beforeEach(() => {
    bench = new PluginBench();
  });

  it("serve the next one after more than 1,024 left while the route never answered", async () => {
    await bench.load("p", `${ok} ctx.routes.add("GET", "/never", () => new Promise(() => undefined));`);
    await askAndLeave("/never", () => ask("/ok"));
    expect(await ask("/ok")).toEqual({ json: "ok" });
    await expectHealthy();
  });

  it("serve the next one after more than 1,024 left a stream whose next piece never comes", async () => {
    await bench.load(
      "p",
      `${ok} ctx.routes.add("GET", "/stream", () => ({ body: (async function* () { yield "first"; await new Promise(() => undefined); })() }));`,
    );
    for (let round = 0; round < 2; round++) {
      const controller = new AbortController();
      const readers = Array.from({ length: 600 }, async () => {
        const iterator = ((await ask("/stream", controller.signal)).body as Body)[Symbol.asyncIterator]();
        const first = await iterator.next();
        const next = iterator.next().catch(() => "left");
        return { first, next };
      });
      const read = await Promise.all(readers);
      expect(read.every(({ first }) => first.value === "first")).toBe(true);
      controller.abort();
      expect(new Set(await Promise.all(read.map(({ next }) => next)))).toEqual(new Set(["left"]));
      await ask("/ok").catch(() => undefined);
    }
    await expectHealthy();
  });

  it("end a stream that comes after its client left: the next one still gets one", async () => {
    await bench.load(
      "p",
      `${ok} let open = [];
      ctx.routes.add("GET", "/open", () => { for (const go of open.splice(0)) go(); return {}; });
      ctx.routes.add("GET", "/late", () => new Promise((resolve) => open.push(() => resolve({ body: (async function* () { yield "piece"; })() }))));`,
    );
    await askAndLeave("/late", () => ask("/ok"));
    await ask("/open");
    const last = ask("/late");
    await ask("/open");
    const pieces: unknown[] = [];
    for await (const piece of (await last).body as Body) pieces.push(piece);
    expect(pieces).toEqual(["piece"]);
    await expectHealthy();
  });

  it("end a stream whose answer crosses the leaving, and one of which nothing is read", async () => {
    await bench.load(
      "p",
      `${ok} ctx.routes.add("GET", "/stream", ({ signal }) => {
        signal.addEventListener("abort", () => note("ended"));
        return { body: (async function* () { yield "piece"; })() };
      });`,
    );
    const controller = new AbortController();
    const crossing = ask("/stream", controller.signal).catch(() => "left");
    await ask("/ok").then(() => controller.abort());
    await crossing;
    const unread = ((await ask("/stream")).body as Body)[Symbol.asyncIterator]();
    await unread.return?.();
    expect(await bench.untilNoted(2)).toEqual(["ended", "ended"]);
    await expectHealthy();
  });

  it.each([
    ["a status that is a text", `{ json: 1, status: "200" }`, "status: expected a number, got string"],
    ["a header that is a number", `{ json: 1, headers: { "x-n": 5 } }`, "headers: x-n: expected a text, got number"],
    ["a header that is a list", `{ headers: { "set-cookie": ["a", "b"] } }`, "headers: set-cookie: expected a text"],
    ["headers that are none", `{ headers: "x" }`, "headers: expected an object"],
    ["a function as JSON", `{ json: () => 1 }`, "json: expected a value that JSON has"],
    ["a body that is none", `{ body: 5 }`, "body: expected a text, bytes or an async iterable, got number"],
    ["no object", `7`, "expected { status?, headers?, json? or body? }, got number"],
  ])("tell %s as a failure of the plugin, and its worker stays", async (_, answer, message) => {
    await bench.load("p", `${ok} ctx.routes.add("GET", "/wrong", () => (${answer}));`);
    await expect(ask("/wrong")).rejects.toMatchObject({
      code: "plugin_failed",
      message: expect.stringContaining(message) as string,
    });
    await expectHealthy();
  });

  it("send of a view nothing but its own bytes, whole or as pieces", async () => {
    const size = 3 * limits.maxWorkerPieceBytes;
    await bench.load(
      "p",
      `${ok} const large = Buffer.alloc(${size} + 1_000, 97);
      ctx.routes.add("GET", "/whole", () => ({ body: large.subarray(0, 3) }));
      ctx.routes.add("GET", "/pieces", () => ({ body: (async function* () { yield large.subarray(0, ${size}); })() }));`,
    );
    const whole = (await ask("/whole")).body as Uint8Array;
    expect([whole, whole.buffer.byteLength]).toEqual([new Uint8Array([97, 97, 97]), 3]);
    const carried: number[][] = [];
    for await (const piece of (await ask("/pieces")).body as AsyncIterable<Uint8Array>) {
      carried.push([piece.length, piece.buffer.byteLength]);
    }
    const most = limits.maxWorkerPieceBytes;
    expect(carried).toEqual([1, 2, 3].map(() => [most, most]));
    await expectHealthy();
  });
});
