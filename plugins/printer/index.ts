import { eventText } from "../event-text.ts";
import { definePlugin, type Plugin } from "../plugin.ts";

/** How the printer reaches its reader. */
export interface PrinterOptions {
  /** Takes a line without its line break. What it returns is awaited before the next event. */
  readonly write: (line: string) => unknown;
}

/** The built-in `printer`: each activity event as JSON on a line, fields whole. It needs the grant `full`. */
export function printer(options: PrinterOptions): Plugin<undefined> {
  return definePlugin({
    id: "printer",
    version: "1.0.0",
    setup(context) {
      context.on("*", (event) => options.write(eventText(event)), { payload: "full" });
    },
  });
}
