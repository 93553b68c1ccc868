import { describe, expect, it } from "vitest";
import { fragmentOf, routeOf, ticketOf, type Route } from "../../../../plugins/inspector/web/route.ts";

const routes: readonly (readonly [string, Route])[] = [
  ["#/rooms", { view: "rooms" }],
  ["#/approvals", { view: "approvals" }],
  ["#/consumers", { view: "consumers" }],
  ["#/plugins", { view: "plugins" }],
  ["#/rooms/r1", { view: "room", roomId: "r1" }],
  ["#/rooms/a%2Fb%20c", { view: "room", roomId: "a/b c" }],
  ["#/rooms/r1/log", { view: "log", roomId: "r1" }],
  ["#/rooms/r1/turns/t%231", { view: "turn", roomId: "r1", turnId: "t#1" }],
];

describe("a route of the page", () => {
  it.each(routes)("%s is read and written", (fragment, route) => {
    expect([routeOf(fragment), fragmentOf(route)]).toEqual([route, fragment]);
  });

  it.each(["", "#", "#/", "#/nowhere", "#/rooms/", "#/rooms/%zz", "#ticket=abc"])(
    "%j is the list of rooms",
    (fragment) => {
      expect(routeOf(fragment)).toEqual({ view: "rooms" });
    },
  );

  it.each([
    ["#ticket=Ab_-9", "Ab_-9"],
    ["#ticket=", null],
    ["#ticket=a b", null],
    ["#/rooms", null],
    ["", null],
  ])("of %j the ticket is %j", (fragment, ticket) => {
    expect(ticketOf(fragment)).toBe(ticket);
  });
});
