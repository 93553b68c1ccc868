import { join, relative, resolve } from "node:path";
import { RoomtapError } from "../../core/index.ts";
import type { Output } from "../output.ts";
import { writeFolder } from "./new-folder.ts";
import { templateFiles } from "./templates.ts";

/** What `roomtap plugin new` is asked for. */
export interface NewOptions {
  readonly typescript?: boolean | undefined;
  /** Where its folder is made. Default: the current one. */
  readonly dir?: string | undefined;
  readonly json?: boolean | undefined;
}

/** A name that is one of a folder, of a package and of a plugin. */
const newName = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;

/**
 * Writes a new plugin, a whole package with a test, into a folder of its name.
 * @throws RoomtapError `invalid_params` for a name that is none, and when something stands there already
 */
export async function newPluginCommand(
  name: string,
  { typescript = false, dir = ".", json = false }: NewOptions,
  { output: { out, note }, version }: { readonly output: Output; readonly version: string },
): Promise<number> {
  if (!newName.test(name)) {
    throw new RoomtapError(
      "invalid_params",
      `a name: expected 1 to 64 of a-z 0-9 - beginning and ending with a letter or digit, got ${JSON.stringify(name)}`,
      { remedy: "Choose such a name: it is that of the folder, of the package and of the plugin." },
    );
  }
  const language = typescript ? "typescript" : "javascript";
  const files = templateFiles({ name, language, version });
  const folder = resolve(join(dir, name));
  writeFolder(folder, files);
  if (json) {
    await out(JSON.stringify({ name, folder, language, files: [...files.keys()] }));
    return 0;
  }
  const shownFolder = relative(process.cwd(), folder);
  for (const file of files.keys()) await out(join(shownFolder, file));
  note(`next: cd ${shownFolder} && npm install && npm test`);
  return 0;
}
