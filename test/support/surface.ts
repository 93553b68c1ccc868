import { join } from "node:path";
import ts from "typescript";
import { readText, rootFolder } from "./repository.ts";

export interface ExportedName {
  readonly name: string;
  /** What it is at run time, or `type` when nothing is left of it there. */
  readonly kind: "value" | "type";
  readonly documented: boolean;
}

/** A way into the package: how it is written in an import, and the source it is built from. */
export interface Door {
  readonly specifier: string;
  readonly path: string;
}

/** The doors that the export map of package.json opens, in its order. */
export function publicDoors(): readonly Door[] {
  const { name, exports } = JSON.parse(readText("package.json")) as {
    name: string;
    exports: Record<string, string | { readonly default: string }>;
  };
  return Object.entries(exports).flatMap(([key, target]) =>
    typeof target === "string"
      ? []
      : [{ specifier: name + key.slice(1), path: target.default.replace("./dist/", "").replace(/\.js$/, ".ts") }],
  );
}

/** What each door exports, sorted by name, as the compiler sees it. */
export function readSurface(doors: readonly Door[]): ReadonlyMap<Door, readonly ExportedName[]> {
  const config = ts.readConfigFile(join(rootFolder, "tsconfig.json"), (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, rootFolder);
  const program = ts.createProgram(
    doors.map(({ path }) => join(rootFolder, path)),
    options,
  );
  const checker = program.getTypeChecker();
  return new Map(doors.map((door) => [door, namesOf(program, checker, door)]));
}

function namesOf(program: ts.Program, checker: ts.TypeChecker, door: Door): readonly ExportedName[] {
  const file = program.getSourceFile(join(rootFolder, door.path));
  const symbol = file === undefined ? undefined : checker.getSymbolAtLocation(file);
  if (symbol === undefined) return [];
  const names = checker.getExportsOfModule(symbol).map((exported): ExportedName => {
    const target = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    return {
      name: exported.name,
      kind: target.flags & ts.SymbolFlags.Value ? "value" : "type",
      documented: target.getDocumentationComment(checker).length + target.getJsDocTags(checker).length > 0,
    };
  });
  return names.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
