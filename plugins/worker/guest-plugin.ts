import { messageOf, RoomtapError, systemClock } from "../../core/index.ts";
import { checkPlugin, configOf } from "../entry.ts";
import { importPlugin } from "../import-plugin.ts";
import { PluginRun } from "../plugin-run.ts";
import type { AnyPlugin, Plugin } from "../plugin.ts";
import { runCommand } from "../run-command.ts";
import { faultData } from "./fault-data.ts";
import { GuestBodies } from "./guest-bodies.ts";
import type { GuestLine } from "./guest-line.ts";
import { answerRequest } from "./guest-routes.ts";
import type { Served } from "./line.ts";
import type { GuestSide } from "./messages.ts";
import { RemoteServices } from "./remote-services.ts";

/** A plugin in its worker: what the host asks of it. Its time is the system's. */
export function guestPlugin(line: GuestLine): Served<GuestSide> {
  const bodies = new GuestBodies();
  let plugin: Plugin | null = null;
  let config: unknown;
  let begun: { readonly run: PluginRun; readonly services: RemoteServices } | null = null;
  const read = (): Plugin => present(plugin, "its file was not read");
  const atWork = (): NonNullable<typeof begun> => present(begun, "it is not set up");
  return {
    async load({ file }) {
      plugin = checkPlugin((await importPlugin(file, { anew: false })) as AnyPlugin);
      const { id, version, manifest } = plugin;
      return { id, version, manifest: plainManifest(id, manifest) };
    },
    async check({ config: given }) {
      config = await configOf(read(), given);
      return undefined;
    },
    async setup({ permit, stepMs }) {
      const { id } = read();
      const services = new RemoteServices(id, line, systemClock);
      const onFailure = (message: string, cause: unknown): void => {
        const { stack } = faultData(cause);
        line.note("fault", { message, ...(stack === undefined ? {} : { stack }) });
      };
      begun = { services, run: new PluginRun({ id, permit, services, clock: systemClock, stepMs, onFailure }) };
      await begun.run.setup(read(), config);
      await services.confirmed();
      return undefined;
    },
    async ready() {
      await atWork().run.ready();
      return undefined;
    },
    async drain({ deadlineMs }) {
      await atWork().run.drain(deadlineMs);
      return undefined;
    },
    async unload() {
      await begun?.run.unload();
      bodies.stopAll();
      return undefined;
    },
    ping: () => undefined,
    batch: ({ registration, events }) => atWork().services.batch(registration, events),
    request: ({ registration, request }, signal) =>
      answerRequest(atWork().services.route(registration), request, signal, bodies),
    pull: ({ body }) => bodies.pull(body),
    command: ({ registration, args, caller }, signal) =>
      runCommand(read().id, atWork().services.command(registration), { args, caller, signal }),
    stop: ({ body }) => bodies.stop(body),
  };
}

function present<Value>(value: Value | null, why: string): Value {
  if (value !== null) return value;
  throw new RoomtapError("closed", why);
}

/** @throws RoomtapError `invalid_plugin` for one that cannot leave the worker */
function plainManifest(id: string, manifest: unknown): unknown {
  try {
    return structuredClone(manifest);
  } catch (fault) {
    throw new RoomtapError("invalid_plugin", `plugin ${id}: manifest: expected plain data: ${messageOf(fault)}`);
  }
}
