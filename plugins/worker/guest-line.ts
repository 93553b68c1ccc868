import type { Line } from "./line.ts";
import type { GuestSide, HostSide } from "./messages.ts";

/** The worker's end of the line. */
export type GuestLine = Line<GuestSide, HostSide>;
