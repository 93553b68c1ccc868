import { describe, expect, it } from "vitest";
import { filesUnder, readText } from "./support/repository.ts";
import { publicDoors, readSurface } from "./support/surface.ts";

const doors = publicDoors();
const surface = readSurface(doors);

describe("the public surface", () => {
  // What a reader can rely on changes on purpose alone: `npx vitest run test/public-surface.test.ts -u` writes it anew.
  it("is the committed list, name by name", async () => {
    const text = [...surface]
      .map(([door, names]) => [door.specifier, ...names.map(({ name, kind }) => `  ${kind} ${name}`)].join("\n"))
      .join("\n\n");
    await expect(`${text}\n`).toMatchFileSnapshot("./public-surface.txt");
  });

  it.each(doors)("of $specifier has a docstring for each name", ({ specifier }) => {
    const names = [...surface].flatMap(([door, exported]) => (door.specifier === specifier ? exported : []));
    expect(names.filter(({ documented }) => !documented).map(({ name }) => name)).toEqual([]);
  });

  it("is not empty at any door", () => {
    const empty = [...surface].filter(([, names]) => names.length === 0);
    expect(empty.map(([door]) => door.specifier)).toEqual([]);
  });
});

describe("each door", () => {
  const paths = filesUnder("").filter((path) => /^((core|rooms|observers|plugins)\/(.*\/)?)?index\.ts$/.test(path));

  it.each(paths)("%s lists its names one by one", (path) => {
    expect(readText(path)).not.toMatch(/export\s*(type\s*)?\*/);
  });
});
