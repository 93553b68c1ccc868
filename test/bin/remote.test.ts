import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { createClient } from "../../plugins/client/index.ts";
import { jsonLines } from "../support/command.ts";
import { commandPlace, script, serve, type ListeningLine } from "../support/served-command.ts";

const ask = { ask: { method: "approval", params: { command: "rm -rf build", choices: ["once", "deny"] } } };
const clarify = { ask: { method: "clarify", params: { question: "Deploy?" } } };

/** A session whose turn asks a question, and a client that is shown it and does not answer. */
async function askedSession({ ws: url, token }: ListeningLine): Promise<{ readonly withdrawn: Promise<unknown> }> {
  const client = createClient({ url, token, WebSocket });
  onTestFinished(() => client.close());
  await client.connect();
  const withdrawn = new Promise<unknown>((resolve) => {
    client.on("request.resolved", ({ payload: { outcome } }) => resolve(outcome));
  });
  const shown = new Promise<void>((resolve) => {
    client.onRequest("clarify", ({ signal }) => {
      resolve();
      return new Promise((answer) => signal.addEventListener("abort", answer));
    });
  });
  const { session_id } = await client.call("session.create", {});
  await client.submit({ session_id, text: script(clarify) });
  await shown;
  return { withdrawn };
}

describe("send and tail", () => {
  it("follow a room, and go on behind the last row when the server was started anew", async () => {
    const place = commandPlace();
    const first = await serve(place);
    const tail = place.start(["tail", "release", "--kind", "turn.*", "--since", "0", "--count", "2", "--fail-on-loss"]);
    const sent = await place.run(["send", "release", `@echo ${script({ delta: "one" })}`]);
    expect(sent).toMatchObject({ status: 0, stdout: expect.stringMatching(/^msg-\w+ {2}accepted {2}m-echo\n$/) });
    const tailed = await tail.result;
    expect(tailed.status).toBe(0);
    expect(tailed.stdout.match(/^\d+ {2}turn\.\w+/gm)).toEqual(["1  turn.started", "2  turn.settled"]);
    const [, again = ""] = /go on with: roomtap (tail release --since 2)\n$/.exec(tailed.stderr) ?? [];
    expect(again).not.toBe("");
    await first.stop();
    await serve(place);
    await place.run(["send", "release", `@echo ${script({ delta: "two" })}`]);
    const next = await place.run([...again.split(" "), "--kind", "turn.settled", "--count", "1", "--json"]);
    expect(jsonLines(next.stdout)).toMatchObject([
      { type: "row", row: { seq: 4, kind: "turn.settled", payload: { text: "two" } } },
      { type: "summary", rows: 1, lost: 0, since: 4 },
    ]);
  });

  it("a tail whose server went for good ends with 3, and says where to go on", async () => {
    const place = commandPlace();
    const { ws, stop } = await serve(place);
    const tail = place.start(["tail", "release", "--since", "0"]);
    await place.run(["send", "release", `@echo ${script({ delta: "one" })}`]);
    await tail.seen(/2 {2}turn\.settled/);
    await stop();
    await tail.seen(/the connection was lost; it is made again\n/);
    // Another life has another token: what the tail holds is worth nothing there.
    await serve(place, { port: Number(new URL(ws).port) });
    const { status, stderr } = await tail.result;
    expect(status).toBe(3);
    expect(stderr.split("\n")).toEqual([
      "the connection was lost; it is made again",
      expect.stringMatching(/^2 rows, .*; go on with: roomtap tail release --since 2$/),
      expect.stringMatching(/^roomtap: not_connected: .*4401 token_mismatch/),
      "",
    ]);
  });

  it("a tail prints its resume line at Ctrl-C, and ends with 130", async () => {
    const place = commandPlace();
    await serve(place);
    const tail = place.start(["tail", "release", "--since", "0"]);
    await place.run(["send", "release", `@echo ${script({ delta: "one" })}`]);
    await tail.seen(/2 {2}turn\.settled/);
    tail.child.kill("SIGINT");
    expect(await tail.result).toMatchObject({ status: 130, stderr: expect.stringMatching(/--since 2\n$/) });
  });
});

describe("a tail that somebody paused", () => {
  it("changes nothing for the room, and reads all of it when it goes on", { timeout: 60_000 }, async () => {
    const place = commandPlace();
    await serve(place);
    await place.run(["send", "release", `@echo ${script({ delta: "before" })}`]);
    const tail = place.start(["tail", "release", "--since", "0", "--json"]);
    await tail.seen(/"text":"before"/);
    tail.child.kill("SIGSTOP");
    const steps = [{ repeat: { times: 2_000, steps: [{ tool: { id: "c", name: "read" } }, { delta: "text" }] } }];
    await place.run(["send", "release", `@echo ${script(...steps, { finish: "done" })}`]);
    const settled = place.start([
      "tail",
      "release",
      "--since",
      "2",
      "--kind",
      "turn.settled",
      "--count",
      "1",
      "--json",
    ]);
    const [row] = jsonLines((await settled.result).stdout) as readonly {
      readonly row?: { readonly payload: object };
    }[];
    expect(row?.row?.payload).toMatchObject({ status: "completed", text: "done" });
    tail.child.kill("SIGCONT");
    const [, text] = await tail.seen(/"kind":"turn\.settled".*"text":"(done)"/);
    expect(text).toBe("done");
  });
});

describe("requests and answer", () => {
  it("list an approval of a room, answer it once, and say how it ended", async () => {
    const place = commandPlace();
    const { running } = await serve(place);
    await place.run(["send", "release", `@echo ${script(ask, { delta: "went on" })}`]);
    const [, hinted] = await running.seen(
      /an approval waits: rm -rf build\nanswer it: roomtap answer (\S+) once, or deny\n/,
    );
    const listed = await place.run(["requests"]);
    const [, id = ""] = /^(srq-\w{12}) {2}approval {2}#release m-echo {2}once deny\n {2}rm -rf build\n$/.exec(
      listed.stdout,
    ) ?? [""];
    expect(id).toBe(hinted);
    const slip = await place.run(["answer", id, "onec"]);
    expect([slip.status, slip.stdout]).toEqual([2, ""]);
    expect(slip.stderr).toMatch(/^roomtap: invalid_choice: srq-\w+ offers once, deny, got "onec": [^\n]*\n$/);
    expect(await place.run(["answer", id, "once"])).toMatchObject({ status: 0, stdout: `${id} answered once\n` });
    expect(await place.run(["answer", id, "deny"])).toMatchObject({
      status: 1,
      stdout: `${id} was answered once before\n`,
    });
    expect(await place.run(["requests", "--json"])).toMatchObject({ status: 0, stdout: "[]\n" });
  });

  it("answer a question of a session, which leaves the client that was shown it", async () => {
    const place = commandPlace();
    const { withdrawn } = await askedSession(await serve(place));
    const [request] = JSON.parse((await place.run(["requests", "--json"])).stdout) as { id: string }[];
    expect(request).toMatchObject({ method: "clarify", question: "Deploy?" });
    expect((await place.run(["answer", request?.id ?? "", "yes"])).status).toBe(0);
    expect(await withdrawn).toBe("answered");
  });
});

describe("raw", () => {
  it("prints the result of a method, or its refusal", async () => {
    const place = commandPlace();
    const { ws, token } = await serve(place);
    const ping = await place.run(["raw", "gateway.ping", "--url", ws, "--token", token, "--json"]);
    expect(ping).toEqual({ status: 0, stdout: '{"ok":true}\n', stderr: "" });
    const refused = await place.run(["raw", "session.history", '{"session_id":"nobody"}', "--json"]);
    expect(refused.status).toBe(2);
    expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: 4001, data: { reason: "unknown_session" } } });
    expect(refused.stderr).toMatch(/^roomtap: unknown_session: [^\n]*\n$/);
    const nowhere = await place.run(["send", "attic", "hello"]);
    expect([nowhere.status, nowhere.stderr]).toEqual([
      2,
      "roomtap: unknown_room: groups.send: there is no room attic; the server's rooms: release. Name one of them.\n",
    ]);
    const wrong = await place.run(["raw", "prompt.submit", '{"session_id":1}', "--json"]);
    expect(JSON.parse(wrong.stdout)).toMatchObject({ error: { code: -32602, data: { reason: "invalid_params" } } });
  });
});

describe("a command without its server", () => {
  it("ends with 3 when none runs, and when it shows a wrong token", async () => {
    const place = commandPlace();
    const none = await place.run(["requests"]);
    expect([none.status, none.stdout]).toEqual([3, ""]);
    expect(none.stderr).toMatch(/^roomtap: not_connected: no server of yours runs on this machine\. [^\n]*\n$/);
    await serve(place);
    const wrong = await place.run(["requests", "--token", "a-wrong-token-0123456789"]);
    expect([wrong.status, wrong.stdout]).toEqual([3, ""]);
    expect(wrong.stderr).toMatch(/^roomtap: not_connected: [^\n]*4401 token_mismatch[^\n]*\n$/);
    expect(wrong.stderr).not.toContain("a-wrong-token");
  });

  it("asks which one when several run", async () => {
    const place = commandPlace();
    const { ws } = await serve(place);
    const other = await serve({ ...commandPlace(), start: place.start });
    const { status, stderr } = await place.run(["requests"]);
    expect(status).toBe(3);
    expect(stderr).toContain(ws);
    expect(stderr).toContain(other.ws);
    expect(stderr).toContain(`(${place.db})`);
    expect((await place.run(["requests", "--url", other.ws])).status).toBe(0);
    expect((await place.run(["requests", "--url", other.ws.replace("127.0.0.1", "localhost")])).status).toBe(0);
  });

  it.each([
    [{ ROOMTAP_URL: "", ROOMTAP_TOKEN: "" }, 3, "not_connected: no server of yours runs on this machine"],
    [{ ROOMTAP_URL: "localhost" }, 2, "invalid_params: ROOMTAP_URL: Invalid URL"],
    [{ ROOMTAP_URL: "ws://h:1" }, 2, "invalid_params: ROOMTAP_URL: expected the path /api/ws"],
    [{ ROOMTAP_TOKEN: "two words" }, 2, "invalid_params: ROOMTAP_TOKEN: expected printable characters"],
  ])("reads the environment %j", async (environment: { readonly [name: string]: string }, status, problem) => {
    const result = await commandPlace(undefined, environment).run(["requests"]);
    expect([result.status, result.stdout]).toEqual([status, ""]);
    expect(result.stderr.startsWith(`roomtap: ${problem}`)).toBe(true);
  });

  it.each([
    [["tail", "release", "--count", "0"]],
    [["raw", "gateway.ping", "[]"]],
    [["requests", "--url", "http://h"]],
  ])("is refused %j", async (args) => {
    const { status, stdout, stderr } = await commandPlace().run(args);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^roomtap: (usage|invalid_params): [^\n]*\n$/);
  });
});

describe("open", () => {
  it("prints a link that opens the server's page, and whose ticket lets in once", async () => {
    const place = commandPlace();
    const server = await serve(place);
    const { status, stdout } = await place.run(["open", "--json"]);
    const [printed] = jsonLines(stdout) as readonly { readonly link: string; readonly expires_in: number }[];
    const { origin, hash } = new URL(printed?.link ?? "");
    expect([status, origin, printed?.expires_in]).toEqual([0, server.http, 300]);
    expect((await fetch(`${origin}/`)).headers.get("content-type")).toBe("text/html; charset=utf-8");
    const ticket = hash.slice("#ticket=".length);
    const upgrade = async (): Promise<unknown> => {
      const client = createClient({ url: server.ws, ticket: async () => ticket, WebSocket, reconnect: false });
      onTestFinished(() => client.close());
      return client.connect().then(
        () => "ready",
        (fault: unknown) => (fault as { closeReason: unknown }).closeReason,
      );
    };
    expect([await upgrade(), await upgrade()]).toEqual(["ready", "ticket_invalid"]);
  });
});
