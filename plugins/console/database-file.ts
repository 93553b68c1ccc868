import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The path given, or a file in a folder of its own that `remove` takes away again. */
export function databaseFile(given: string | undefined): { readonly file: string; readonly remove: () => void } {
  if (given !== undefined) return { file: given, remove: () => undefined };
  const folder = mkdtempSync(join(tmpdir(), "roomtap-"));
  return { file: join(folder, "demo.db"), remove: () => rmSync(folder, { recursive: true, force: true }) };
}
