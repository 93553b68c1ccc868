import { limits, RoomtapError, scopes, type Clock, type Undo } from "../core/index.ts";
import { kindsOf } from "./patterns.ts";
import { grantsOf, permittedOptions, type Permit } from "./permit.ts";
import type { BatchOptions, Command, HandlerOptions, PluginContext, RouteOptions } from "./plugin.ts";
import type { Registrations } from "./registrations.ts";
import { routePath, serverPathProblem } from "./route-path.ts";
import type { PluginServices, RouteRegistration } from "./services.ts";
import { shown } from "./shown.ts";

/** What a context is made of. */
export interface ContextParts {
  readonly id: string;
  readonly permit: Permit;
  readonly services: PluginServices;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly registrations: Registrations;
  readonly onReady: PluginContext["onReady"];
  readonly onDrain: PluginContext["onDrain"];
  readonly defer: PluginContext["defer"];
}

type AnyHandler = (event: never) => unknown;
type AnyOptions = HandlerOptions | BatchOptions;

/**
 * What a plugin is handed. All that does not need the host is checked here, in the plugin's own thread: what is wrong throws
 * where it is written, also in a worker.
 */
export function pluginContext(parts: ContextParts): PluginContext {
  const { id, services, clock, signal, onReady, onDrain, defer } = parts;
  const on = (pattern: string | readonly string[], handler: AnyHandler, options: AnyOptions = {}): Undo =>
    addHandler(parts, { pattern, handler, options });
  return {
    id,
    grants: grantsOf(parts.permit),
    clock,
    signal,
    // The patterns say which events come, and its type says the same to the handler.
    on: on as PluginContext["on"],
    onReady,
    onDrain,
    defer,
    logger: services.logger,
    storage: services.storage,
    rooms: {
      list: () => services.rooms(),
      state: (roomId) => services.roomState(roomId),
      log: (roomId, page = {}) => services.roomLog(roomId, page),
    },
    requests: {
      open: () => services.openRequests(),
      answer: async (requestId, answer) => {
        if (!parts.permit.answers) throw notGranted(id, 'to answer requests it needs the grant "answer"');
        return services.answer(requestId, answer);
      },
    },
    routes: {
      add: (method, path, handler, options = {}) => addRoute(parts, { method, path, handler }, options),
    },
    commands: { add: (command) => addCommand(parts, command) },
    stats: () => services.stats(),
  };
}

function addHandler(
  { id, permit, services, registrations, signal }: ContextParts,
  given: {
    readonly pattern: string | readonly string[];
    readonly handler: AnyHandler;
    readonly options: AnyOptions;
  },
): Undo {
  checkOpen(id, signal);
  const { pattern, handler, options } = given;
  if (typeof handler !== "function") {
    throw new RoomtapError("invalid_params", `plugin ${id}: expected a function as handler, got ${typeof handler}`);
  }
  const { kinds, ...shownAs } = permittedOptions({ ...options, kinds: kindsOf(pattern) }, permit);
  const registration = { kinds, options: { ...options, ...shownAs }, handler };
  return registrations.add("handlers", () => services.observe(registration));
}

function addRoute(
  { id, permit, services, registrations, signal }: ContextParts,
  { method, path, handler }: Omit<RouteRegistration, "options">,
  { scope = "admin", at = "plugin" }: RouteOptions,
): Undo {
  checkOpen(id, signal);
  const route = { method: String(method).toUpperCase(), path, handler, options: { scope, at } };
  const problem = routeProblem(route);
  if (problem !== null) throw new RoomtapError("invalid_params", `plugin ${id}: route ${path}: ${problem}`);
  if (!permit.routes) throw notGranted(id, 'to serve routes it needs the grant "routes"');
  if (at === "server" && !permit.paths.includes(path)) {
    throw notGranted(id, `its manifest's permissions.routes do not list ${path}`);
  }
  return registrations.add("routes", () => services.addRoute(route));
}

function addCommand({ id, services, registrations, signal }: ContextParts, command: Command): Undo {
  checkOpen(id, signal);
  const problem = commandProblem(command);
  if (problem !== null) throw new RoomtapError("invalid_params", `plugin ${id}: ${problem}`);
  return registrations.add("commands", () => services.addCommand(command));
}

/** @throws RoomtapError `closed` */
function checkOpen(id: string, signal: AbortSignal): void {
  if (signal.aborted) throw new RoomtapError("closed", `plugin ${id} is unloaded`);
}

function notGranted(id: string, why: string): RoomtapError {
  return new RoomtapError("not_granted", `plugin ${id}: ${why}`);
}

const routeMethods = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** What is wrong with a route, in words; null when nothing is. */
function routeProblem({ method, path, handler, options: { scope, at } }: RouteRegistration): string | null {
  if (!routeMethods.includes(method)) return `expected a method of ${routeMethods.join(", ")}, got ${shown(method)}`;
  if (typeof path !== "string" || path === "" || path.length > limits.maxRoutePathUnits || !routePath.test(path)) {
    return "expected a path such as /, /rooms/:room_id or /files/*";
  }
  if (typeof handler !== "function") return `expected a function as handler, got ${typeof handler}`;
  const words: readonly string[] = [...scopes, "public"];
  if (!words.includes(scope)) return `scope: no such word ${shown(scope)}; known: ${words.join(", ")}`;
  if (at === "server") return serverPathProblem(path);
  return at === "plugin" ? null : `at: expected plugin or server, got ${shown(at)}`;
}

const commandName = /^[a-z][a-z0-9-]{0,63}$/;

function commandProblem(command: Command): string | null {
  if (typeof command !== "object" || command === null) return `expected a command, got ${shown(command)}`;
  const { name, summary, scope = "admin" } = command;
  if (typeof name !== "string" || !commandName.test(name)) {
    return `command: name: expected lower-case letters, digits and -, got ${shown(name)}`;
  }
  if (typeof summary !== "string" || summary === "") return `command ${name}: summary: expected a line of text`;
  if (!scopes.includes(scope))
    return `command ${name}: scope: no such word ${shown(scope)}; known: ${scopes.join(", ")}`;
  return typeof command.run === "function" ? null : `command ${name}: run: expected a function`;
}
