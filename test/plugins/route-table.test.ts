import { describe, expect, it } from "vitest";
import { RouteTable } from "../../plugins/route-table.ts";

const route = (method: string, path: string, at: "plugin" | "server" = "plugin") => ({
  ...{ method, path, options: { scope: "admin" as const, at } },
  handler: () => ({}),
});

function tableOf(...lines: readonly string[]): RouteTable {
  const table = new RouteTable();
  for (const line of lines) {
    const [plugin = "", method = "", path = "", at] = line.split(" ");
    table.add(plugin, route(method, path, at === "server" ? at : "plugin"));
  }
  return table;
}

/** What a request is for: the route's own path, and what stands in it. */
function matched(table: RouteTable, method: string, pathname: string): unknown {
  const match = table.match(method, pathname);
  return match === null || !("route" in match) ? match : [match.plugin, match.route.path, match.path, match.params];
}

describe("a route", () => {
  const table = tableOf(
    "a GET /",
    "a GET /rooms/:room_id",
    "a GET /rooms/all",
    "a POST /rooms/all",
    "a GET /files/*",
    "b GET /",
    "b GET /metrics server",
  );

  it.each([
    ["GET", "/plugins/a", ["a", "/", "/", {}]],
    ["GET", "/plugins/a/", ["a", "/", "/", {}]],
    ["HEAD", "/plugins/a", ["a", "/", "/", {}]],
    ["GET", "/plugins/a/rooms/x%20y", ["a", "/rooms/:room_id", "/rooms/x y", { room_id: "x y" }]],
    ["GET", "/plugins/a/rooms/all", ["a", "/rooms/all", "/rooms/all", {}]],
    ["GET", "/plugins/a/files", ["a", "/files/*", "/files", { "*": "" }]],
    ["GET", "/plugins/a/files/x/y", ["a", "/files/*", "/files/x/y", { "*": "x/y" }]],
    ["GET", "/metrics", ["b", "/metrics", "/metrics", {}]],
    ["PUT", "/plugins/a/rooms/all", ["GET", "HEAD", "POST"]],
    ["POST", "/plugins/a", ["GET", "HEAD"]],
    ["GET", "/plugins/a/nothing", []],
    ["GET", "/plugins/c", null],
    ["GET", "/plugins", null],
    ["GET", "/", null],
    ["GET", "/plugins/a/files/..%2fx", null],
    ["GET", "/plugins/a/files/%2e%2e", null],
    ["GET", "/plugins/a/%", null],
  ])("of %s %s", (method, pathname, expected) => {
    expect(matched(table, method, pathname)).toEqual(expected);
  });

  it("that differs from another one's in nothing but names is refused, saying whose that is", () => {
    expect(() => tableOf("a GET /:x", "a GET /:y")).toThrow("plugin a: it has a route GET /plugins/a/:y already");
    expect(() => tableOf("a GET /m server", "b GET /m server")).toThrow(
      "plugin b: plugin a has a route GET /m already",
    );
  });

  it("that is taken away is found no more, tells those it serves, and takes no newer one along", () => {
    const own = new RouteTable();
    const undo = own.add("a", route("GET", "/"));
    const match = own.match("GET", "/plugins/a");
    undo();
    expect(match).toMatchObject({ removed: { aborted: true } });
    expect(own.match("GET", "/plugins/a")).toBeNull();
    own.add("a", route("GET", "/"));
    undo();
    expect(matched(own, "GET", "/plugins/a")).toEqual(["a", "/", "/", {}]);
  });
});
