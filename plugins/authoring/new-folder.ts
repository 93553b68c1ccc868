import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { RoomtapError } from "../../core/index.ts";

/**
 * Writes a folder of files, all of them or none: they are written beside it, and put in its place at once.
 * @param files texts by path in the folder
 * @throws RoomtapError `invalid_params` when something is there already; what the file system throws
 */
export function writeFolder(folder: string, files: ReadonlyMap<string, string>): void {
  const place = resolve(folder);
  refuseTaken(place);
  mkdirSync(dirname(place), { recursive: true });
  const draft = mkdtempSync(join(dirname(place), `.${basename(place)}-`));
  try {
    const whole = join(draft, "new");
    for (const [path, text] of files) {
      const file = join(whole, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    // One that is there is empty; should somebody write into it meanwhile, it is not removed.
    if (existsSync(place)) rmdirSync(place);
    renameSync(whole, place);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function refuseTaken(place: string): void {
  if (!existsSync(place)) return;
  if (!statSync(place).isDirectory()) throw taken(place, "a file of this name");
  const [first] = readdirSync(place);
  if (first !== undefined) throw taken(place, `a folder with ${first} in it`);
}

function taken(place: string, found: string): RoomtapError {
  return new RoomtapError("invalid_params", `${place}: expected nothing there, or an empty folder; found ${found}`, {
    remedy: "Choose another name, or another folder with --dir.",
  });
}
