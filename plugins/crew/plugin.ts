import { crew } from "./crew.ts";

/** What a host finds at `builtin:crew`. */
const plugin = crew();

export default plugin;
