import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { jsonLines, runCommand, startCommand } from "../support/command.ts";
import { temporaryFolder } from "../support/open-log.ts";

interface Row {
  readonly kind: string;
  readonly member_id: string;
  readonly execution_generation: number;
  readonly payload: { readonly status?: string; readonly reason_code?: string | null; readonly cause?: string };
}

const ask = { ask: { method: "approval", params: { command: "rm x", choices: ["once", "deny"] } } };
const scripted = (...turns: object[][]) => ({ kind: "scripted", turns: turns.map((steps) => ({ steps })) });

function writeRoom(): { db: string; args: string[] } {
  const folder = temporaryFolder();
  const members = [
    { handle: "planner", runner: scripted([{ delta: "hi" }, ask], [{ fail: "boom" }], [{ finish: "again" }]) },
    { handle: "echo", runner: scripted([{ finish: "echo" }]) },
  ];
  const db = join(folder, "rooms.db");
  writeFileSync(
    join(folder, "rooms.config.mjs"),
    `export default ${JSON.stringify({ rooms: [{ room_id: "desk", members, policy: { maxRounds: 1 } }] })};`,
  );
  return { db, args: ["up", "--config", join(folder, "rooms.config.mjs"), "--db", db] };
}

const rowsOf = async (db: string, room = "desk"): Promise<readonly Row[]> =>
  jsonLines<Row>((await runCommand(["log", room, "--db", db, "--json"])).stdout);

describe("the commands of up", () => {
  it("stop, pause, resume, retry and state act on the room, and say what they did", async () => {
    const { db, args } = writeRoom();
    const up = startCommand(args);
    await up.seen(/open: #desk/);
    up.type("@planner go\n");
    await up.seen(/an approval waits/);
    up.type("/state\n");
    await up.seen(/@planner needs_input/);
    up.type("/stop\n");
    await up.seen(/#desk: stopped 1 open turn; what waited is closed/);
    up.type("/pause @echo\n");
    await up.seen(/#desk: paused: @echo/);
    up.type("@echo are you there?\n@planner fail\n");
    await up.seen(/failed \(runner_error\)/);
    up.type("/state\n");
    const [, task = ""] = await up.seen(/failed \(runner_error, \/retry (k-[0-9a-f]+)\)/);
    up.type(`/retry ${task}\n`);
    await up.seen(/is tried again, attempt 2/);
    up.type("/resume @echo\n");
    await up.seen(/#desk: paused: nobody/);
    up.type("/retry k-none\n/pause @nobody\n");
    await up.seen(/there is no @nobody; members: @planner @echo/);
    up.child.stdin.end();
    const { status, stderr } = await up.result;
    expect([status, stderr.match(/unknown_task/g)?.length]).toEqual([0, 1]);
    const settled = (await rowsOf(db)).filter(({ kind }) => kind === "turn.settled");
    expect(
      settled
        .map(({ member_id, execution_generation: g, payload }) => `${member_id} ${g} ${payload.status}`)
        .toSorted((a, b) => (a < b ? -1 : 1)),
    ).toEqual(["m-echo 1 completed", "m-planner 1 cancelled", "m-planner 1 failed", "m-planner 2 completed"]);
  });

  it("R45 a second process posts while the first drives, and takes over when it is gone", async () => {
    const { db, args } = writeRoom();
    const first = startCommand([...args, "--stay"]);
    await first.seen(/open: #desk/);
    const second = startCommand([...args, "--stay"]);
    await second.seen(/#desk: process \d+ drives it/);
    second.type("@echo hello\n");
    await first.seen(/@echo ■ completed/);
    first.child.kill("SIGKILL");
    second.type("@planner go\n");
    await second.seen(/an approval waits/);
    second.child.kill("SIGINT");
    expect((await second.result).status).toBe(130);
    const settled = (await rowsOf(db)).filter(({ kind }) => kind === "turn.settled");
    expect(settled.map(({ member_id, payload }) => [member_id, payload.status, payload.reason_code])).toEqual([
      ["m-echo", "completed", null],
      ["m-planner", "cancelled", "shutdown"],
    ]);
  });
});

describe("demo --scene rounds", () => {
  it("shows a mention, a second round, a pass, a refused approval and a stop", async () => {
    const db = join(temporaryFolder(), "rounds.db");
    const { status, stdout } = await runCommand(["demo", "--scene", "rounds", "--db", db]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/run_command: denied/);
    const rows = await rowsOf(db, "demo");
    expect(
      rows.map(({ kind, member_id, payload }) =>
        kind === "turn.started"
          ? `${member_id} ${payload.cause}`
          : `${member_id} ${payload.status} ${payload.reason_code}`,
      ),
    ).toEqual([
      "m-planner mention",
      "m-planner completed null",
      "m-builder mention",
      "m-builder completed null",
      "m-planner mention",
      "m-planner passed null",
      "m-reviewer mention",
      "m-reviewer cancelled stopped",
    ]);
    expect((await runCommand(["verify", "--db", db])).status).toBe(0);
  });
});
