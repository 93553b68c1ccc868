import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../core/index.ts";
import { createProcessRunner } from "../../../plugins/runners/process-runner.ts";
import { isText, plays, told, toldAgentPath, watchEnd } from "../../support/told-agent.ts";
import { isThere, openChild, said, toldRunnerPath } from "../../support/told-runner.ts";

const hostPath = fileURLToPath(new URL("../../support/agents/child-host.ts", import.meta.url));

describe("a child that dies", { timeout: 60_000 }, () => {
  it.each<[string, object[], RegExp]>([
    ["exits", [{ stderr: "out of tokens\n" }, { exit: 9 }], /exited with code 9; its last lines: out of tokens$/],
    ["exits as if all were well", [{ exit: 0 }], /exited with code 0$/],
    ["is killed", [{ signal: "SIGKILL" }, { deaf: true }], /was killed by SIGKILL$/],
    [
      "throws where nobody catches it",
      [{ uncaught: "lost it" }],
      /exited with code 1; its last lines: .*Error: lost it/s,
    ],
    ["rejects where nobody hears it", [{ reject: "lost it" }, { deaf: true }], /exited with code 1; .*Error: lost it/s],
    ["fills its heap", [{ heap: true }], /was killed by SIGABRT; its last lines: .*heap out of memory/s],
  ])("C-041 is lost for each of its turns once, and the next turn has another: it %s", async (_word, steps, error) => {
    const env = { NODE_OPTIONS: "--max-old-space-size=24" };
    const { runner, notices } = openChild({ config: { env } });
    const question = { method: "clarify", params: { question: "?" } };
    const asking = plays([{ pid: true }, { ask: question }], { member: "m1" });
    const busy = plays([{ say: "busy" }, { hang: true }], { member: "m2" });
    const ends = [runner.run(asking), runner.run(busy)];
    await Promise.all([asking.asked(), busy.seen(isText("busy"))]);
    ends.push(runner.run(plays(steps, { member: "m3" })));
    const settled = await Promise.all(ends);
    for (const end of settled) {
      expect(end).toMatchObject({ status: "failed", reason_code: "runner_lost" });
      expect(end).toHaveProperty("error", expect.stringMatching(error));
    }
    expect(isThere(asking.text)).toBe(false);
    expect(notices).toMatchObject([{ code: "agent_lost", subject: toldRunnerPath }]);
    const next = plays([{ pid: true }], { member: "m1" });
    expect(await runner.run(next)).toMatchObject({ status: "completed" });
    expect(next.text).not.toBe(asking.text);
  });

  it("gives all that it had emitted", async () => {
    const { runner } = openChild();
    const turn = plays([{ flood: 20_000 }, { signal: "SIGKILL" }, { deaf: true }]);
    expect(await runner.run(turn)).toMatchObject({ reason_code: "runner_lost" });
    expect(turn.frames).toHaveLength(20_000);
  });

  it("takes with it what it started", async () => {
    const { runner } = openChild();
    const { port, ended } = await watchEnd();
    expect(await runner.run(plays([{ leave: port }, { exit: 4 }]))).toMatchObject({ reason_code: "runner_lost" });
    expect(await ended).toBe("gone");
  });

  it("takes with it an agent that leads a group of its own and heeds nothing", async () => {
    const { port, ended } = await watchEnd();
    const args = [toldAgentPath, "stubborn"];
    const runner = createProcessRunner(
      { kind: "acp", command: process.execPath, args, process: true },
      { clock: systemClock, report: () => undefined, limits: { closeGraceMs: 0 } },
    );
    const turn = plays([{ connect: port }, { say: "up" }, { deaf: true }]);
    const running = runner.run(turn);
    await said(turn);
    await runner.close();
    expect(await running).toMatchObject({ reason_code: "runner_lost" });
    expect(await ended).toBe("gone");
  });

  it("I13 shows its last lines without the secrets that it was given", async () => {
    const secret = "s3cret-value-of-the-config";
    const { runner } = openChild({ config: { env: { MY_TOKEN: secret } } });
    const end = await runner.run(plays([{ stderr: `no ${secret}\n` }, { exit: 2 }]));
    expect(end).toMatchObject({ error: `${toldRunnerPath} exited with code 2; its last lines: no [redacted]` });
  });
});

describe("a child that does not end a turn", { timeout: 60_000 }, () => {
  it.each([
    ["is in an endless loop", { loop: true }],
    ["does not heed", { deaf: true }],
  ])("is killed after its grace: it %s", async (_word, step) => {
    const { runner, notices } = openChild({ limits: { stopGraceMs: 20 } });
    const other = plays([{ say: "busy" }, { hang: true }], { member: "m2" });
    const ends = [runner.run(other)];
    await said(other);
    const stuck = plays([{ pid: true }, step]);
    ends.push(runner.run(stuck));
    const pid = await said(stuck);
    stuck.stop();
    expect(await ends[1]).toEqual({ status: "cancelled" });
    const problem = "went on for 20 ms after it was asked to stop";
    expect(await ends[0]).toEqual({
      status: "failed",
      reason_code: "runner_lost",
      error: `${toldRunnerPath} was killed because another turn ${problem}`,
    });
    expect(isThere(pid)).toBe(false);
    const word = { subject: toldRunnerPath };
    expect(notices).toMatchObject([
      { ...word, code: "agent_ignored_stop" },
      { ...word, code: "agent_lost" },
    ]);
    expect(await runner.run(plays([{ say: "next" }]))).toMatchObject({ status: "completed" });
  });

  it("is left alone when its turn ends within the grace", async () => {
    const { runner, notices } = openChild();
    const turn = plays([{ pid: true }, { hang: true }]);
    const running = runner.run(turn);
    const pid = await said(turn);
    turn.stop();
    expect(await running).toEqual({ status: "cancelled" });
    const next = plays([{ pid: true }]);
    await runner.run(next);
    expect([next.text, notices]).toEqual([pid, []]);
  });
});

describe("a child that has no runner", { timeout: 60_000 }, () => {
  it.each([
    ["its module is no runner", { options: { load: "throws" } }, /has no runner: .*threw: no model is configured$/],
    ["it exits meanwhile", { options: { load: "exits" } }, /exited with code 3$/],
    ["its folder does not exist", { cwd: "/no/such/folder" }, /its folder \/no\/such\/folder does not exist$/],
    [
      "its environment cannot be",
      { env: { NODE_OPTIONS: "--no-such-option" } },
      /exited with code 9; .*no-such-option/,
    ],
  ])("makes the member unavailable: %s", async (_word, config, error) => {
    const { runner, notices } = openChild({ config });
    for (const turn of [plays([]), plays([])]) {
      const end = await runner.run(turn);
      expect(end).toMatchObject({ status: "failed", reason_code: "member_unavailable" });
      expect(end).toHaveProperty("error", expect.stringMatching(error));
    }
    expect(notices).toEqual([]);
  });

  it("makes the member unavailable when it loads for too long", async () => {
    const { runner } = openChild({ config: { options: { load: "loops" } }, limits: { startTimeoutMs: 500 } });
    expect(await runner.run(plays([]))).toEqual({
      status: "failed",
      reason_code: "member_unavailable",
      error: `${toldRunnerPath} did not have its runner within 500 ms`,
    });
  });

  it("leaves a turn that is stopped meanwhile cancelled at once", async () => {
    const { runner } = openChild({ config: { options: { load: "loops" } } });
    const turn = plays([]);
    const running = runner.run(turn);
    turn.stop();
    expect(await running).toEqual({ status: "cancelled" });
  });
});

describe("closing a runner in a child", { timeout: 60_000 }, () => {
  it.each([
    ["closes", "at once", 60_000],
    ["fails at closing", "throws", 60_000],
    ["does not close", "deaf", 20],
  ])("ends the child, twice if asked: the runner %s", async (_word, close, closeGraceMs) => {
    const { runner, notices } = openChild({ config: { options: { close } }, limits: { closeGraceMs } });
    const turn = plays([{ pid: true }, { hang: true }]);
    const running = runner.run(turn);
    const pid = await said(turn);
    await Promise.all([runner.close(), runner.close()]);
    await runner.close();
    expect(isThere(pid)).toBe(false);
    const error = `${toldRunnerPath} was closed`;
    expect(await running).toEqual({ status: "failed", reason_code: "runner_lost", error });
    expect(notices).toEqual([]);
  });

  it("ends a child that is not ready yet, and one that is in an endless loop", async () => {
    const loading = openChild({ config: { options: { load: "loops" } } }).runner;
    const looping = openChild({ limits: { closeGraceMs: 20 } }).runner;
    const turn = plays([{ pid: true }, { loop: true }]);
    const ends = [loading.run(plays([])), looping.run(turn)];
    await said(turn);
    await Promise.all([loading.close(), looping.close()]);
    expect(await Promise.all(ends)).toMatchObject([
      { reason_code: "member_unavailable" },
      { reason_code: "runner_lost" },
    ]);
    expect(isThere(turn.text)).toBe(false);
  });
});

describe("a child whose host is gone", { timeout: 60_000 }, () => {
  it.each([
    ["waits", { deaf: true }],
    ["is in an endless loop", { loop: true }],
  ])("ends itself with all it started when the host is killed: it %s", async (_word, step) => {
    const { port, ended } = await watchEnd();
    const other = await watchEnd();
    const host = await hostWithChild({ leave: other.port }, { connect: port }, { pid: true }, step);
    host.kill("SIGKILL");
    expect(await Promise.all([ended, other.ended])).toEqual(["gone", "gone"]);
  });

  it("is killed when the host exits", async () => {
    const { port, ended } = await watchEnd();
    const host = await hostWithChild({ connect: port }, { pid: true }, { loop: true });
    host.stdin.end();
    expect(await ended).toBe("gone");
  });

  it("ends an agent of its own that heeds nothing, when the host is killed", async () => {
    const { port, ended } = await watchEnd();
    const config = { kind: "acp", command: process.execPath, args: [toldAgentPath, "stubborn"], process: true };
    const host = await startHost(config, told({ connect: port }, { say: "up" }, { deaf: true }));
    host.kill("SIGKILL");
    expect(await ended).toBe("gone");
  });
});

/** A host in a process of its own whose child takes these steps, and has said something. */
function hostWithChild(...steps: object[]) {
  return startHost({ kind: "module", path: toldRunnerPath, process: true }, told(...steps));
}

async function startHost(config: object, post: string) {
  const host = spawn(process.execPath, ["--import", "tsx", hostPath, JSON.stringify(config), post]);
  await once(host.stdout, "data");
  return host;
}
