import { RoomtapError } from "../../core/index.ts";
import type { Seat, Sitter } from "./seats.ts";

/** Who sits there. @throws RoomtapError `plugin_lost` while the worker is started again */
export function present(id: string, { sitter }: Seat): Sitter {
  if (sitter !== null) return sitter;
  throw new RoomtapError("plugin_lost", `plugin ${id}: its worker ended, and is started again`);
}
