import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "../../rooms/sqlite/database.ts";
import { describe, expect, it } from "vitest";
import { openSqliteLog } from "../../rooms/index.ts";
import { commandFile, runCommand } from "../support/command.ts";
import { loopClock, openLog, ownRoom, roomOf, settleOf, startOf, temporaryFolder } from "../support/open-log.ts";
import { readText } from "../support/repository.ts";

/** One line on stderr that says what is wrong and what to do, and nothing else. */
const oneLine = /^roomtap: [a-z_]+: [^\n]+\n$/;

describe("wrong usage", () => {
  it.each<readonly [string, readonly string[], RegExp]>([
    ["an unknown command", ["strt"], /usage: unknown command 'strt'.*\(roomtap --help lists the commands\)/],
    ["an unknown option", ["demo", "--jsn"], /usage: unknown option '--jsn'.*--json/],
    [
      "another runner",
      ["demo", "--runner", "llm"],
      /usage: option '--runner <kind>' argument 'llm' is invalid.*acp, scripted/,
    ],
    ["another approval", ["demo", "--approve", "always"], /usage: .*Allowed choices are once, deny/],
    [
      "no database",
      ["log", "demo"],
      /usage: required option '--db <file>' not specified \(roomtap log --help lists its options\)/,
    ],
    ["an empty path", ["verify", "--db", ""], /usage: .*expected the path of a file/],
    ["no room", ["log", "--db", "a.db"], /usage: missing required argument 'room'/],
    ["too much", ["verify", "more", "--db", "a.db"], /usage: too many arguments/],
    [
      "a place that is no number",
      ["replay", "r", "--db", "a.db", "--at", "-1"],
      /usage: .*expected a whole number, 0 or more/,
    ],
    [
      "neither a config nor the demo",
      ["up"],
      /invalid_params: up takes either --config FILE or --demo\. See `roomtap up --help`/,
    ],
    ["both", ["up", "--demo", "--config", "a"], /invalid_params: up takes either/],
    ["a runner beside a config", ["up", "--config", "a", "--runner", "acp"], /invalid_params: --runner is for --demo/],
    ["a config that is not there", ["up", "--config", "none.json"], /invalid_config: none\.json: ENOENT/],
    [
      "a masking config that is not there",
      ["log", "r", "--db", "a", "--config", "none.json"],
      /invalid_config: none\.json/,
    ],
  ])("is 2, in one line: %s", async (_, args, message) => {
    const cwd = temporaryFolder();
    const { status, stdout, stderr } = await runCommand(args, { cwd });
    expect([status, stdout, readdirSync(cwd)]).toEqual([2, "", []]);
    expect(stderr).toMatch(oneLine);
    expect(stderr).toMatch(message);
  });

  it("is 2 for agents that nobody could reach, and says how clients are let in", async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "a.json"), '{"agents":{"default":{"kind":"scripted","from":"message"}}}');
    const { status, stderr } = await runCommand(["up", "--config", "a.json", "--stay"], { cwd });
    expect([status, stderr, readdirSync(cwd)]).toEqual([
      2,
      "roomtap: invalid_params: a.json has agents and no rooms: let clients in, with --port N or --stdio. " +
        "See `roomtap up --help`.\n",
      ["a.json"],
    ]);
  });

  it("of a config names the file and the path in it, and opens nothing", async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "rooms.json"), '{"rooms":[{"room_id":"a","members":[{"handle":"x","runer":null}]}]}');
    const { status, stderr } = await runCommand(["up", "--config", "rooms.json"], { cwd });
    expect([status, stderr, readdirSync(cwd)]).toEqual([
      2,
      "roomtap: invalid_config: rooms.json: rooms[0].members[0].runer: unknown key. Correct that path.\n",
      ["rooms.json"],
    ]);
  });

  it("gets help on stderr without a command, and on stdout when it asks", async () => {
    const none = await runCommand([]);
    expect([none.status, none.stdout]).toEqual([2, ""]);
    expect(none.stderr).toContain("Usage: roomtap [options] [command]");
    const help = await runCommand(["--help"]);
    expect([help.status, help.stderr]).toEqual([0, ""]);
    for (const command of ["demo", "up", "rooms", "log", "replay", "verify"])
      expect(help.stdout).toContain(`\n  ${command} `);
    const { version } = JSON.parse(readText("package.json")) as { version: string };
    expect(await runCommand(["--version"])).toEqual({ status: 0, stdout: `${version}\n`, stderr: "" });
    expect((await runCommand(["log", "--help"])).stdout).not.toContain("default");
  });

  it.each([
    ["log", /--db <file> +the database \(required\)/],
    ["up", /\/answer ID once\|deny, \/stop, \/pause @HANDLE, \/resume @HANDLE, \/retry TASK, \/state\n/],
    ["up", /ROOMTAP_TOKEN/],
    ["tail", /turn\.settled +THREAD +MEMBER +TASK#ATTEMPT/],
    ["answer", /VALUE is, for an approval, a word that it offers/],
  ])("says in the help of %s what cannot be guessed: %s", async (command, text) => {
    const help = await runCommand([command, "--help"]);
    expect([help.status, help.stderr]).toEqual([0, ""]);
    expect(help.stdout).toMatch(text);
  });
});

describe("a database that cannot be used", () => {
  type Make = (folder: string) => string | Promise<string>;
  const fileOf =
    (text: string): Make =>
    (folder) => {
      writeFileSync(join(folder, "x.db"), text);
      return join(folder, "x.db");
    };
  const newer: Make = async (folder) => {
    const db = join(folder, "x.db");
    await (await openSqliteLog({ file: db, clock: loopClock() })).close();
    const connection = connect(db);
    connection.pragma("user_version = 999");
    connection.close();
    return db;
  };
  const foreign: Make = (folder) => {
    const connection = connect(join(folder, "x.db"));
    connection.exec("CREATE TABLE notes (text)");
    connection.close();
    return join(folder, "x.db");
  };
  const directory: Make = (folder) => {
    mkdirSync(join(folder, "x.db"));
    return join(folder, "x.db");
  };

  it.each<readonly [string, Make, string]>([
    ["text", fileOf("Dear diary, this is no database at all.".repeat(100)), "log_foreign"],
    ["another program's database", foreign, "log_foreign"],
    ["a newer schema", newer, "log_newer_schema"],
    ["a folder", directory, "log_unavailable"],
  ])("is 4 for every command, and stays as it is: %s", async (_, make, code) => {
    const folder = temporaryFolder();
    const db = await make(folder);
    const before = () => (code === "log_unavailable" ? "" : readFileSync(db, "latin1"));
    const bytes = before();
    const results = await Promise.all(
      [["demo", "--runner", "scripted"], ["log", "demo"], ["rooms"], ["replay", "demo"], ["verify"]].map((args) =>
        runCommand([...args, "--db", db]),
      ),
    );
    for (const { status, stdout, stderr } of results) {
      expect([status, stdout]).toEqual([4, ""]);
      expect(stderr).toMatch(oneLine);
      expect(stderr).toContain(`roomtap: ${code}: `);
      expect(stderr).toContain(folder);
    }
    expect(before()).toBe(bytes);
  });

  it("is 4 when it is not there, and nothing is made", async () => {
    const folder = temporaryFolder();
    const db = join(folder, "typo.db");
    for (const args of [["log", "demo"], ["rooms"], ["replay", "demo"], ["verify"]]) {
      const { status, stderr } = await runCommand([...args, "--db", db]);
      expect([status, stderr]).toEqual([
        4,
        `roomtap: log_not_found: ${db} does not exist. Check the path given as --db. Nothing was created.\n`,
      ]);
    }
    expect(readdirSync(folder)).toEqual([]);
    const { status, stderr } = await runCommand([
      "demo",
      "--runner",
      "scripted",
      "--db",
      join(folder, "no", "where.db"),
    ]);
    expect(status).toBe(4);
    expect(stderr).toMatch(/^roomtap: log_unavailable: the folder of .*where\.db does not exist/);
  });

  it("is 2 for a room that it does not have", async () => {
    const db = join(temporaryFolder(), "x.db");
    const log = await openLog(db);
    await log.putRoom(roomOf("r1"));
    await log.close();
    for (const command of ["log", "replay"]) {
      const { status, stderr } = await runCommand([command, "r9", "--db", db]);
      expect(status).toBe(2);
      expect(stderr).toMatch(/^roomtap: unknown_room: no room r9 in .*; its rooms: r1\. [^\n]*\n$/);
    }
  });
});

describe("an output that is not read to its end", () => {
  /** A closed file with a listing of some 500 KiB. */
  async function writeRows(): Promise<string> {
    const file = join(temporaryFolder(), "room.db");
    const log = await openLog(file);
    const lease_generation = await ownRoom(log);
    for (let turn = 0; turn < 1_000; turn += 100) {
      const rows = Array.from({ length: 100 }, (_, index) => [startOf(`${turn + index}`), settleOf(`${turn + index}`)]);
      await log.append({ room_id: "r1", rows: rows.flat(), inbox: [], expected_seq: turn * 2, lease_generation });
    }
    await log.close();
    return file;
  }

  const shell = (script: string) => spawnSync("bash", ["-c", `set -o pipefail; ${script}`], { encoding: "utf8" });
  const command = `${process.execPath} ${commandFile}`;

  it("C-073 is 4 for a file that was cut off, which names what is gone", async () => {
    const db = await writeRows();
    truncateSync(db, 4_096 * 60);
    const results = await Promise.all(
      [["verify"], ["log", "r1"], ["replay", "r1"]].map((args) => runCommand([...args, "--db", db])),
    );
    for (const { status, stderr } of results) {
      expect(status).toBe(4);
      expect(stderr).toMatch(/^(roomtap: log_corrupt: |the log is damaged: )[^\n]*\n$/);
    }
  });

  it("C-069 ends every listing with 0 and no word on stderr", async () => {
    const db = await writeRows();
    for (const args of ["log r1", "log r1 --json", "replay r1", "rooms", "verify"]) {
      for (let time = 0; time < 3; time++) {
        const { status, stdout, stderr } = shell(`${command} ${args} --db ${db} | head -1`);
        expect([args, status, stderr, stdout.split("\n").length]).toEqual([args, 0, "", 2]);
      }
    }
    expect(readdirSync(join(db, "..")).toSorted()).toEqual(["room.db"]);
  });

  it("C-069 ends the demo with 0, and its turns settle", async () => {
    const db = join(temporaryFolder(), "demo.db");
    const { status, stderr } = shell(`${command} demo --runner scripted --db ${db} --json | head -1`);
    // Where the reader leaves only when all was written, the command cannot know it, and says where the log is.
    expect([status, stderr.replace(/^the log is in [^\n]*\n$/, "")]).toEqual([0, ""]);
    expect((await runCommand(["verify", "--db", db])).stdout).not.toContain("open turn");
  });

  it("C-069 is 1 for a disk that is full, and says so", async () => {
    const db = await writeRows();
    const { status, stderr } = shell(`${command} log r1 --db ${db} > /dev/full`);
    expect([status, stderr]).toEqual([
      1,
      "roomtap: the output cannot be written: ENOSPC: no space left on device, write\n",
    ]);
  });
});
