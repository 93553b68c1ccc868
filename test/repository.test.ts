import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { localLinks } from "./support/markdown.ts";
import { filesUnder, readText, rootFolder } from "./support/repository.ts";

const texts = filesUnder("").filter((path) => /\.(ts|mjs|json|md|txt|yml)$|^\.ci\/|^LICENSE$/.test(path));

/** The places, as `file:line`, where a pattern stands. */
function places(paths: readonly string[], pattern: RegExp): readonly string[] {
  return paths.flatMap((path) =>
    readText(path)
      .split("\n")
      .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}`] : [])),
  );
}

/** Where the links of pages lead: the page, and the path from the root. */
function linksOf(pages: readonly string[]): readonly (readonly [string, string])[] {
  return pages.flatMap((page) =>
    localLinks(readText(page)).map((target) => [page, join(dirname(page), target)] as const),
  );
}

describe("the repository", () => {
  it("names no folder of one person's machine", () => {
    expect(places(texts, /(?<![\w.])\/(work|root|home|Users)\/(?!user\b|somebody\b)\w/)).toEqual([]);
  });

  it("leaves nothing for later in a comment", () => {
    expect(places(texts, /\b(TO[D]O|FIX[M]E|XX[X])\b/)).toEqual([]);
  });

  it("runs every test it has", () => {
    const tests = texts.filter((path) => path.startsWith("test/"));
    expect(places(tests, /\b(it|test|describe)\.(only|skip|todo)\b/)).toEqual([]);
  });

  it("tells the compiler and the linter to look away nowhere in the sources", () => {
    const sources = texts.filter((path) => !path.startsWith("test/") && path.endsWith(".ts"));
    expect(places(sources, /@ts-(ignore|nocheck|expect-error)|(es|ox)lint-disable/)).toEqual([]);
  });

  it("locks packages without the hosts they were downloaded from", () => {
    expect(places(["package-lock.json"], /https?:.*\.tgz/)).toEqual([]);
  });

  it("packs the build with its declarations and pages whose links it holds, and nothing else", async () => {
    const pack = ["pack", "--dry-run", "--json", "--ignore-scripts"];
    const { stdout } = await promisify(execFile)("npm", pack, { cwd: rootFolder });
    const [{ files = [] } = {}] = JSON.parse(stdout) as { readonly files?: readonly { readonly path: string }[] }[];
    const paths = files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        "dist/index.js",
        "dist/index.d.ts",
        "dist/bin.js",
        "package.json",
        "README.md",
        "LICENSE",
      ]),
    );
    const wire = "plugins/gateway/WIRE.md";
    const others = paths.filter((path) => path !== wire && path !== "plugins/inspector/page.svg");
    expect(
      others.filter((path) => /^(dist\/)?test\/|\.test\.|\.map$|(?<!\.d)\.ts$|^(?!dist\/).*\//.test(path)),
    ).toEqual([]);
    const pages = paths.filter((path) => path.endsWith(".md"));
    expect(pages).toContain(wire);
    expect(linksOf(pages).filter(([, target]) => !paths.includes(target))).toEqual([]);
  });

  it("links to files that are there", () => {
    const pages = texts.filter((path) => path.endsWith(".md"));
    expect(linksOf(pages).filter(([, target]) => !existsSync(join(rootFolder, target)))).toEqual([]);
  });
});
