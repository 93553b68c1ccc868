import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root folder, with a slash at its end. */
export const rootFolder = fileURLToPath(new URL("../../", import.meta.url));

/** Folders that hold no file of ours. */
const foreign = new Set(["node_modules", "dist", "coverage", ".git"]);

/** Every file under a folder of the repository, as paths from the root with `/`, sorted. */
export function filesUnder(folder: string): readonly string[] {
  const found: string[] = [];
  for (const entry of readdirSync(join(rootFolder, folder), { withFileTypes: true })) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) {
      if (!foreign.has(entry.name)) found.push(...filesUnder(path));
    } else if (entry.isFile()) {
      found.push(path);
    }
  }
  return found.toSorted();
}

/** What the package is built from: the four folders and the two files above them. */
export function sourceFiles(): readonly string[] {
  return filesUnder("").filter((path) => /^((core|rooms|observers|plugins)\/.*|index|bin)\.tsx?$/.test(path));
}

/** @param path from the root */
export function readText(path: string): string {
  return readFileSync(join(rootFolder, path), "utf8");
}
