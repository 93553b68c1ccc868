import { describe, expect, it } from "vitest";
import { jsonLines, type RunningCommand } from "../support/command.ts";
import type { Came } from "../support/host-client.ts";
import { commandPlace, script } from "../support/served-command.ts";

function line(id: number, method: string, params: object = {}): string {
  return `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
}

const create = line(1, "session.create");

/** Starts it, and makes a session. */
async function open(): Promise<{ readonly running: RunningCommand; readonly session_id: string }> {
  const { config, db, start } = commandPlace();
  const running = start(["up", "--config", config, "--db", db, "--stdio"]);
  running.type(create);
  const [, session_id = ""] = await running.seen(/"id":1,"result":\{"session_id":"([^"]+)"/);
  return { running, session_id };
}

describe("up --stdio", () => {
  it("W10 holds a whole conversation: ready without five keys, and turns without origin", async () => {
    const { running, session_id } = await open();
    running.type(line(2, "prompt.submit", { session_id, text: "hello you" }));
    await running.seen(/"type":"message\.complete"/);
    running.type(line(3, "gateway.ping"));
    running.child.stdin.end();
    const { status, stdout, stderr } = await running.result;
    expect([status, stderr]).toEqual([0, ""]);
    const frames = jsonLines<Came>(stdout);
    expect(frames.map(({ id, params }) => id ?? params?.type)).toEqual([
      ...["gateway.ready", 1, 2],
      ...["message.start", "session.info", "message.delta", "message.delta", "message.complete", "session.info", 3],
    ]);
    expect(Object.keys(frames[0]?.params?.payload ?? {}).toSorted()).toEqual([
      "capabilities",
      "change_events",
      "protocol",
      "replay_epoch",
      "skin",
    ]);
    expect(stdout).not.toContain('"origin"');
    expect(frames[3]?.params?.turn?.source).toEqual({ kind: "unknown" });
    expect(frames.at(-1)).toMatchObject({ error: { code: -32601, data: { reason: "unknown_method" } } });
  });

  it("answers what was asked before its input ended", async () => {
    const { config, db, run } = commandPlace();
    const { status, stdout } = await run(["up", "--config", config, "--db", db, "--stdio"], `${create}no json\n[]`);
    const frames = jsonLines<Came>(stdout);
    expect(status).toBe(0);
    expect(frames.map(({ id, error }) => [id, error?.data.reason])).toEqual(
      expect.arrayContaining([
        [1, undefined],
        [null, "parse_error"],
        [null, "invalid_request"],
      ]),
    );
    expect(frames.length).toBe(4);
  });

  it("ends quietly when its reader has gone", async () => {
    const { running, session_id } = await open();
    running.child.stdout.destroy();
    running.type(line(2, "prompt.submit", { session_id, text: "hello" }));
    expect(await running.result).toMatchObject({ status: 0, stderr: "" });
  });

  it("ends with a line on standard error when its reader does not keep up", async () => {
    const { running, session_id } = await open();
    running.child.stdout.pause();
    const flood = script({ repeat: { times: 50_000, steps: [{ delta: "x".repeat(500) }, { sleep_ms: 1 }] } });
    running.type(line(2, "prompt.submit", { session_id, text: flood }));
    await running.seen(/^roomtap: the reader of standard output did not keep up\n$/);
    // Only now does anybody read: it has ended by then.
    running.child.once("exit", () => running.child.stdout.resume());
    expect((await running.result).status).toBe(1);
  });

  it("stops at SIGTERM with 143, and what runs is settled", async () => {
    const { running, session_id } = await open();
    running.type(line(2, "prompt.submit", { session_id, text: script({ delta: "begun" }, { sleep_ms: 600_000 }) }));
    await running.seen(/"type":"message\.delta"/);
    running.child.kill("SIGTERM");
    const { status, stdout } = await running.result;
    expect(status).toBe(143);
    const end = jsonLines<Came>(stdout).find(({ params }) => params?.type === "message.complete");
    expect(end?.params?.payload).toMatchObject({ status: "interrupted", text: "begun" });
  });
});
