import { describe, expect, it } from "vitest";
import { groupedCommands, type CommandSpec } from "../../plugins/index.ts";

const command = (usage: string): CommandSpec => ({
  usage,
  about: usage,
  options: [],
  examples: [usage],
  run: async () => 0,
});
const group = (usage: string, about: string, ...commands: readonly CommandSpec[]): CommandSpec => ({
  ...{ usage, about, options: [], examples: [], commands },
});

describe("commands of several areas", () => {
  it("stand in one group when they are below one name", () => {
    const [plugin, up, ...rest] = groupedCommands([
      group("plugin", "writes", command("new <name>")),
      command("up"),
      group("plugin", "lists", command("list"), command("run")),
      group("plugin", "lists", command("disable")),
    ]);
    expect([plugin?.about, up?.usage, rest]).toEqual(["writes; lists", "up", []]);
    expect(plugin?.commands?.map(({ usage }) => usage)).toEqual(["new <name>", "list", "run", "disable"]);
  });

  it("stay apart when they do something themselves", () => {
    expect(groupedCommands([command("a"), command("a")]).length).toBe(2);
    expect(groupedCommands([group("a", "g"), command("a")]).length).toBe(2);
  });
});
