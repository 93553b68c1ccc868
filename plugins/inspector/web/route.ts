/** What the page shows. It stands in the fragment, which no server is sent. */
export type Route =
  | { readonly view: "rooms" | "approvals" | "consumers" | "plugins" }
  | { readonly view: "room" | "log"; readonly roomId: string }
  | { readonly view: "turn"; readonly roomId: string; readonly turnId: string };

/** `#/rooms/ID/turns/TURN`. What is none of these is the list of rooms. */
export function routeOf(fragment: string): Route {
  const parts = fragment.replace(/^#\/?/, "").split("/").map(decoded);
  const [first = "", roomId = "", third = "", turnId = ""] = parts;
  if (first === "approvals" || first === "consumers" || first === "plugins") return { view: first };
  if (first !== "rooms" || roomId === "") return { view: "rooms" };
  if (third === "log") return { view: "log", roomId };
  return third === "turns" && turnId !== "" ? { view: "turn", roomId, turnId } : { view: "room", roomId };
}

/** The fragment of a route. */
export function fragmentOf(route: Route): string {
  if (!("roomId" in route)) return `#/${route.view}`;
  const room = `#/rooms/${encodeURIComponent(route.roomId)}`;
  if (route.view === "turn") return `${room}/turns/${encodeURIComponent(route.turnId)}`;
  return route.view === "log" ? `${room}/log` : room;
}

/** The one-time ticket that a link brings; null when there is none. */
export function ticketOf(fragment: string): string | null {
  return /^#ticket=([\w-]+)$/.exec(fragment)?.[1] ?? null;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}
