/** What a plugin's worker runs. The first message brings the port of its line to the host. */
import { MessagePort, parentPort } from "node:worker_threads";
import { z } from "zod";
import { limits, RoomtapError, systemClock } from "../../core/index.ts";
import { boundOutput } from "./bound-output.ts";
import { guestPlugin } from "./guest-plugin.ts";
import { Line } from "./line.ts";
import { guestSide, hostSide } from "./messages.ts";

const firstSchema = z.strictObject({ port: z.instanceof(MessagePort) });

// Before any code of the plugin can print.
boundOutput(process.stdout, systemClock);
boundOutput(process.stderr, systemClock);

parentPort?.once("message", (first: unknown) => {
  const { port } = firstSchema.parse(first);
  closeParentPort();
  const line = new Line({
    port,
    mine: guestSide,
    theirs: hostSide,
    maxCallBytes: limits.maxWorkerCallBytes,
    onBroken: (why) => {
      throw new RoomtapError("internal", `the host sent ${why}`);
    },
  });
  line.serve(guestPlugin(line));
});

/** Nobody listens there: what a plugin posted would be copied for nobody. */
function closeParentPort(): void {
  if (parentPort === null) return;
  parentPort.close();
  parentPort.postMessage = () => {
    throw new RoomtapError("invalid_params", "a plugin in a worker talks to its host by its context alone");
  };
}
