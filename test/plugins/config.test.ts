import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseConfig, readConfig, secretsOfConfig } from "../../plugins/index.ts";
import { temporaryFolder } from "../support/open-log.ts";

const whole = {
  rooms: [
    {
      room_id: "release",
      name: "Release",
      members: [
        {
          handle: "planner",
          display_name: "Planner",
          runner: { kind: "acp", command: "node", args: ["agent.js"], cwd: ".", env: { K: "V" } },
        },
        { handle: "echo", runner: { kind: "scripted", from: "message" } },
        { handle: "ada", runner: null },
      ],
    },
  ],
  approve: "deny",
} as const;

/** A config of one room with these members. */
const roomOf = (...members: unknown[]) => ({ rooms: [{ room_id: "a", members }] });

describe("a config", () => {
  it("is read whole", () => {
    expect(parseConfig(whole)).toEqual(whole);
  });

  it.each<readonly [string, unknown, string]>([
    ["a list", [], "Invalid input: expected object, received array"],
    ["no rooms", {}, "rooms: is missing, expected array"],
    ["an empty list of rooms", { rooms: [] }, "rooms: Too small: expected array to have >=1 items"],
    ["an unknown key", { ...whole, aprove: "deny" }, "aprove: unknown key"],
    ["a key that is misspelt", { rooms: [{ room_id: "a", membrs: [] }] }, "rooms[0].membrs: unknown key"],
    ["an unknown key of a member", roomOf({ handle: "x", runer: null }), "rooms[0].members[0].runer: unknown key"],
    ["another approval", { ...whole, approve: "always" }, 'approve: Invalid option: expected one of "once"|"deny"'],
    ["no members", roomOf(), "rooms[0].members: Too small: expected array to have >=1 items"],
    [
      "a room's id with a space",
      { rooms: [{ room_id: "a b", members: [{ handle: "x" }] }] },
      "rooms[0].room_id: expected 1 to 128 of A-Z a-z 0-9 . _ : - beginning with a letter or a digit",
    ],
    [
      "two rooms of one id",
      { rooms: [whole.rooms[0], whole.rooms[0]] },
      "rooms[1].room_id: rooms[0] has the id release as well",
    ],
    [
      "a reserved handle",
      roomOf({ handle: "x" }, { handle: "All" }),
      'rooms[0].members: member 2 (@All): handle: expected a handle other than all, everyone, user, got "All"',
    ],
    [
      "two handles that differ in case",
      roomOf({ handle: "x" }, { handle: "X" }),
      "rooms[0].members: member 2 (@X): handle: expected one that no other member has (case ignored), got that of @x",
    ],
    [
      "an unknown runner",
      roomOf({ handle: "x", runner: { kind: "llm" } }),
      "rooms[0].members[0].runner.kind: Invalid discriminator value. Expected 'acp' | 'module' | 'scripted'",
    ],
    [
      "a runner's unknown key",
      roomOf({ handle: "x", runner: { kind: "acp", comand: "node" } }),
      "rooms[0].members[0].runner.comand: unknown key",
    ],
    [
      "a script's unknown step",
      roomOf({ handle: "x", runner: { kind: "scripted", script: { steps: [{ dlta: "x" }] } } }),
      "rooms[0].members[0].runner.script.steps[0].dlta: unknown key",
    ],
  ])("is refused at its path: %s", (_, value, message) => {
    const refusal = expect.objectContaining({ code: "invalid_config", message }) as Error;
    expect(() => parseConfig(value)).toThrow(refusal);
  });

  it("of agents alone needs no rooms", () => {
    const agents = { default: { kind: "scripted", from: "message" } } as const;
    expect(parseConfig({ agents, busyMode: "queue" })).toEqual({ rooms: [], agents, busyMode: "queue" });
    expect(parseConfig({ ...whole, agents })).toEqual({ ...whole, agents });
  });

  it.each<readonly [string, unknown, string]>([
    ["none", { agents: {} }, "agents: expected at least one agent"],
    ["a person", { agents: { a: null } }, "agents.a: Invalid input: expected object, received null"],
    [
      "an unknown runner",
      { agents: { a: { kind: "llm" } } },
      "agents.a.kind: Invalid discriminator value. Expected 'acp' | 'module' | 'scripted'",
    ],
    [
      "another busy mode",
      { agents: { a: { kind: "scripted", from: "message" } }, busyMode: "drop" },
      'busyMode: Invalid option: expected one of "interrupt"|"steer"|"queue"',
    ],
  ])("is refused at the path of its agents: %s", (_, value, message) => {
    const refusal = expect.objectContaining({ code: "invalid_config", message }) as Error;
    expect(() => parseConfig(value)).toThrow(refusal);
  });

  it("I8 has up to 64 agents", () => {
    const agents = (count: number) => ({
      agents: Object.fromEntries(
        Array.from({ length: count }, (__, index) => [`a${index}`, { kind: "scripted", from: "message" }]),
      ),
    });
    for (const count of [63, 64]) expect(Object.keys(parseConfig(agents(count)).agents ?? {})).toHaveLength(count);
    expect(() => parseConfig(agents(65))).toThrow("agents: more than 64 agents");
  });

  it("gives the secrets of the agents of its sessions", () => {
    const env = { API_KEY: "0123456789" };
    expect(secretsOfConfig(parseConfig({ agents: { a: { kind: "acp", command: "x", env } } }))).toEqual(["0123456789"]);
  });

  it("gives the secrets of a module's environment", () => {
    const runner = { kind: "module", path: "./a.js", process: true, env: { API_KEY: "0123456789" } };
    expect(secretsOfConfig(parseConfig(roomOf({ handle: "x", runner })))).toEqual(["0123456789"]);
  });

  it("gives the secrets of its agents' environments, by the names of their variables", () => {
    const env = { API_KEY: "0123456789", MY_TOKEN: "short", PLAIN: "0123456789", DB_PASSWORD: "p".repeat(10_000) };
    const secrets = secretsOfConfig(parseConfig(roomOf({ handle: "x", runner: { kind: "acp", command: "a", env } })));
    expect(secrets[0]).toBe("0123456789");
    // One that is too long to be masked at once comes in pieces.
    expect(secrets.slice(1).join("")).toBe("p".repeat(10_000));
    expect(secrets.every((secret) => secret.length >= 9 && secret.length <= 4_096)).toBe(true);
  });
});

/** The path of `whole` in a file. */
function writeJson(folder: string): string {
  const file = join(folder, "rooms.json");
  writeFileSync(file, JSON.stringify(whole));
  return file;
}

describe("a config's file", () => {
  it("means folders from where it stands", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "sub"));
    const file = join(folder, "sub", "rooms.json");
    writeFileSync(file, JSON.stringify(whole));
    const [planner] = (await readConfig(file)).rooms[0]?.members ?? [];
    expect(planner?.runner).toMatchObject({ cwd: join(folder, "sub") });
  });

  it("means modules, and their folders, from where it stands", async () => {
    const folder = temporaryFolder();
    const file = join(folder, "rooms.json");
    const agent = { kind: "module", path: "./own/runner.js", process: true };
    const agents = { a: agent, b: { ...agent, cwd: "own" }, c: { kind: "module", path: "/a/runner.js" } };
    writeFileSync(file, JSON.stringify({ agents }));
    const path = join(folder, "own", "runner.js");
    expect((await readConfig(file)).agents).toEqual({
      a: { ...agent, path },
      b: { ...agent, path, cwd: join(folder, "own") },
      c: { kind: "module", path: "/a/runner.js" },
    });
  });

  it.each([
    ["is no JSON", "{", /rooms\.json: Expected property name/],
    ["has a token that is no JSON", `{"auth":{"token":gw_secret`, /rooms\.json: Unexpected token .g., not valid JSON$/],
    ["holds another value", "[]", /rooms\.json: Invalid input: expected object/],
    ["holds a bad path", '{"rooms":[{}]}', /rooms\.json: rooms\[0\]\.room_id: /],
    [
      "holds an unknown bound",
      JSON.stringify({ rooms: [{ ...whole.rooms[0], policy: { maxRound: 1 } }] }),
      /policy\.maxRound: unknown key/,
    ],
  ])("is named when it %s", async (_, text, message) => {
    const file = join(temporaryFolder(), "rooms.json");
    writeFileSync(file, text);
    const refusal = expect.objectContaining({
      code: "invalid_config",
      message: expect.stringMatching(message) as string,
    });
    await expect(readConfig(file)).rejects.toThrow(refusal as Error);
  });

  it("may begin with a byte order mark", async () => {
    const file = join(temporaryFolder(), "rooms.json");
    writeFileSync(file, `\ufeff${JSON.stringify(whole)}`);
    expect((await readConfig(file)).rooms).toHaveLength(whole.rooms.length);
  });

  it("may be a module, which exports it by default", async () => {
    const folder = temporaryFolder();
    const file = join(folder, "rooms.config.mjs");
    writeFileSync(file, `export default ${JSON.stringify(whole)};`);
    expect((await readConfig(file)).rooms).toEqual((await readConfig(writeJson(folder))).rooms);
    writeFileSync(join(folder, "empty.mjs"), "export const rooms = [];");
    await expect(readConfig(join(folder, "empty.mjs"))).rejects.toThrow(/empty\.mjs: Invalid input: expected object/);
  });

  it("is named when it is not there, or is a folder", async () => {
    const folder = temporaryFolder();
    await expect(readConfig(join(folder, "none.json"))).rejects.toThrow(/none\.json: ENOENT/);
    await expect(readConfig(folder)).rejects.toThrow(/: EISDIR/);
  });
});
