import { describe, expect, it } from "vitest";
import { loadOrder, unloadOrder } from "../../../plugins/order.ts";

/** `a 1.0.0 b@^1.0.0 c@*`: a plugin and what it depends on. */
function plugin(line: string) {
  const [id = "", version = "", ...needs] = line.split(" ");
  return { id, version, dependencies: Object.fromEntries(needs.map((need) => need.split("@") as [string, string])) };
}

const idsOf = (list: readonly { readonly id: string }[]): string => list.map(({ id }) => id).join(" ");

describe("plugins are set up", () => {
  it.each([
    ["as they were given, when nothing depends on anything", ["b 1.0.0", "a 1.0.0", "c 1.0.0"], "b a c", "c a b"],
    ["behind those they depend on", ["a 1.0.0 b@*", "b 1.0.0 c@^1.0.0", "c 1.2.0"], "c b a", "a b c"],
    ["each once", ["a 1.0.0 c@*", "b 1.0.0 c@*", "c 1.0.0"], "c a b", "b a c"],
    ["no later than they need", ["x 1.0.0", "a 1.0.0 b@*", "y 1.0.0", "b 1.0.0"], "x b a y", "y a b x"],
    ["with a version before a release as one of it", ["a 1.0.0 b@>=2.0.0-0 <3", "b 2.0.0-beta.1"], "b a", "a b"],
  ])("%s", (_, lines, order, back) => {
    const given = lines.map((line) => line.replace(/b@>=2\.0\.0-0 <3/, "b@^2.0.0-0")).map(plugin);
    expect([idsOf(loadOrder(given)), idsOf(unloadOrder(given))]).toEqual([order, back]);
  });

  it.each([
    [["a 1.0.0 b@^1.0.0"], "missing_dependency", "plugin a 1.0.0 depends on b ^1.0.0, which is not loaded"],
    [["a 1.0.0 b@^2.0.0", "b 1.9.0"], "missing_dependency", "plugin a 1.0.0 depends on b ^2.0.0; loaded is 1.9.0"],
    [
      ["a 1.0.0 b@*", "b not-a-version"],
      "missing_dependency",
      "plugin a 1.0.0 depends on b *; loaded is not-a-version",
    ],
    [["a 1.0.0 a@*"], "dependency_cycle", "plugins depend on each other in a circle: a -> a"],
    [
      ["x 1.0.0 a@*", "a 1.0.0 b@*", "b 1.0.0 c@*", "c 1.0.0 a@*"],
      "dependency_cycle",
      "plugins depend on each other in a circle: a -> b -> c -> a",
    ],
  ])("not, when they are %j", (lines, code, message) => {
    expect(() => loadOrder(lines.map(plugin))).toThrow(expect.objectContaining({ code, message }));
  });

  it("and unloaded also when what they depend on has gone", () => {
    expect(idsOf(unloadOrder(["b 1.0.0", "a 1.0.0 gone@*"].map(plugin)))).toBe("a b");
  });
});
