import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync, cpSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LogRow } from "../../rooms/index.ts";
import type { ActivityEvent } from "../../core/index.ts";
import { commandFile, jsonLines, runCommand, startCommand } from "../support/command.ts";
import { checkEvents } from "../support/demo-events.ts";
import { temporaryFolder } from "../support/open-log.ts";
import { rootFolder } from "../support/repository.ts";

const scripted = ["demo", "--runner", "scripted"];
const digestOf = async (db: string, ...more: readonly string[]) => {
  const { stdout } = await runCommand(["replay", "demo", "--db", db, "--json", ...more]);
  return JSON.parse(stdout) as { digest: string; log_hash: string; through_seq: number };
};

describe("demo --runner scripted", () => {
  it("shows cards, and keeps no file without --db", async () => {
    const cwd = temporaryFolder();
    const { status, stdout, stderr } = await runCommand(scripted, { cwd, env: { TMPDIR: cwd } });
    expect([status, stderr, readdirSync(cwd)]).toEqual([0, "", []]);
    expect(stdout).toMatch(/^demo @planner ▶ running \(message, attempt 1\) local: @all Please look/);
    expect(stdout).toContain("demo @planner ✓ read_file: ok in ");
    expect(stdout).toContain("demo @planner ✗ deny (policy)\ndemo @planner ✗ run_command: denied in ");
    expect(stdout).toMatch(/demo @reviewer ■ completed, [\d. ms]+, 6 events\n$/);
  });

  it("prints with --json each event, whole and in order, and nothing else", async () => {
    const { status, stdout, stderr } = await runCommand([...scripted, "--json"]);
    const events = jsonLines<ActivityEvent>(stdout);
    expect([status, stderr]).toEqual([0, ""]);
    checkEvents(events);
    expect(events.map(({ kind }) => kind)).toContain("reasoning.delta");
    expect(events.find(({ kind }) => kind === "request.opened")?.payload).toMatchObject({ command: "rm -rf build" });
    expect(events.find(({ kind }) => kind === "request.resolved")?.payload).toMatchObject({
      outcome: "denied",
      by: null,
      reason: "policy",
    });
  });

  it("allows once when it is told to", async () => {
    const { stdout } = await runCommand([...scripted, "--json", "--approve", "once"]);
    const outcome = jsonLines<ActivityEvent>(stdout).find(({ kind }) => kind === "request.resolved");
    expect(outcome?.payload).toMatchObject({ outcome: "answered", choice: "once", by: null, reason: "policy" });
  });

  it("I3 leaves two rows per attempt, and posts anew on the same file", async () => {
    const db = join(temporaryFolder(), "demo.db");
    for (const rows of [4, 8]) {
      const { status, stderr } = await runCommand([...scripted, "--db", db]);
      expect([status, stderr]).toEqual([0, `the log is in ${db}: roomtap verify --db ${db}\n`]);
      const log = jsonLines<LogRow>((await runCommand(["log", "demo", "--db", db, "--json"])).stdout);
      const kinds = log.map(({ kind, task_id }) => `${task_id} ${kind}`);
      const tasks = [...new Set(log.map(({ task_id }) => task_id))];
      expect(log.length).toBe(rows);
      expect(kinds).toEqual(tasks.flatMap((task) => [`${task} turn.started`, `${task} turn.settled`]));
    }
    expect((await runCommand(["verify", "--db", db])).status).toBe(0);
  });

  it("R12 gives one digest on two fresh files, in one go and in steps, and two hashes", async () => {
    const folder = temporaryFolder();
    const files = [join(folder, "a.db"), join(folder, "b.db")] as const;
    await Promise.all(files.map((db) => runCommand([...scripted, "--db", db])));
    const [a, again, b, atLast] = await Promise.all([
      digestOf(files[0]),
      digestOf(files[0]),
      digestOf(files[1]),
      digestOf(files[0], "--at", "4"),
    ]);
    expect([again, atLast, b.digest]).toEqual([a, a, a.digest]);
    expect(b.log_hash).not.toBe(a.log_hash);
    expect((await digestOf(files[0], "--at", "3")).digest).not.toBe(a.digest);
  });

  it("R7 one changed byte of a stored payload is found, and its row named", async () => {
    const db = join(temporaryFolder(), "demo.db");
    await runCommand([...scripted, "--db", db]);
    const bytes = readFileSync(db, "latin1");
    const from = '"text":"I agree with Planner.';
    expect(bytes.split(from).length).toBe(2);
    writeFileSync(db, bytes.replace(from, '"text":"I agree with Plannes.'), "latin1");
    const { status, stdout, stderr } = await runCommand(["verify", "--db", db]);
    expect(status).toBe(1);
    expect(stdout).toMatch(/^demo: row 4 is bad \(hash\): /);
    expect(stderr).toMatch(/^the log is damaged: [^\n]*\n$/);
  });

  it("settles what runs, and ends with 130 at Ctrl-C", async () => {
    const folder = temporaryFolder();
    const db = join(folder, "demo.db");
    const running = startCommand([...scripted, "--db", db], { env: { TMPDIR: folder } });
    await running.seen(/read_file \{/);
    running.child.kill("SIGINT");
    expect((await running.result).status).toBe(130);
    expect((await runCommand(["log", "demo", "--db", db])).stdout).toContain("cancelled (shutdown)");
  });

  it("masks secrets of the host's environment, also one that is very long", async () => {
    const env = { SOME_KEY: "run_command", LONG_TOKEN: "x".repeat(9_000) };
    const { status, stdout } = await runCommand([...scripted, "--json"], { env });
    expect(status).toBe(0);
    expect(stdout).not.toContain("run_command");
    expect(stdout).toContain('"name":"[redacted]"');
  });
});

describe("where the demo's agent is not installed", () => {
  /** The build beside its runtime packages alone, as after a production install. */
  function install(): string {
    const folder = temporaryFolder();
    cpSync(join(rootFolder, "dist"), join(folder, "dist"), { recursive: true });
    cpSync(join(rootFolder, "package.json"), join(folder, "package.json"));
    const { dependencies } = JSON.parse(readFileSync(join(rootFolder, "package.json"), "utf8")) as {
      dependencies: object;
    };
    for (const name of Object.keys(dependencies)) {
      const link = join(folder, "node_modules", name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(rootFolder, "node_modules", name), link);
    }
    return join(folder, "dist", "bin.js");
  }

  it.each([["demo"], ["up", "--demo"]])("%s says so, and what runs instead", async (...args) => {
    const { status, stdout, stderr } = await runCommand(args, { file: install() });
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^roomtap: runner_not_installed: [^\n]*--runner scripted[^\n]*\n$/);
    expect(stderr.split("--runner").length).toBe(2);
  });

  it.each([scripted, ["up", "--demo", "--runner", "scripted"]])("the scripted demo runs: %s", async (...args) => {
    expect((await runCommand(args, { file: install() })).status).toBe(0);
  });
});

it("the build is there: npm test makes it", () => {
  expect(existsSync(commandFile)).toBe(true);
});
