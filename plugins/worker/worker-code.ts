import { RoomtapError, type Clock } from "../../core/index.ts";
import type { InstanceParts, LoadedCode, PluginAbout, PluginInstance } from "../instance.ts";
import { GuestThread } from "./guest-thread.ts";
import { WorkerInstance } from "./worker-instance.ts";

/**
 * Reads a plugin's file in a thread of its own.
 * @param closing of the host: what is being read then is ended, whatever it does
 * @throws RoomtapError `invalid_plugin`, with what it threw; `plugin_lost` when the thread ended over it
 */
export async function workerCode(file: string, clock: Clock, closing: AbortSignal): Promise<LoadedCode> {
  const guest = new GuestThread(file, clock);
  const onClosing = (): void => {
    void guest.end("the host is closed", new RoomtapError("closed", "the host is closed"));
  };
  if (closing.aborted) onClosing();
  else closing.addEventListener("abort", onClosing);
  try {
    return new WorkerCode(file, guest, await guest.load());
  } catch (fault) {
    await guest.end("it could not be read");
    throw fault;
  } finally {
    closing.removeEventListener("abort", onClosing);
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
