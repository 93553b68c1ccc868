import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { jsonLines, runCommand, startCommand, type RunningCommand } from "../support/command.ts";
import { temporaryFolder } from "../support/open-log.ts";
import { principals, tokenOf, type Rights } from "../support/principals.ts";
import { RawSocket } from "../support/raw-socket.ts";

const rooms = [
  { room_id: "desk", members: [{ handle: "a", runner: { kind: "scripted", turns: [{ steps: [{ finish: "hi" }] }] } }] },
];

/** `up` with a config whose people come by tokens; `write` changes them. */
async function upWith(
  byName: Readonly<Record<string, Rights>>,
  { file = "rooms.json", more = [] }: { file?: string; more?: readonly string[] } = {},
): Promise<{ up: RunningCommand; url: string; write: (byName: Readonly<Record<string, Rights>>) => void }> {
  const folder = temporaryFolder();
  const path = join(folder, file);
  let writes = 0;
  const write = (names: Readonly<Record<string, Rights>>): void => {
    const text = JSON.stringify({ rooms, auth: principals(names) });
    writeFileSync(path, file.endsWith(".json") ? text : `// ${"x".repeat(++writes)}\nexport default ${text};`);
  };
  write(byName);
  const db = join(folder, "rooms.db");
  const up = startCommand(["up", "--config", path, "--db", db, "--port", "0", ...more], {
    env: { XDG_RUNTIME_DIR: folder },
  });
  const [, url = ""] = await up.seen(/listening: (ws:[^\s,]+), for whom the config's auth lets in\n/);
  return { up, url, write };
}

describe("up with the config's auth", () => {
  it.each(["rooms.json", "rooms.mjs"])("reads %s again at SIGHUP, and ends who has gone", async (file) => {
    const { up, url, write } = await upWith({ laptop: {}, phone: {} }, { file, more: ["--log-level", "info"] });
    const [laptop, phone] = [
      new RawSocket(`${url}?token=${tokenOf("laptop")}`),
      new RawSocket(`${url}?token=${tokenOf("phone")}`),
    ];
    await Promise.all([laptop.next(), phone.next()]);
    write({ phone: { scopes: ["read"] }, tablet: {} });
    up.child.kill("SIGHUP");
    expect(await laptop.closed).toEqual({ code: 4401, reason: "credentials_rotated" });
    await up.seen(/was read again: 1 connections ended/);
    expect(await new RawSocket(`${url}?token=${tokenOf("tablet")}`).next()).toBeDefined();
    expect(await phone.call("prompt.submit", { session_id: "s", text: "x" })).toMatchObject({ error: { code: 4300 } });
    up.child.kill("SIGTERM");
    const { status, stdout, stderr } = await up.result;
    expect(status).toBe(143);
    const lines = jsonLines<{ level: string; what: string; audit: string; reason?: string }>(
      stderr
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .join("\n"),
    );
    const trail = lines.map(({ level, what, audit, reason }) => [level, what, audit, reason ?? null].join(" "));
    for (const line of [
      "info connection granted ",
      "info rights granted ",
      "info connection ended credentials_rotated",
      "warn call refused insufficient_scope",
    ]) {
      expect(trail.filter((each) => each === line)).not.toEqual([]);
    }
    for (const name of ["laptop", "phone", "tablet"]) expect(stdout + stderr).not.toContain(tokenOf(name));
  });

  it("notes what is wrong with a config that is read again, and keeps what it has", async () => {
    const { up, url, write } = await upWith({ laptop: {} });
    write({ laptop: { scopes: [] } });
    up.child.kill("SIGHUP");
    await up.seen(/was read again, and nothing has changed: .*auth\.tokens\[0\]\.scopes: expected at least one scope/);
    expect(await new RawSocket(`${url}?token=${tokenOf("laptop")}`).next()).toBeDefined();
  });

  it("refuses to start with a scope that there is not, and shows no token", async () => {
    const path = join(temporaryFolder(), "rooms.json");
    const auth = principals({ laptop: { scopes: ["wirte" as "write"] } });
    writeFileSync(path, JSON.stringify({ rooms, auth }));
    const { status, stderr } = await runCommand(["up", "--config", path, "--port", "0"], { cwd: temporaryFolder() });
    expect([status, stderr]).toEqual([2, expect.stringContaining('auth.tokens[0].scopes[0]: unknown scope "wirte"')]);
    expect(stderr).not.toContain(tokenOf("laptop"));
  });
});

describe("token new", () => {
  it("prints a strong token, and the entry that lets it in", async () => {
    const asked = ["token", "new", "--principal", "phone", "--scopes", "read,approvals", "--rooms", "desk"];
    const { status, stdout, stderr } = await runCommand(asked);
    const [token = "", entry = "", ...rest] = stdout.split("\n");
    expect([status, rest, stderr]).toEqual([0, [""], expect.stringContaining("auth.tokens")]);
    expect(token).toMatch(/^gw_[\w-]{43}$/);
    expect(JSON.parse(entry)).toEqual({ token, principal: "phone", scopes: ["read", "approvals"], rooms: ["desk"] });
    const again = await runCommand([...asked, "--json"]);
    const { token: other, ...same } = JSON.parse(again.stdout) as { token: string };
    expect([other === token, same]).toEqual([
      false,
      { principal: "phone", scopes: ["read", "approvals"], rooms: ["desk"] },
    ]);
  });

  it.each([
    [["--scopes", "wirte"], '--scopes[0]: unknown scope "wirte"'],
    [["--principal", "two words"], "--principal: "],
    [["--grants", "all"], '--grants[0]: unknown grant "all"'],
  ])("refuses %j", async (flags, message) => {
    const { status, stdout, stderr } = await runCommand(["token", "new", ...flags]);
    expect([status, stdout, stderr]).toEqual([2, "", expect.stringContaining(message)]);
  });
});
