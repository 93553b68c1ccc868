import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The version of this package, also where it runs from the sources. */
export function packageVersion(): string {
  const file = fileURLToPath(import.meta.resolve("roomtap/package.json"));
  return (JSON.parse(readFileSync(file, "utf8")) as { readonly version: string }).version;
}
