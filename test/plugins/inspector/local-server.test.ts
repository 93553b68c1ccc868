import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { announceServer, findServers, runtimeFolder } from "../../../plugins/index.ts";
import { processMark } from "../../../rooms/index.ts";

const server = { url: "ws://127.0.0.1:4711/api/ws", token: "gw-secret", db: "/data/roomtap.db" };

function folders(): { readonly base: string; readonly folder: string } {
  const base = mkdtempSync(join(tmpdir(), "roomtap-test-"));
  onTestFinished(() => rmSync(base, { recursive: true }));
  return { base, folder: join(base, "roomtap") };
}

function path(folder: string): string {
  return join(folder, `server-${process.pid}.json`);
}

describe("a server's entry", () => {
  it("is found with url and token, and readable for its user alone", () => {
    const { folder } = folders();
    announceServer(server, folder);
    expect(findServers(folder)).toEqual({ servers: [{ v: 1, ...server, process: processMark() }], gone: [] });
    expect([lstatSync(folder).mode & 0o777, lstatSync(path(folder)).mode & 0o777]).toEqual([0o700, 0o600]);
    expect(readdirSync(folder)).toEqual([`server-${process.pid}.json`]);
  });

  it("goes with its undo, which may be called twice", () => {
    const { folder } = folders();
    const undo = announceServer(server, folder);
    if (typeof undo === "string") throw new Error(undo);
    undo();
    undo();
    expect([findServers(folder).servers, readdirSync(folder)]).toEqual([[], []]);
  });

  it("of a process that is gone is told once and removed", () => {
    const { folder } = folders();
    announceServer(server, folder);
    const entry = JSON.parse(readFileSync(path(folder), "utf8")) as { process: { started: string } };
    const old = { ...entry, process: { ...entry.process, started: "1" } };
    writeFileSync(path(folder), JSON.stringify(old));
    expect(findServers(folder)).toEqual({ servers: [], gone: [old] });
    expect(findServers(folder)).toEqual({ servers: [], gone: [] });
  });

  it.each([
    ["no JSON", "{"],
    ["an unknown version", JSON.stringify({ v: 2, ...server, process: processMark() })],
    ["more than an entry holds", JSON.stringify({ v: 1, ...server, db: "x".repeat(65_536), process: processMark() })],
  ])("that is %s is passed over", (_, text) => {
    const { folder } = folders();
    announceServer(server, folder);
    writeFileSync(path(folder), text);
    expect(findServers(folder)).toEqual({ servers: [], gone: [] });
  });

  it("that others could read or have put there is passed over", () => {
    const { base, folder } = folders();
    announceServer(server, folder);
    chmodSync(path(folder), 0o644);
    expect(findServers(folder).servers).toEqual([]);
    writeFileSync(join(base, "other.json"), readFileSync(path(folder)), { mode: 0o600 });
    rmSync(path(folder));
    symlinkSync(join(base, "other.json"), path(folder));
    expect(findServers(folder).servers).toEqual([]);
  });

  it("replaces a link that lies in its place, and writes through none", () => {
    const { base, folder } = folders();
    mkdirSync(folder, { mode: 0o700 });
    const target = join(base, "target");
    writeFileSync(target, "kept");
    symlinkSync(target, `${path(folder)}.new`);
    symlinkSync(target, path(folder));
    announceServer(server, folder);
    expect(readFileSync(target, "utf8")).toBe("kept");
    expect(findServers(folder).servers.length).toBe(1);
  });
});

describe("a runtime folder", () => {
  it("that others can enter is not written to, nor read", () => {
    const { folder } = folders();
    mkdirSync(folder);
    chmodSync(folder, 0o755);
    expect(announceServer(server, folder)).toBe(`${folder} is open to others`);
    expect(readdirSync(folder)).toEqual([]);
    expect(findServers(folder)).toEqual({ servers: [], gone: [] });
  });

  it("that is a link is not followed", () => {
    const { base, folder } = folders();
    mkdirSync(join(base, "theirs"), { mode: 0o700 });
    symlinkSync(join(base, "theirs"), folder);
    expect(announceServer(server, folder)).toBe(`${folder} is no folder of ours`);
  });

  it("that cannot be made is told, and nothing throws", () => {
    const { base } = folders();
    writeFileSync(join(base, "file"), "");
    expect(announceServer(server, join(base, "file", "roomtap"))).toMatch(/ENOTDIR/);
    expect(findServers(join(base, "nowhere"))).toEqual({ servers: [], gone: [] });
  });

  it("is that of the login, or one of the user's name", () => {
    expect(runtimeFolder({ XDG_RUNTIME_DIR: "/run/user/7" })).toBe("/run/user/7/roomtap");
    expect(runtimeFolder({ XDG_RUNTIME_DIR: "relative" })).toMatch(/^\/.*\/roomtap-[\w.-]+$/);
  });
});
