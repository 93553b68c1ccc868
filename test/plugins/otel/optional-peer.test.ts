import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { targetOf } from "../../support/layering.ts";
import { readImports } from "../../support/imports.ts";
import { readText, rootFolder } from "../../support/repository.ts";
import { publicDoors } from "../../support/surface.ts";

/** Packages that a file of the build names, with all that it imports at once; a lazy import is none of them. */
function packagesOf(door: string, ending: ".d.ts" | ".js"): ReadonlySet<string> {
  const packages = new Set<string>();
  const seen = new Set<string>();
  const walk = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const { form, specifier } of readImports(readText(path))) {
      const isLazy = ending === ".js" && form === "import()";
      const target = targetOf(path, specifier);
      if (isLazy || form === "url") continue;
      if (target.kind === "package") packages.add(target.name);
      if (target.kind === "file") walk(target.path.replace(/\.ts$/, ending));
    }
  };
  walk(door);
  return packages;
}

describe("a program without @opentelemetry/api", () => {
  it.each(publicDoors())("compiles and runs with $specifier: nothing of it is named", ({ path }) => {
    for (const ending of [".d.ts", ".js"] as const) {
      const door = join("dist", path.replace(/\.ts$/, ending));
      expect(existsSync(join(rootFolder, door))).toBe(true);
      const packages = packagesOf(door, ending);
      expect([...packages].filter((name) => name.startsWith("@opentelemetry/"))).toEqual([]);
      // Read only when the metrics are set up.
      if (ending === ".js") expect(packages).not.toContain("prom-client");
    }
  });

  it("is what the walk can see: elsewhere in the build it is named", () => {
    expect(packagesOf("dist/plugins/otel/api.d.ts", ".d.ts")).toContain("@opentelemetry/api");
    expect(packagesOf("dist/index.js", ".js")).toContain("zod");
  });
});
