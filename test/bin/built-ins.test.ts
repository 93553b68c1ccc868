import { describe, expect, it } from "vitest";
import { runCommand } from "../support/command.ts";

describe("a built-in plugin that is named by its path", () => {
  it.each(["inline", "worker"])(
    "loads as builtin:crew and survives what every plugin must: %s",
    { timeout: 120_000 },
    async (isolation) => {
      const { status, stdout } = await runCommand(["plugin", "check", "builtin:crew", "--isolation", isolation]);
      expect(stdout).toContain(`ok       loads (${isolation})\n`);
      expect([status, stdout]).toEqual([0, expect.stringMatching(/crew 1\.0\.0: \d+ looked at, 0 failed\n$/)]);
    },
  );

  it("is refused by a name that there is not, and the known ones are listed", async () => {
    const { status, stdout, stderr } = await runCommand(["plugin", "check", "builtin:none"]);
    expect(status).not.toBe(0);
    expect(`${stdout}${stderr}`).toContain("no such built-in; known: builtin:crew");
  });
});
