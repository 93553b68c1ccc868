import { inspectorPage } from "./page.ts";

/** What a host finds at `builtin:inspector`: the page. */
const plugin = inspectorPage();

export default plugin;
