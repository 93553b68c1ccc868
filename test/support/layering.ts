import { dirname, join } from "node:path/posix";
import type { ImportLine } from "./imports.ts";

/** Files of the repository, by path from its root, with what each of them imports. */
export type Tree = ReadonlyMap<string, readonly ImportLine[]>;

/** The folders that each layer may import; `index.ts` and `bin.ts` stand above them all. */
const below = new Map<string, readonly string[]>([
  ["core", []],
  ["rooms", ["core"]],
  ["observers", ["core"]],
  ["plugins", ["core", "rooms", "observers"]],
  ["index.ts", ["core", "rooms", "observers", "plugins"]],
  ["bin.ts", ["core", "rooms", "observers", "plugins", "index.ts"]],
]);

/** A config and a runner may be a module and a plugin is one, wherever it stands; which built-ins there are says a table. */
const computedImports: readonly string[] = [
  "plugins/built-ins.ts",
  "plugins/config.ts",
  "plugins/import-plugin.ts",
  "plugins/runners/module-runner.ts",
];

/** Folders of `plugins` that are no built-in, but part of the host. */
const hostFolders: readonly string[] = ["worker"];

/** Where an import leads: a file of ours, a package, a module of Node, or nowhere that can be told. */
export type Target =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "package" | "node"; readonly name: string }
  | { readonly kind: "computed" };

/** @param from the importing file's path. `./x.js` of a built worker is the file `./x.ts` it is made from. */
export function targetOf(from: string, specifier: string | null): Target {
  if (specifier === null) return { kind: "computed" };
  if (specifier.startsWith(".")) {
    return { kind: "file", path: join(dirname(from), specifier).replace(/\.js$/, ".ts") };
  }
  if (specifier.startsWith("node:")) return { kind: "node", name: specifier };
  const parts = specifier.split("/");
  return { kind: "package", name: parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/") };
}

/** What breaks the order of the folders or goes past a door: `file:line why`, sorted by file. */
export function brokenLayers(tree: Tree): readonly string[] {
  const offered = new Set((tree.get("plugins/index.ts") ?? []).flatMap(({ names }) => names));
  return findings(tree, (from, target, line) => {
    if (target.kind === "computed" && computedImports.includes(from)) return undefined;
    if (target.kind === "computed") return "a computed import: nobody can say where it leads";
    if (target.kind !== "file") return undefined;
    // What a page looks like is no source of ours.
    if (target.path.endsWith(".css")) return undefined;
    if (!tree.has(target.path)) return `no such source: ${target.path}`;
    return wrongWay(from, target.path) ?? pastDoor(from, target.path) ?? notOffered(from, target.path, line, offered);
  });
}

/** Packages used outside their home, undeclared ones, and modules of Node in core. A home of `*` is everywhere, one of `x/` a folder. */
export function strayPackages(tree: Tree, homes: Readonly<Record<string, string>>): readonly string[] {
  return findings(tree, (from, target) => {
    if (target.kind === "node") return layerOf(from) === "core" ? `core uses ${target.name}` : undefined;
    if (target.kind !== "package") return undefined;
    const home = Object.hasOwn(homes, target.name) ? homes[target.name] : undefined;
    if (home === undefined) return `${target.name} has no home`;
    const isHome = home === "*" || home === from || (home.endsWith("/") && from.startsWith(home));
    return isHome ? undefined : `${target.name} lives in ${home}`;
  });
}

/**
 * Each circle of imports that is there at run time, as its path. Types are erased; a URL names a file that runs elsewhere.
 */
export function cycles(tree: Tree): readonly string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at >= 0) found.push([...trail.slice(at), path].join(" -> "));
    if (at >= 0 || done.has(path)) return;
    for (const { form, specifier } of tree.get(path) ?? []) {
      const target = targetOf(path, specifier);
      if (form !== "url" && form !== "type" && target.kind === "file") walk(target.path, [...trail, path]);
    }
    done.add(path);
  };
  for (const path of tree.keys()) walk(path, []);
  return found;
}

function findings(
  tree: Tree,
  judge: (from: string, target: Target, line: ImportLine) => string | undefined,
): readonly string[] {
  return [...tree].flatMap(([from, lines]) =>
    lines.flatMap((line) => {
      const why = judge(from, targetOf(from, line.specifier), line);
      return why === undefined ? [] : [`${from}:${line.line} ${why}`];
    }),
  );
}

function layerOf(path: string): string {
  return path.split("/")[0] ?? path;
}

/** What has a door: a layer's folder, a folder of a built-in plugin, a file at the root. */
function unitOf(path: string): string {
  const [layer = path, folder, file] = path.split("/");
  if (folder !== undefined && hostFolders.includes(folder)) return layer;
  return layer === "plugins" && folder !== undefined && file !== undefined ? `plugins/${folder}` : layer;
}

function wrongWay(from: string, to: string): string | undefined {
  const [layer, other] = [layerOf(from), layerOf(to)];
  return layer === other || below.get(layer)?.includes(other) ? undefined : `${layer} may not import ${other}`;
}

function pastDoor(from: string, to: string): string | undefined {
  const [unit, other] = [unitOf(from), unitOf(to)];
  if (unit === other || to === other) return undefined;
  // The client is an entry of the package: built-ins use it as any program does.
  if (to === "plugins/client/index.ts") return undefined;
  if (unit.startsWith("plugins/") && other.startsWith("plugins/")) {
    return `a built-in plugin imports another one, ${other}`;
  }
  // What a built-in may take from the files of its host is said by notOffered.
  if (unit.startsWith("plugins/") && other === "plugins") return undefined;
  return to === `${other}/index.ts` ? undefined : `${other} is entered by ${other}/index.ts, not by ${to}`;
}

/** A built-in takes from the host's files what the door of `plugins` offers to everybody. */
function notOffered(from: string, to: string, line: ImportLine, offered: ReadonlySet<string>): string | undefined {
  if (!unitOf(from).startsWith("plugins/") || unitOf(to) !== "plugins") return undefined;
  const secret = line.names.filter((name) => !offered.has(name));
  return secret.length === 0 ? undefined : `plugins/index.ts does not offer ${secret.join(", ")} of ${to}`;
}
