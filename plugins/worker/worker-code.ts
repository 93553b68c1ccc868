import { RoomtapError, type Clock } from "../../core/index.ts";
import type { InstanceParts, LoadedCode, PluginAbout, PluginInstance } from "../instance.ts";
import { GuestThread } from "./guest-thread.ts";
import { WorkerInstance } from "./worker-instance.ts";

/**
 * Reads a plugin's file in a thread of its own.
 * @throws RoomtapError `invalid_plugin`, with what it threw; `plugin_lost` when the thread ended over it
 */
export async function workerCode(file: string, clock: Clock): Promise<LoadedCode> {
  const guest = new GuestThread(file, clock);
  try {
    return new WorkerCode(file, guest, await guest.load());
  } catch (fault) {
    await guest.end("it could not be read");
    throw fault;
  }
}

class WorkerCode implements LoadedCode {
  readonly about: PluginAbout;
  readonly #file: string;
  readonly #guest: GuestThread;

  constructor(file: string, guest: GuestThread, about: PluginAbout) {
    this.about = about;
    this.#file = file;
    this.#guest = guest;
  }

  instance(parts: InstanceParts): PluginInstance {
    return new WorkerInstance(this.#file, this.#guest, parts);
  }

  async discard(): Promise<void> {
    await this.#guest.end("it is not used", new RoomtapError("closed", "the plugin is not used"));
  }
}
