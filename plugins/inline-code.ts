import { checkPlugin, configOf } from "./entry.ts";
import type { InstanceParts, LoadedCode, PluginInstance } from "./instance.ts";
import { PluginRun } from "./plugin-run.ts";
import type { AnyPlugin, Plugin } from "./plugin.ts";
import type { PluginServices } from "./services.ts";

/** Runs a plugin's code; says whose it is when something goes wrong later. */
export type Guard = <Result>(run: () => Result) => Result;

/**
 * A plugin in the host's own thread.
 * @param guard what its code is entered through
 * @throws RoomtapError `invalid_plugin`
 */
export function inlineCode(given: AnyPlugin, guard: (parts: InstanceParts) => Guard): LoadedCode {
  const plugin = checkPlugin(given);
  const { id, version, manifest } = plugin;
  return {
    about: { id, version, manifest },
    instance: (parts) => new InlineInstance(plugin, parts, guard(parts)),
    discard: async () => undefined,
  };
}

class InlineInstance implements PluginInstance {
  readonly #plugin: Plugin;
  readonly #run: PluginRun;
  readonly #guard: Guard;
  readonly #given: unknown;
  #config: unknown;

  constructor(plugin: Plugin, parts: InstanceParts, guard: Guard) {
    const { id, permit, services, clock, stepMs, onFault: onFailure, config } = parts;
    this.#plugin = plugin;
    this.#guard = guard;
    this.#given = config;
    this.#run = new PluginRun({ id, permit, services: guardedServices(services, guard), clock, stepMs, onFailure });
  }

  async check(): Promise<void> {
    this.#config = await this.#guard(() => configOf(this.#plugin, this.#given));
  }

  setup(): Promise<void> {
    return this.#guard(() => this.#run.setup(this.#plugin, this.#config));
  }

  ready(): Promise<void> {
    return this.#guard(() => this.#run.ready());
  }

  drain(deadlineMs: number): Promise<void> {
    return this.#guard(() => this.#run.drain(deadlineMs));
  }

  unload(): Promise<void> {
    return this.#guard(() => this.#run.unload());
  }
}

/** What the host calls of a plugin later it enters through the guard as well. */
function guardedServices(services: PluginServices, guard: Guard): PluginServices {
  return {
    logger: services.logger,
    storage: services.storage,
    stats: () => services.stats(),
    rooms: () => services.rooms(),
    roomState: (roomId) => services.roomState(roomId),
    roomLog: (roomId, page) => services.roomLog(roomId, page),
    openRequests: () => services.openRequests(),
    answer: (id, answer) => services.answer(id, answer),
    observe: (registration) =>
      services.observe({ ...registration, handler: (event) => guard(() => registration.handler(event)) }),
    addRoute: (route) => services.addRoute({ ...route, handler: (request) => guard(() => route.handler(request)) }),
    addCommand: (command) => services.addCommand({ ...command, run: (call) => guard(() => command.run(call)) }),
  };
}
