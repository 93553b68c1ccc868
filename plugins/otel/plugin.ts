import { otel } from "./index.ts";

/** What a host finds at `builtin:otel`. */
const plugin = otel();

export default plugin;
