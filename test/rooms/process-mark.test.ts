import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../core/index.ts";
import type { ProcessMark } from "../../rooms/lease-row.ts";
import { isGone, parseProcessStat, processMark } from "../../rooms/process-mark.ts";

const isLinux = existsSync("/proc/self/stat");

const line = (name: string, state: string, threads: number, started: string): string =>
  `4711 (${name}) ${state} 1 4711 4711 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 ${threads} 0 ${started} 31 407 18446 1 1 0\n`;

describe("parseProcessStat", () => {
  it.each(["node", "a b", "we) S (rd", ")", "x (y)"])("reads behind the name %j", (name) => {
    expect(parseProcessStat(line(name, "S", 11, "366040"))).toEqual({
      pid: 4711,
      state: "S",
      threads: 11,
      started: "366040",
    });
  });

  it.each(["", "4711", "4711 (node) S 1", "x (node) S", line("node", "S", 1, "soon")])("refuses %j", (text) => {
    expect(parseProcessStat(text)).toBeUndefined();
  });
});

describe.runIf(isLinux)("on Linux", () => {
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
  });

  const own = processMark();

  function markOf(pid: number): ProcessMark {
    const stat = parseProcessStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
    return { ...own, pid, started: stat?.started ?? "" };
  }

  it("marks this process with boot, pid namespace, pid and start", () => {
    expect(own.pid).toBe(process.pid);
    expect(own.boot_id).toBe(readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
    expect(own.pid_namespace).toMatch(/^pid:\[\d+\]$/);
    expect(own.started).toMatch(/^\d+$/);
    expect(processMark()).toEqual(own);
  });

  it("proves that a killed process is gone, and not before", async () => {
    const child = spawn(process.execPath, ["-e", "console.log(1); setInterval(() => {}, 1e6)"]);
    children.push(child);
    await once(child.stdout, "data");
    const mark = markOf(child.pid ?? 0);
    expect(isGone(mark)).toBe(false);
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
    expect(isGone(mark)).toBe(true);
  });

  it("proves that a process which ended and was not collected is gone", async () => {
    // The shell becomes `cat`, which knows of no child and collects none.
    const parent = spawn("sh", ["-c", "sleep 1000 & echo $!; exec cat"], { stdio: ["pipe", "pipe", "ignore"] });
    children.push(parent);
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    // Before it is `cat`, the shell would collect what ended.
    while (readFileSync(`/proc/${parent.pid}/comm`, "utf8") !== "cat\n") {
      await new Promise<void>((go) => systemClock.defer(go));
    }
    const pid = Number(line.toString());
    const mark = markOf(pid);
    expect(isGone(mark)).toBe(false);
    process.kill(pid, "SIGKILL");
    while (!isGone(mark)) await new Promise<void>((go) => systemClock.defer(go));
    expect(parseProcessStat(readFileSync(`/proc/${pid}/stat`, "utf8"))?.state).toBe("Z");
  });

  it("proves nothing by the mark of a living process, not even with signals that may not be sent", () => {
    expect(isGone(own)).toBe(false);
    expect(isGone(markOf(1))).toBe(false);
  });

  it("proves that a pid was given to another process by its start", () => {
    expect(isGone({ ...own, started: `${Number(own.started) - 1}` })).toBe(true);
  });

  const freePid = spawnSync("true").pid;

  it("proves that a pid is free", () => {
    expect(isGone({ ...own, pid: freePid })).toBe(true);
  });

  it.each([
    ["of another boot", { boot_id: "00000000-0000-0000-0000-000000000000" }],
    ["of another pid namespace", { pid_namespace: "pid:[1]" }],
    ["without a boot", { boot_id: "" }],
    ["without a pid namespace", { pid_namespace: "" }],
    ["without a start", { started: "" }],
    ["with pid 0", { pid: 0 }],
    ["with a negative pid", { pid: -5 }],
    ["with a pid that no system has", { pid: 2 ** 40 }],
  ])("proves nothing by a mark %s", (_what, fields) => {
    const mark = { ...own, pid: freePid, ...fields };
    expect(isGone(mark)).toBe(false);
  });
});
