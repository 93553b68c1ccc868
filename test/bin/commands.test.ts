import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { commandFile, runCommand } from "../support/command.ts";
import { openLog, ownRoom, settleOf, startOf, temporaryFolder } from "../support/open-log.ts";
import { commandPlace, script, serve } from "../support/served-command.ts";

/** What prints no data of its own, or prints JSON whatever is asked. */
const withoutJson: ReadonlySet<string> = new Set(["schema", "completion"]);

/** The commands that a help lists, `help` left out. */
function listedIn(help: string): readonly string[] {
  const list = help.split("\nCommands:\n")[1] ?? "";
  return [...list.matchAll(/^ {2}([a-z][\w-]*)/gm)].map(([, name = ""]) => name).filter((name) => name !== "help");
}

async function walk(path: readonly string[]): Promise<readonly (readonly [path: string, help: string])[]> {
  const { status, stdout, stderr } = await runCommand([...path, "--help"]);
  expect([path, status, stderr]).toEqual([path, 0, ""]);
  const found: (readonly [string, string])[] = path.length === 0 ? [] : [[path.join(" "), stdout]];
  for (const name of listedIn(stdout)) found.push(...(await walk([...path, name])));
  return found;
}

describe("every command", () => {
  it("has an example in its help, and --json where it prints data", { timeout: 120_000 }, async () => {
    const helps = await walk([]);
    const names = helps.map(([name]) => name);
    expect(names).toEqual(expect.arrayContaining(["demo", "rooms ls", "rooms show", "turn show", "top", "token new"]));
    const groups = new Set(names.flatMap((name) => (name.includes(" ") ? [name.split(" ")[0]] : [])));
    const without = (pattern: RegExp): readonly string[] =>
      helps.flatMap(([name, help]) => (pattern.test(help) ? [] : [name]));
    expect(without(/^Example: .*\broomtap /m)).toEqual([]);
    expect(without(/^ +--json /m).filter((name) => !groups.has(name) && !withoutJson.has(name))).toEqual([]);
  });

  it("is completed by the script that the command prints", async () => {
    const { stdout } = await runCommand(["completion", "bash"]);
    const line = "COMP_WORDS=(roomtap rooms show --); COMP_CWORD=3; _roomtap; echo ${COMPREPLY[@]}";
    const offered = spawnSync("bash", ["-c", `${stdout}\n${line}`], { encoding: "utf8" }).stdout;
    expect(offered).toBe("--db --url --token --json --help\n");
    const { status, stderr } = await runCommand(["completion", "tcsh"]);
    expect([status, stderr]).toEqual([2, expect.stringContaining("Allowed choices are bash, zsh, fish")]);
  });
});

const shell = (text: string, env: object = {}) =>
  spawnSync("bash", ["-c", `set -o pipefail; ${text}`], { encoding: "utf8", env: { ...process.env, ...env } });
const command = `${process.execPath} ${commandFile}`;

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

describe("output", () => {
  it("C-069 of each command that looks may be left after a line", { timeout: 120_000 }, async () => {
    const db = await writeRows();
    const looks = [
      "rooms ls",
      "rooms show r1",
      "rooms show r1 --json",
      "turn show t-999",
      "replay r1 --diff 1 1999",
      "doctor",
    ];
    for (const args of looks) {
      const { status, stdout, stderr } = shell(`${command} ${args} --db ${db} | head -1`, {
        XDG_RUNTIME_DIR: temporaryFolder(),
      });
      expect([args, status, stderr, stdout.split("\n").length]).toEqual([args, 0, "", 2]);
    }
  });

  it("has colours where they are forced, and none in a pipe or with NO_COLOR", { timeout: 60_000 }, async () => {
    const db = await writeRows();
    const shown = async (env: { readonly [name: string]: string }) =>
      (await runCommand(["turn", "show", "t-999", "--db", db], { env })).stdout;
    expect(await shown({ FORCE_COLOR: "1" })).toContain("\u001b[");
    for (const env of [{}, { FORCE_COLOR: "1", NO_COLOR: "1" }]) expect(await shown(env)).not.toContain("\u001b");
    expect((await runCommand(["verify", "--db", db])).stderr).toBe("");
  });
});

describe("a server that runs", () => {
  it("C-069 is listed, shown and watched, also by a reader that leaves", { timeout: 120_000 }, async () => {
    const place = commandPlace();
    const server = await serve(place);
    const ask = { ask: { method: "approval", params: { command: "make" } } };
    await place.run(["send", "release", `@echo ${script({ delta: "Hi" }, ask, { finish: "Done" })}`]);
    const [id] = await server.running.seen(/srq-[0-9a-f]{12}/);
    const turn = await place.run(["turn", "show", "t-", "--json"]);
    expect(JSON.parse(turn.stdout)).toMatchObject({
      attempts: [{ settled: null, is_watched: true, requests: { list: [{ id, asked: "make", state: "open" }] } }],
    });
    expect((await place.run(["top", "--once"])).stdout).toMatch(/^release +@echo +needs_input /m);
    expect((await place.run(["rooms", "show", "release"])).stdout).toContain(`  ${id}  approval  @echo  make`);
    expect((await place.run(["consumers"])).stdout).toMatch(/^CONSUMER +DEPTH/);
    const doctor = await place.run(["doctor", "--db", place.db, "--config", place.config]);
    expect([doctor.status, doctor.stderr]).toEqual([0, ""]);
    expect(doctor.stdout).toMatch(/^ok +server +ws:.*its clock is right$/m);
    for (const args of ["top --json --interval 0.1", "consumers --watch --interval 0.1", "rooms show release"]) {
      const { status, stdout, stderr } = shell(`${command} ${args} | head -1`, place.env);
      expect([args, status, stderr, stdout.split("\n").length]).toEqual([args, 0, "", 2]);
    }
    await place.run(["answer", id, "once"]);
    expect(await server.stop()).toBe(143);
  });
});

/** Of util-linux: runs a command in a pseudo terminal. */
const pseudoTerminal = "/usr/bin/script";

describe("a real terminal", () => {
  /** Runs `top` in one, and types keys once it has drawn. */
  function onTerminal(env: object, keys: string): Promise<{ readonly status: number | null; readonly text: string }> {
    const child = spawn(pseudoTerminal, ["-qec", `${command} top`, "/dev/null"], {
      env: { ...process.env, ...env, TERM: "xterm" },
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    let text = "";
    let isTyped = false;
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
      if (isTyped || !text.includes("q quit")) return;
      isTyped = true;
      child.stdin.write(keys);
    });
    return new Promise((resolve) => child.once("close", (status) => resolve({ status, text })));
  }

  it("is put back when top is left by q and by Ctrl-C", { timeout: 120_000 }, async () => {
    // What a fake terminal proves holds wherever this one is missing.
    if (!existsSync(pseudoTerminal)) return;
    const place = commandPlace();
    const server = await serve(place);
    for (const [keys, expected] of [
      ["q", 0],
      ["\u0003", 130],
    ] as const) {
      const { status, text } = await onTerminal(place.env, keys);
      const count = (sequence: string): number => text.split(sequence).length - 1;
      expect([status, count("\u001b[?1049h"), count("\u001b[?25h\u001b[?1049l")]).toEqual([expected, 1, 1]);
      expect(text).toContain("roomtap top  1 room, 1 member");
    }
    await server.stop();
  });
});
