import { metrics } from "./index.ts";

/** What a host finds at `builtin:metrics`. */
const plugin = metrics();

export default plugin;
