import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { jsonLines, runCommand, startCommand } from "../support/command.ts";
import { temporaryFolder } from "../support/open-log.ts";

const ask = { ask: { method: "approval", params: { command: "rm -rf build", choices: ["once", "deny"] } } };
const post = (...steps: object[]) => `@echo ${JSON.stringify({ steps })}\n`;
const roomOf = (room_id: string) => ({
  room_id,
  members: [{ handle: "echo", runner: { kind: "scripted", from: "message" } }],
});

interface Place {
  readonly folder: string;
  readonly db: string;
  readonly args: readonly string[];
}

function writeConfig(config: object = { rooms: [roomOf("release")] }): Place {
  const folder = temporaryFolder();
  const file = join(folder, "rooms.json");
  const db = join(folder, "rooms.db");
  writeFileSync(file, JSON.stringify(config));
  return { folder, db, args: ["up", "--config", file, "--db", db] };
}

const logOf = async (db: string, room: string) =>
  jsonLines<{ kind: string; payload: { status?: string; text?: string } }>(
    (await runCommand(["log", room, "--db", db, "--json"])).stdout,
  );

describe("up", () => {
  it("posts each line, and stops with its input when all have had their turns", async () => {
    const { args, db } = writeConfig();
    const stdin = `@nobody hello\n\n${post({ sleep_ms: 50 }, { delta: "one" })}`;
    const { status, stdout, stderr } = await runCommand(args, { stdin });
    expect(status).toBe(0);
    const rows = await logOf(db, "release");
    expect(rows.flatMap(({ payload }) => payload.text ?? [])).toEqual(["one"]);
    expect(stdout).toContain("release @echo │ one");
    expect(stderr).toContain(
      "open: #release (@echo); a line is a post or a command (/state, /stop, ...), the end of input stops\n",
    );
    expect(stderr).toContain("nobody here is called @nobody\n#release: the post is kept, and addresses nobody\n");
  });

  it("asks for the room when there are several", async () => {
    const { args, db } = writeConfig({ rooms: [roomOf("release"), roomOf("lobby")] });
    const stdin = `#lobby ${post({ delta: "in the lobby" })}#release ${post({ delta: "released" })}hello\n#attic hello\n#lobby\n/stop\n`;
    const { status, stderr } = await runCommand(args, { stdin });
    expect(status).toBe(0);
    expect(stderr.split("\n").slice(1)).toEqual([
      "no room is named; begin the line with one of: #release, #lobby",
      "there is no room #attic; begin the line with one of: #release, #lobby",
      "nothing stands behind #lobby; type: #lobby TEXT",
      "no room is named; begin the line with one of: #release, #lobby",
      "",
    ]);
    expect((await logOf(db, "lobby")).at(-1)?.payload.text).toBe("in the lobby");
    expect((await logOf(db, "release")).at(-1)?.payload.text).toBe("released");
  });

  it.each([
    ["once", "answered", "✓ once (local)"],
    ["deny", "denied", "✗ deny (local)"],
  ])("waits with a hint for an answer, and takes %s", async (choice, outcome, card) => {
    const { args } = writeConfig();
    const running = startCommand(args);
    running.type(post(ask, { delta: "went on" }));
    const [, hinted, id = ""] = await running.seen(
      /an approval waits: (.*)\ntype \/answer (srq-\w+) once, or \/answer \2 deny\n/,
    );
    expect(hinted).toBe("rm -rf build");
    running.type(`/answer srq-000000000000 once\n/answer ${id} ${choice}\n`);
    await running.seen(/release @echo ■ completed/);
    running.type(`/answer ${id} once\n`);
    running.child.stdin.end();
    const { status, stdout, stderr } = await running.result;
    expect(status).toBe(0);
    expect(stdout).toContain(`release @echo ${card}\n`);
    expect(stderr).toContain(`there is no request srq-000000000000; open: ${id}\n`);
    expect(stderr).toContain(`${id}: ${outcome}\n`);
    expect(stderr).toContain(`${id} was ${outcome} before\n`);
  });

  it("cancels a turn that waits for a person when its input ends, and says so", async () => {
    const { args, db } = writeConfig();
    const { status, stderr } = await runCommand(args, { stdin: post({ delta: "asks" }, ask) });
    expect(status).toBe(0);
    expect(stderr).toMatch(/\nnobody answered srq-\w+ \(rm -rf build\): its turn was cancelled\n$/);
    expect((await logOf(db, "release")).at(-1)?.payload).toMatchObject({
      status: "cancelled",
      reason_code: "shutdown",
      text: "asks",
    });
  });

  it.each([
    ["the config's policy", "once", [], "✓ once (policy)"],
    ["--approve over the config's", "once", ["--approve", "deny"], "✗ deny (policy)"],
    ["--approve alone", undefined, ["--approve", "once"], "✓ once (policy)"],
  ])("answers by %s", async (_, approve, more, card) => {
    const { args } = writeConfig({ rooms: [roomOf("release")], ...(approve === undefined ? {} : { approve }) });
    const { stdout, stderr } = await runCommand([...args, ...more], { stdin: post(ask) });
    expect(stdout).toContain(card);
    expect(stderr).not.toContain("an approval waits");
  });

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("settles what runs at %s, also with --stay, and ends with %i", async (signal, expected) => {
    const { args, db } = writeConfig();
    const running = startCommand([...args, "--stay"]);
    running.type(post({ delta: "begun" }, { sleep_ms: 600_000 }));
    running.child.stdin.end();
    await running.seen(/, Ctrl-C stops\n/);
    await running.seen(/▶ running/);
    running.child.kill(signal);
    expect((await running.result).status).toBe(expected);
    expect((await logOf(db, "release")).at(-1)?.payload).toMatchObject({
      status: "cancelled",
      reason_code: "shutdown",
    });
    expect((await runCommand(["verify", "--db", db])).status).toBe(0);
  });

  it("ends at Ctrl-C while its input is open and nothing runs", async () => {
    const running = startCommand(writeConfig().args);
    await running.seen(/open: /);
    running.child.kill("SIGINT");
    expect((await running.result).status).toBe(130);
  });

  it("stops when nobody reads its cards any more", async () => {
    const { args, db } = writeConfig();
    const running = startCommand([...args, "--stay"]);
    running.type(post({ repeat: { times: 600, steps: [{ delta: "a line\n" }, { sleep_ms: 100 }] } }));
    await running.seen(/a line/);
    running.child.stdout.destroy();
    expect((await running.result).status).toBe(0);
    expect((await logOf(db, "release")).at(-1)?.payload).toMatchObject({ status: "cancelled" });
  });

  it("R17 runs after a crash what was accepted before it", async () => {
    const { args, db } = writeConfig();
    const running = startCommand([...args, "--stay"]);
    running.type(post({ sleep_ms: 600_000 }) + post({ delta: "after the crash" }));
    await running.seen(/▶ running/);
    // Lines are read in order: when this one is answered, the post before it is durable.
    running.type("/answer none once\n");
    await running.seen(/there is no request none/);
    running.child.kill("SIGKILL");
    await running.result;
    const { status, stdout } = await runCommand(args);
    expect(status).toBe(0);
    expect(stdout).toMatch(/· abandoned \(host_lost\), it may have run\n(.*\n)*.*│ after the crash\n/);
    const ends = (await logOf(db, "release")).flatMap(({ payload }) => payload.status ?? []);
    expect(ends).toEqual(["abandoned", "completed"]);
  });
});

describe("an agent's process", () => {
  /** A config whose agent is a shell script that leaves its process id and environment in files. */
  function agentConfig(then: string): Place & { readonly file: (name: string) => string } {
    const script = `echo $$ > pid; env > env; ${then}`;
    const env = { GREETING: "hello", SERVICE_TOKEN: "tok-of-the-agent-1" };
    const runner = { kind: "acp", command: "/bin/sh", args: ["-c", script], cwd: ".", env };
    const place = writeConfig({ rooms: [{ room_id: "release", members: [{ handle: "agent", runner }] }] });
    return { ...place, file: (name) => readFileSync(join(place.folder, name), "utf8") };
  }

  const isAlive = (pid: number): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      // There is no such process.
      return false;
    }
  };

  it("gets the environment of its config, PATH and HOME, and nothing else", async () => {
    const { args, file } = agentConfig("exit 3");
    const { status } = await runCommand(args, { stdin: "@agent hello\n", env: { HOST_API_KEY: "a-key-of-the-host" } });
    expect(status).toBe(0);
    // What a shell sets by itself.
    const own = /^(PWD|OLDPWD|SHLVL|_)=/;
    const names = file("env")
      .split("\n")
      .filter((line) => line !== "" && !own.test(line))
      .map((line) => line.split("=")[0]);
    expect([...new Set(names)].sort((a, b) => ((a ?? "") < (b ?? "") ? -1 : 1))).toEqual([
      "GREETING",
      "HOME",
      "PATH",
      "SERVICE_TOKEN",
    ]);
  });

  it("I13 writes secrets of its environment into no output", async () => {
    const { args, db } = agentConfig('echo "I use $SERVICE_TOKEN" >&2; exit 3');
    const { stdout, stderr } = await runCommand(args, { stdin: "@agent use tok-of-the-agent-1\n" });
    expect(stdout).toMatch(/✗ failed \((member_unavailable|runner_lost)\), .*I use \[redacted\]/);
    expect(stdout + stderr).not.toContain("tok-of-the-agent-1");
    const log = async (...more: string[]) => (await runCommand(["log", "release", "--db", db, ...more])).stdout;
    const count = (text: string) => text.split("tok-of-the-agent-1").length - 1;
    // The row keeps the post as it was made; a reader who is told the config masks it.
    expect(count(await log("--config", args[2] ?? ""))).toBe(0);
    expect(count(await log("--raw"))).toBe(1);
  });

  it("is gone when the command has ended, also one that does not listen", async () => {
    const { args, folder, file } = agentConfig("trap '' TERM INT; while :; do sleep 1; done");
    const running = startCommand(args);
    running.type("@agent hello\n");
    await running.seen(/▶ running/);
    await expect.poll(() => existsSync(join(folder, "env")) && file("pid").length > 0).toBe(true);
    const pid = Number(file("pid"));
    expect(isAlive(pid)).toBe(true);
    running.child.kill("SIGINT");
    expect((await running.result).status).toBe(130);
    expect(isAlive(pid)).toBe(false);
  });
});
