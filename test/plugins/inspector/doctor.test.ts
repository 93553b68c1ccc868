import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { manualClock } from "../../../core/index.ts";
import { plainStyle } from "../../../plugins/index.ts";
import { doctorCommand, type DoctorOptions } from "../../../plugins/inspector/commands/doctor.ts";
import { findProgram } from "../../../plugins/inspector/doctor/config-checks.ts";
import { judgeLeases, judgeWal } from "../../../plugins/inspector/doctor/database-checks.ts";
import type { Finding } from "../../../plugins/inspector/doctor/finding.ts";
import { judgeSkew } from "../../../plugins/inspector/doctor/server-checks.ts";
import { judgeDisk, nodeFinding } from "../../../plugins/inspector/doctor/system-checks.ts";
import { connect } from "../../../rooms/sqlite/database.ts";
import { autoGateway } from "../../support/auto-gateway.ts";
import { collectedOutput } from "../../support/collected-output.ts";
import { claim, goneProcess, openLog, ownRoom, settleOf, startOf, temporaryFolder } from "../../support/open-log.ts";

const secret = "correct-horse-battery";
const token = "token-that-nobody-guesses";

/** What the doctor finds, by what was looked at. */
async function examined(changes: Partial<DoctorOptions> = {}) {
  const gateway = autoGateway();
  const output = collectedOutput();
  const options: DoctorOptions = {
    ...{ url: "ws://h:1/api/ws", token, json: true, WebSocket: gateway.WebSocket, runtimeFolder: "/nowhere" },
    ...{ environment: { PATH: "/nowhere", API_KEY: secret }, style: plainStyle, db: undefined },
    ...changes,
  };
  const status = await doctorCommand(options, output, { clock: manualClock(0), askTime: async () => 0 });
  const { ok, findings } = output.json() as { readonly ok: boolean; readonly findings: readonly Finding[] };
  const levels = (check: string): readonly string[] =>
    findings.flatMap((each) => (each.check === check ? [each.level] : []));
  return { status, ok, findings, levels, text: output.lines.join("\n") };
}

async function writeFile(process = goneProcess): Promise<string> {
  const file = join(temporaryFolder(), "room.db");
  const log = await openLog(file);
  const lease_generation = await ownRoom(log);
  const rows = [startOf("one"), settleOf("one")];
  for (const [expected_seq, row] of rows.entries()) {
    await log.append({ room_id: "r1", rows: [row], inbox: [], expected_seq, lease_generation });
  }
  await claim(log, "r1", "other", process);
  await log.close();
  return file;
}

describe("what the doctor judges", () => {
  it.each([
    ["20.18.3", "problem"],
    ["20.19.0", "ok"],
    ["22.1.0", "ok"],
    ["19.99.0", "problem"],
  ])("Node %s: %s", (version, level) => {
    expect(nodeFinding(version).level).toBe(level);
  });

  it.each([
    [64 * 1_048_576 - 1, "problem"],
    [64 * 1_048_576, "warning"],
    [1_024 * 1_048_576 - 1, "warning"],
    [1_024 * 1_048_576, "ok"],
  ])("%d free bytes: %s", (bytes, level) => {
    expect(judgeDisk(bytes, "/x").level).toBe(level);
  });

  it.each([
    [64 * 1_048_576, "ok"],
    [64 * 1_048_576 + 1, "warning"],
  ])("%d bytes of WAL: %s", (bytes, level) => {
    expect(judgeWal(bytes).level).toBe(level);
  });

  it.each([
    [null, "ok"],
    [5_000, "ok"],
    [-5_001, "warning"],
    [90_000, "warning"],
  ])("a clock that is off by %s ms: %s", (skewMs, level) => {
    expect(judgeSkew("ws://h", skewMs).level).toBe(level);
  });

  it("who holds leases: all alive or none is well, gone and unknown are not", () => {
    const of = (...holders: readonly ("none" | "alive" | "gone" | "unknown")[]): readonly string[] =>
      judgeLeases(holders.map((holder, index) => ({ room_id: `r${index}`, holder }))).map(({ level }) => level);
    expect([of(), of("none", "alive"), of("gone", "alive"), of("gone", "unknown")]).toEqual([
      ["ok"],
      ["ok"],
      ["warning"],
      ["warning", "warning"],
    ]);
  });

  it("where a program is: on the PATH, or at a path from its folder, and it must be one that runs", () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "agent"), "");
    mkdirSync(join(folder, "folder"));
    expect(findProgram("agent", { path: folder })).toBeNull();
    chmodSync(join(folder, "agent"), 0o755);
    const program = join(folder, "agent");
    expect([
      findProgram("agent", { path: `/nowhere:${folder}` }),
      findProgram("./agent", { cwd: folder }),
      findProgram(program, {}),
      findProgram("folder", { path: folder }),
      findProgram("agent", { path: "/nowhere" }),
      findProgram("agent", {}),
    ]).toEqual([program, program, program, null, null, null]);
  });
});

describe("doctor", () => {
  it("finds nothing wrong where all is well", async () => {
    const { status, ok, levels } = await examined();
    expect([status, ok, levels("node"), levels("sqlite"), levels("server")]).toEqual([0, true, ["ok"], ["ok"], ["ok"]]);
  });

  it("C-070 looks at a database that a dead process held, and changes nothing", async () => {
    const db = await writeFile();
    const before = [readFileSync(db, "latin1"), readdirSync(join(db, ".."))];
    const { status, levels, findings } = await examined({ db });
    expect([status, levels("database"), levels("rooms"), levels("leases")]).toEqual([0, ["ok"], ["ok"], ["warning"]]);
    expect(findings.find(({ check }) => check === "leases")).toMatchObject({
      message: "room r1 was driven by a process that has gone without a word",
      remedy: expect.stringContaining("roomtap up") as string,
    });
    expect([readFileSync(db, "latin1"), readdirSync(join(db, ".."))]).toEqual(before);
  });

  it.each([
    ["a changed row", "UPDATE log SET payload = replace(payload, 'done', 'gone') WHERE seq = 2"],
    ["a row that is gone", "DELETE FROM log WHERE seq = 2"],
    ["a roster that was changed", "UPDATE rosters SET roster_digest = '00'"],
  ])("C-073 is 1 for a database with %s, and says what to do", async (_, sql) => {
    const db = await writeFile();
    connect(db).exec(`PRAGMA foreign_keys = OFF; ${sql}`).close();
    const { status, findings } = await examined({ db });
    expect([status, findings.filter(({ level }) => level === "problem")]).toMatchObject([
      1,
      [{ check: "rooms", remedy: expect.stringContaining("roomtap verify --db") as string }],
    ]);
  });

  it("is 1 for a database that was named and is not there, and makes none", async () => {
    const folder = temporaryFolder();
    const { status, findings } = await examined({ db: join(folder, "typo.db") });
    expect([status, readdirSync(folder)]).toEqual([1, []]);
    expect(findings.find(({ check }) => check === "database")?.message).toMatch(/^log_not_found: /);
  });

  it("is 1 for agents whose program or folder is not there, and names each", async () => {
    const folder = temporaryFolder();
    const config = join(folder, "rooms.json");
    const acp = (command: string, more: object = {}): object => ({ kind: "acp", command, ...more });
    const members = [
      { handle: "a", runner: acp(process.execPath) },
      { handle: "b", runner: acp("no-such-agent") },
      { handle: "c", runner: acp("node", { cwd: "gone" }) },
    ];
    writeFileSync(config, JSON.stringify({ rooms: [{ room_id: "r", members }] }));
    const { status, levels, text } = await examined({ config });
    expect([status, levels("config"), levels("agents")]).toEqual([1, ["ok"], ["ok", "problem", "problem"]]);
    expect(text).toContain("@b of r: no-such-agent: it is not on the PATH");
  });

  it("is 1 for a config that does not parse", async () => {
    const config = join(temporaryFolder(), "rooms.json");
    writeFileSync(config, '{"rooms":[{"room_id":"r","members":[{"handle":"x","runer":null}]}]}');
    const { status, levels } = await examined({ config });
    expect([status, levels("config")]).toEqual([1, ["problem"]]);
  });

  it("C-071 shows no secret of the environment, the config or the credential", async () => {
    const folder = temporaryFolder();
    const config = join(folder, "rooms.json");
    const runner = {
      kind: "acp",
      command: `${secret}-agent`,
      env: { SOME_TOKEN: "another-secret-value" },
      cwd: "another-secret-value",
    };
    const rooms = [{ room_id: "r", members: [{ handle: "a", runner }] }];
    writeFileSync(
      config,
      JSON.stringify({
        rooms,
        auth: { tokens: [{ token: `gw_${"x".repeat(30)}`, principal: "p", scopes: ["read"] }] },
      }),
    );
    for (const json of [true, false]) {
      const output = collectedOutput();
      const options: DoctorOptions = {
        ...{
          url: `ws://h:1/api/ws?token=${token}`,
          token,
          json,
          WebSocket: autoGateway().WebSocket,
          runtimeFolder: "/nowhere",
        },
        ...{ environment: { API_KEY: secret }, style: plainStyle, config, db: join(folder, `${secret}.db`) },
      };
      await doctorCommand(options, output, { clock: manualClock(0), askTime: async () => null });
      const text = [...output.lines, ...output.notes].join("\n");
      for (const word of [secret, token, "another-secret-value", "gw_xxx"]) expect(text).not.toContain(word);
      expect(text).toContain("agents");
    }
  });

  it("is a line for each thing without --json, with its remedy", async () => {
    const output = collectedOutput();
    const db = join(temporaryFolder(), "typo.db");
    const options = {
      url: "ws://h:1/api/ws",
      token,
      json: false,
      WebSocket: autoGateway().WebSocket,
      runtimeFolder: "/nowhere",
    };
    const parts = { clock: manualClock(0), askTime: async () => 60_000 };
    expect(await doctorCommand({ ...options, db, environment: {}, style: plainStyle }, output, parts)).toBe(1);
    expect(output.lines.at(0)).toMatch(/^ok {7}node {6}Node \d/);
    expect(output.lines).toContain(
      `problem  database  log_not_found: ${db} does not exist -> Check the path given as --db. Nothing was created.`,
    );
    expect(output.lines.at(-1)).toMatch(
      /^warning {2}server {4}ws:\/\/h:1\/api\/ws lets in; its clock is 1 m 00 s ahead of this one -> /,
    );
  });
});
