import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** A compiler that does not come to an end is not waited for longer. */
const typesDeadlineMs = 120_000;
/** Of what it says so many lines are told. */
const maxLines = 10;

/** What came of looking at the types. */
export type TypesResult =
  | { readonly status: "ok" }
  | { readonly status: "skipped"; readonly message: string }
  | { readonly status: "failed"; readonly message: string };

/** Has the compiler that a package has installed look at its types, when it has a tsconfig.json. */
export async function checkTypes(folder: string): Promise<TypesResult> {
  const project = join(folder, "tsconfig.json");
  if (!existsSync(project)) return { status: "skipped", message: "there is no tsconfig.json" };
  const compiler = compilerOf(folder);
  if (compiler === null) return { status: "skipped", message: "typescript is not installed there: npm install" };
  return new Promise((resolve) => {
    const args = [compiler, "--noEmit", "--pretty", "false", "-p", project];
    execFile(process.execPath, args, { cwd: folder, timeout: typesDeadlineMs }, (fault, stdout, stderr) => {
      if (fault === null) return resolve({ status: "ok" });
      const lines = `${stdout}${stderr}`.trim().split("\n");
      const more = lines.length > maxLines ? [`and ${lines.length - maxLines} more lines`] : [];
      const said = [...lines.slice(0, maxLines), ...more].join("\n");
      resolve({ status: "failed", message: said === "" ? fault.message : said });
    });
  });
}

/** Its program; null when it is not installed. */
function compilerOf(folder: string): string | null {
  try {
    const file = createRequire(join(folder, "package.json")).resolve("typescript/package.json");
    const { bin } = JSON.parse(readFileSync(file, "utf8")) as { readonly bin?: { readonly tsc?: string } };
    return bin?.tsc === undefined ? null : join(dirname(file), bin.tsc);
  } catch {
    // Not there, or a package of that name which is no compiler.
    return null;
  }
}
