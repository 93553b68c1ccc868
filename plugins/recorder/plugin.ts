import { recorder } from "./index.ts";

/** What a host finds at `builtin:recorder`. */
const plugin = recorder();

export default plugin;
