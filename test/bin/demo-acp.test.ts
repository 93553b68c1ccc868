import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { ActivityEvent } from "../../core/index.ts";
import { jsonLines, runCommand, type CommandResult } from "../support/command.ts";
import { checkEvents } from "../support/demo-events.ts";

// The agent takes five seconds for a turn, so both runs of it go side by side, once.
describe("the demo with an agent that a third party wrote", () => {
  let folder = "";
  let demo: CommandResult;
  let up: CommandResult;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "roomtap-acp-"));
    [demo, up] = await Promise.all([
      runCommand(["demo", "--runner", "acp", "--json", "--db", join(folder, "t.db"), "--approve", "once"]),
      // As npm start does it, with an input that has ended.
      runCommand(["up", "--demo"], { env: { TMPDIR: folder } }),
    ]);
    return () => rmSync(folder, { recursive: true });
  }, 60_000);

  it("ends with 0 and prints whole turns of both members", () => {
    expect([demo.status, demo.stderr.split("\n").length]).toEqual([0, 2]);
    const events = jsonLines<ActivityEvent>(demo.stdout);
    checkEvents(events);
    const ends = events.filter(({ kind }) => kind === "turn.settled");
    expect(ends.map(({ coordinates, payload }) => [coordinates?.member_id, payload])).toMatchObject([
      ["m-planner", { status: "completed" }],
      ["m-reviewer", { status: "completed" }],
    ]);
    const outcomes = events.flatMap((event) => (event.kind === "tool.completed" ? [event.payload.outcome] : []));
    expect(outcomes).toEqual(["ok", "ok", "ok", "ok"]);
    expect(events.filter(({ kind }) => kind === "request.opened").length).toBe(2);
  });

  it("I3 leaves two rows for each of its attempts, and they verify", async () => {
    const db = join(folder, "t.db");
    const { stdout } = await runCommand(["log", "demo", "--db", db]);
    expect(stdout.split("\n").map((line) => line.split("  ")[1])).toEqual([
      "turn.started",
      "turn.settled",
      "turn.started",
      "turn.settled",
      undefined,
    ]);
    expect((await runCommand(["verify", "--db", db])).status).toBe(0);
  });

  it("up --demo runs it with cards, refuses what is asked, and stops with its input", () => {
    expect(up.status).toBe(0);
    expect(up.stderr).toMatch(/^open: #demo \(@planner @reviewer\); [^\n]*\n$/);
    expect(up.stdout.match(/✗ deny \(policy\)/g)?.length).toBe(2);
    expect(up.stdout).toMatch(/demo @planner ⚙ Reading project files .*\n.*✓ Reading project files: ok/);
    expect(up.stdout.match(/■ completed/g)?.length).toBe(2);
  });

  it("leaves no temporary file", () => {
    expect(readdirSync(folder).filter((name) => !name.startsWith("t.db"))).toEqual([]);
  });
});
