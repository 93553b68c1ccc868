import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { manualClock } from "../../../core/index.ts";
import { fakeTurn } from "../../support/fake-turn.ts";
import {
  ask,
  isText,
  openTold,
  plays,
  told,
  toldAgentPath,
  watchEnd,
  type ToldOptions,
} from "../../support/told-agent.ts";

const hostPath = fileURLToPath(new URL("../../support/agents/host.ts", import.meta.url));

describe("an ACP agent's process", () => {
  it("C-041 is lost for each of its turns once, also for the one that waits", async () => {
    const { runner, notices } = openTold();
    const other = openTold().runner;
    const waiting = plays([ask({ toolCallId: "X", title: "Do" })], { member: "m1" });
    const busy = plays([{ say: "busy" }, { hang: true }], { member: "m2" });
    const elsewhere = plays([{ say: "busy" }, { hang: true }], { member: "m4" });
    const ends = [runner.run(waiting), runner.run(busy)];
    const elsewhereEnd = other.run(elsewhere);
    await Promise.all([waiting.asked(), busy.seen(isText("busy")), elsewhere.seen(isText("busy"))]);
    ends.push(runner.run(plays([{ stderr: "out of memory\n" }, { exit: 9 }], { member: "m3" })));
    const error = `${process.execPath} exited with code 9; its last lines: out of memory`;
    expect(await Promise.all(ends)).toEqual(Array(3).fill({ status: "failed", reason_code: "runner_lost", error }));
    expect(notices).toMatchObject([{ code: "agent_lost" }]);
    elsewhere.stop();
    expect(await elsewhereEnd).toEqual({ status: "cancelled" });
  });

  it("names the signal that killed it", async () => {
    const { runner } = openTold();
    const turn = plays([{ pid: true }, { hang: true }]);
    const running = runner.run(turn);
    await turn.seen(() => true);
    process.kill(Number(turn.text), "SIGKILL");
    expect(await running).toMatchObject({
      reason_code: "runner_lost",
      error: `${process.execPath} was killed by SIGKILL`,
    });
  });

  it("garbage on its output harms nobody", async () => {
    const { runner } = openTold();
    const raw =
      'npm warn\n[1,2]\n"x"\n{"jsonrpc":"2.0"}\n{"jsonrpc":"2.0","method":"session/update","params":7}\n\u0000\n';
    const turn = plays([{ raw }, { say: "fine" }]);
    expect(await runner.run(turn)).toMatchObject({ status: "completed" });
    expect(turn.text).toBe("fine");
  });

  it("I13 answers that nobody waits for are dropped, told of once, and printed by nobody", async () => {
    const printed = (["log", "error", "warn", "info"] as const).map((level) => vi.spyOn(console, level));
    onTestFinished(() => printed.forEach((spy) => spy.mockRestore()));
    const { runner, notices } = openTold();
    const evil = "\u001b[31msk-EXAMPLE0123456789abcdef";
    const lines = [
      { jsonrpc: "2.0", id: evil, result: {} },
      { jsonrpc: "2.0", id: 0, result: { sessionId: "again" } },
      { jsonrpc: "2.0", id: 77, error: { code: 1, message: evil } },
      { jsonrpc: "2.0", method: evil, params: { evil } },
      { jsonrpc: "2.0", id: 5, method: evil },
      { jsonrpc: "2.0", id: 6, method: "session/request_permission", params: { evil } },
      { jsonrpc: "2.0", method: "session/update", params: { evil } },
      { [evil]: evil },
    ];
    const turn = plays([{ raw: `${lines.map((line) => JSON.stringify(line)).join("\n")}\n` }, { say: "fine" }]);
    expect(await runner.run(turn)).toMatchObject({ status: "completed" });
    expect(turn.text).toBe("fine");
    expect(printed.flatMap((spy) => spy.mock.calls)).toEqual([]);
    const message = `${process.execPath} answers requests that it was not sent: such answers are dropped`;
    expect(notices).toEqual([{ code: "agent_stray_answer", message, subject: process.execPath }]);
  });

  it("I13 shows its last lines without the secrets that it was given", async () => {
    const secret = "s3cret-value-of-the-config";
    const { runner } = openTold({ config: { env: { MY_TOKEN: secret } } });
    const end = await runner.run(plays([{ stderr: `${"x".repeat(40_000)} ${secret}\nno ${secret}\n` }, { exit: 2 }]));
    expect(end).toMatchObject({ error: `${process.execPath} exited with code 2; its last lines: no [redacted]` });
  });

  it("gets the environment its config names, PATH and HOME, and no more", async () => {
    const { runner } = openTold({ config: { env: { K: "V" } } });
    const turn = plays([{ env: true }]);
    await runner.run(turn);
    const { PATH, HOME } = process.env;
    expect(JSON.parse(turn.text)).toEqual({ PATH, HOME, K: "V" });
  });

  it.each([
    [
      "a command that does not exist",
      { config: { command: "no-such-agent" } },
      /^no-such-agent could not be started: .*ENOENT/,
    ],
    [
      "a folder that does not exist",
      { config: { cwd: "/no/such/folder" } },
      /its folder \/no\/such\/folder does not exist$/,
    ],
    [
      "one that exits before it is ready",
      { mode: "quit" },
      /exited with code 3; its last lines: no model is configured$/,
    ],
    [
      "a program that is not there, whose reason stands above a stack",
      { config: { args: ["/no/such/agent.js"] } },
      /exited with code 1; its last lines: Error: Cannot find module '\/no\/such\/agent\.js'\n/,
    ],
    ["one that speaks another version", { mode: "old" }, /speaks version 0 of ACP, roomtap version 1$/],
    ["arguments no process can have", { config: { args: ["\0"] } }, /could not be started: /],
  ])("makes the member unavailable: %s", async (_, setup: ToldOptions, error) => {
    const end = await openTold(setup).runner.run(fakeTurn());
    expect(end).toMatchObject({ status: "failed", reason_code: "member_unavailable" });
    expect(end).toHaveProperty("error", expect.stringMatching(error));
  });

  it("makes the member unavailable when the handshake takes too long", async () => {
    const { runner } = openTold({ mode: "mute", limits: { startTimeoutMs: 1 } });
    expect(await runner.run(fakeTurn())).toEqual({
      status: "failed",
      reason_code: "member_unavailable",
      error: `${process.execPath} did not answer within 1 ms`,
    });
  });

  it("tells a login that is missing for a session", async () => {
    const end = await openTold({ mode: "shut" }).runner.run(fakeTurn());
    expect(end).toMatchObject({ status: "failed", reason_code: "provider_auth" });
  });

  it("one that ignores a stop is given up, and the next turn has a new one", async () => {
    const clock = manualClock();
    const { runner, notices } = openTold({ clock });
    const deaf = plays([{ pid: true }, { deaf: true }]);
    const running = runner.run(deaf);
    await deaf.seen(() => true);
    const pid = deaf.text;
    deaf.stop();
    await deaf.seen(isText("heard"));
    clock.advance(10_000);
    expect(await running).toEqual({ status: "cancelled" });
    expect(notices).toMatchObject([{ code: "agent_ignored_stop" }]);
    const next = plays([{ pid: true }]);
    await runner.run(next);
    expect(next.text).not.toBe(pid);
  });

  it("goes on for its other turns when one ignores a stop", async () => {
    const clock = manualClock();
    const { runner } = openTold({ clock });
    const deaf = plays([{ deaf: true }], { member: "m1" });
    const other = plays([{ pid: true }, ask({ toolCallId: "X", title: "Do" })], { member: "m2" });
    const ends = [runner.run(deaf), runner.run(other)];
    await other.asked();
    deaf.stop();
    await deaf.seen(isText("heard"));
    clock.advance(10_000);
    expect(await ends[0]).toEqual({ status: "cancelled" });
    const next = plays([{ pid: true }], { member: "m1" });
    await runner.run(next);
    expect(next.text).not.toBe(other.text);
    other.stop();
    expect(await ends[1]).toEqual({ status: "cancelled" });
    expect(other.text).toMatch(/cancelled$/);
  });

  it("runs no two turns of one session side by side", async () => {
    const { runner } = openTold();
    const slow = plays([{ pid: true }, { deaf: true }]);
    const running = runner.run(slow);
    await slow.seen(() => true);
    const next = plays([{ pid: true }]);
    expect(await runner.run(next)).toMatchObject({ status: "completed" });
    expect(next.text).not.toBe(slow.text);
    await runner.close();
    expect(await running).toMatchObject({ status: "failed", reason_code: "runner_lost" });
  });

  it("a turn stopped during the handshake is cancelled at once", async () => {
    const { runner } = openTold({ mode: "mute" });
    const turn = fakeTurn();
    const running = runner.run(turn);
    turn.stop();
    expect(await running).toEqual({ status: "cancelled" });
  });

  it("takes what it started with it when it exits", async () => {
    const { runner } = openTold();
    const { port, ended } = await watchEnd();
    const end = await runner.run(plays([{ leave: port }, { exit: 4 }]));
    expect(end).toMatchObject({ status: "failed", reason_code: "runner_lost" });
    expect(await ended).toBe("gone");
  });

  it("ends with its input when its host is killed", async () => {
    const { host, ended } = await hostWithAgent();
    host.kill("SIGKILL");
    expect(await ended).toBe("gone");
  });

  it("is killed when its host exits, whatever it does then", async () => {
    const { host, ended } = await hostWithAgent("stubborn");
    host.stdin.end();
    expect(await ended).toBe("gone");
  });

  it("is killed when neither the end of its input nor SIGTERM ends it", async () => {
    const { runner } = openTold({ mode: "stubborn", limits: { endGraceMs: 20 } });
    const turn = plays([{ pid: true }]);
    await runner.run(turn);
    await runner.close();
    expect(() => process.kill(Number(turn.text), 0)).toThrow(/ESRCH/);
  });
});

/** A host in a process of its own whose agent works; `ended` settles when the agent is gone. */
async function hostWithAgent(...mode: string[]) {
  const { port, ended } = await watchEnd();
  const post = told({ connect: port }, { say: "up" }, { deaf: true });
  const host = spawn(process.execPath, ["--import", "tsx", hostPath, post, toldAgentPath, ...mode]);
  await once(host.stdout, "data");
  return { host, ended };
}
