import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** This folder, as it is built, from where the sources are. */
const here = fileURLToPath(new URL(".", import.meta.url));
const built = fileURLToPath(new URL("../dist/plugins/", import.meta.url));

/**
 * Path of something that the build makes: a program of a thread or of a child, which Node 20 does not read as TypeScript, or
 * the page. It stands beside what uses it; run from the sources, it is the one in `dist`.
 * @param name its path in the folder of plugins
 */
export function builtFile(name: string): string {
  const beside = `${here}${name}`;
  return existsSync(beside) ? beside : `${built}${name}`;
}
