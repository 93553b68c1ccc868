import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of plugins that runs, and the built one beside the sources. */
const here = dirname(fileURLToPath(import.meta.url));
const built = join(here, "..", "dist", "plugins");

/**
 * Path of something that the build makes: a program of a thread or of a child, which Node 20 does not read as TypeScript, or
 * the page. It stands beside what uses it; run from the sources, it is the one in `dist`.
 * @param name its path in the folder of plugins
 */
export function builtFile(name: string): string {
  const beside = join(here, name);
  return existsSync(beside) ? beside : join(built, name);
}
