import { RoomtapError, type Clock } from "../../core/index.ts";
import type { LoadedCode } from "../instance.ts";

/** A plugin in a thread of its own. */
export async function workerCode(file: string, _clock: Clock): Promise<LoadedCode> {
  throw new RoomtapError("invalid_plugin", `plugin at ${file}: workers are not built yet`);
}
