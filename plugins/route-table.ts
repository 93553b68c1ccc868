import { setMaxListeners } from "node:events";
import { RoomtapError, type Undo } from "../core/index.ts";
import type { RouteRegistration } from "./services.ts";

/** Where routes of plugins stand. */
export const pluginsPath = "/plugins";

/** A route that a request is for. */
export interface RouteMatch {
  readonly plugin: string;
  readonly route: RouteRegistration;
  /** The part of the request's path that the route's own path matched; begins with `/`. */
  readonly path: string;
  /** Aborted when the route is taken away. */
  readonly removed: AbortSignal;
  /** What stands in it for each name; for a star at the end under `*`. Decoded. */
  readonly params: Readonly<Record<string, string>>;
}

interface Entry {
  readonly plugin: string;
  readonly route: RouteRegistration;
  /** From the root of the server. */
  readonly segments: readonly string[];
  readonly removal: AbortController;
}

/** The routes of all plugins of a host. A literal segment goes before a name, and a name before a star. */
export class RouteTable {
  readonly #entries = new Map<string, Entry>();

  /** @throws RoomtapError `duplicate_id` for a path that differs from another one's in nothing but names */
  add(plugin: string, route: RouteRegistration): Undo {
    const whole = route.options.at === "server" ? route.path : `${pluginsPath}/${plugin}${route.path}`;
    const segments = segmentsOf(whole);
    const key = `${route.method} ${segments.map(shapeOf).join("/")}`;
    const other = this.#entries.get(key);
    if (other !== undefined) {
      const whose = other.plugin === plugin ? "it" : `plugin ${other.plugin}`;
      throw new RoomtapError("duplicate_id", `plugin ${plugin}: ${whose} has a route ${route.method} ${whole} already`);
    }
    const removal = new AbortController();
    // As many listen as requests are open.
    setMaxListeners(0, removal.signal);
    const entry = { plugin, route, segments, removal };
    this.#entries.set(key, entry);
    return () => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
      entry.removal.abort();
    };
  }

  /** Routes of one plugin, in order of registration. */
  of(plugin: string): readonly RouteRegistration[] {
    return [...this.#entries.values()].filter((entry) => entry.plugin === plugin).map(({ route }) => route);
  }

  /**
   * The route of a request: `HEAD` goes to that of `GET`. A list: the path is there, for these methods only; for none, when it
   * is below one of a plugin that has routes elsewhere. null: it is nobody's.
   * @param pathname as it stands in the URL, encoded
   */
  match(method: string, pathname: string): RouteMatch | readonly string[] | null {
    const given = decoded(pathname);
    if (given === null) return null;
    const fitting = [...this.#entries.values()]
      .filter(({ segments }) => fits(segments, given))
      .toSorted((a, b) => rankOf(a.segments).localeCompare(rankOf(b.segments)));
    const wanted = method === "HEAD" ? "GET" : method;
    const found = fitting.find(({ route }) => route.method === wanted);
    if (found !== undefined) return matchOf(found, given);
    if (fitting.length === 0) return this.#isBelowPlugin(given) ? [] : null;
    const methods = fitting.map(({ route }) => route.method);
    return [...new Set(methods.flatMap((each) => (each === "GET" ? ["GET", "HEAD"] : [each])))];
  }

  #isBelowPlugin([first, id]: readonly string[]): boolean {
    return `/${first}` === pluginsPath && [...this.#entries.values()].some(({ plugin }) => plugin === id);
  }
}

function segmentsOf(path: string): readonly string[] {
  return path.split("/").filter((segment) => segment !== "");
}

/** null for a path that cannot be decoded, and for one that could lead out of a folder once it is. */
function decoded(pathname: string): readonly string[] | null {
  try {
    const segments = segmentsOf(pathname).map(decodeURIComponent);
    return segments.some((segment) => /^\.{1,2}$|[/\\\0]/.test(segment)) ? null : segments;
  } catch {
    return null;
  }
}

const isName = (segment: string): boolean => segment.startsWith(":");

/** Names do not tell two paths apart. */
function shapeOf(segment: string): string {
  return isName(segment) ? ":" : segment;
}

/** Texts that sort as routes are tried. */
function rankOf(segments: readonly string[]): string {
  return segments.map((segment) => (segment === "*" ? "2" : isName(segment) ? "1" : "0")).join("");
}

function fits(segments: readonly string[], given: readonly string[]): boolean {
  const isOpen = segments.at(-1) === "*";
  const fixed = isOpen ? segments.slice(0, -1) : segments;
  if (isOpen ? given.length < fixed.length : given.length !== fixed.length) return false;
  return fixed.every((segment, at) => isName(segment) || segment === given[at]);
}

function matchOf({ plugin, route, segments, removal }: Entry, given: readonly string[]): RouteMatch {
  const params: Record<string, string> = {};
  for (const [at, segment] of segments.entries()) {
    if (segment === "*") params["*"] = given.slice(at).join("/");
    else if (isName(segment)) params[segment.slice(1)] = given[at] ?? "";
  }
  const own = route.options.at === "server" ? given : given.slice(2);
  return { plugin, route, removed: removal.signal, path: `/${own.join("/")}`, params };
}
