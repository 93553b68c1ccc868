import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import type { ActivityEvent } from "../../core/index.ts";
import { createClient, type Client, type LinkError } from "../../plugins/client/index.ts";
import { jsonLines } from "../support/command.ts";
import { commandPlace, script, serve, type ListeningLine } from "../support/served-command.ts";

/** A client of this server that does not come back once it was sent away. */
async function connect({ ws: url, token }: ListeningLine): Promise<Client> {
  const client = createClient({ url, token, WebSocket, reconnect: false });
  onTestFinished(() => client.close());
  await client.connect();
  return client;
}

/** How the server closes a socket that is opened like this; `open` while it does not. */
function knock({ ws, token }: Pick<ListeningLine, "ws" | "token">, origin?: string): Promise<string> {
  const bearer = token === "" ? {} : { Authorization: `Bearer ${token}` };
  const socket = new WebSocket(ws, { headers: { ...bearer, ...(origin === undefined ? {} : { Origin: origin }) } });
  onTestFinished(() => socket.terminate());
  return new Promise((resolve, reject) => {
    socket.once("message", () => resolve("open"));
    socket.once("close", (code, reason) => resolve(`${code} ${reason.toString()}`));
    socket.once("error", reject);
  });
}

describe("up --port", () => {
  it("says first where it listens, then each event, as JSON lines, and stays", async () => {
    const place = commandPlace();
    const { running, stop, ...listening } = await serve(place);
    const { port } = new URL(listening.ws);
    expect(listening).toEqual({
      event: "listening",
      http: `http://127.0.0.1:${port}`,
      ws: `ws://127.0.0.1:${port}/api/ws`,
      token: expect.stringMatching(/^[\w-]{43}$/),
    });
    const client = await connect({ ...listening });
    await client.post({ room_id: "release", text: `@echo ${script({ delta: "one" })}` });
    await running.seen(/"kind":"turn\.settled"/);
    expect(await stop()).toBe(143);
    const [, ...events] = jsonLines<ActivityEvent>((await running.result).stdout);
    expect(events.map(({ n, kind }) => [n, kind])).toEqual([
      [1, "turn.started"],
      [2, "message.delta"],
      [3, "turn.settled"],
    ]);
  });

  it("sends its clients away with 1001 at SIGTERM, and leaves no entry behind", async () => {
    const place = commandPlace();
    const server = await serve(place);
    const client = await connect(server);
    const entries = (): readonly string[] => readdirSync(join(place.env.XDG_RUNTIME_DIR, "roomtap"));
    await expect.poll(entries).toEqual([`server-${server.running.child.pid}.json`]);
    const ended = new Promise<LinkError>((resolve) => void client.onEnd(resolve));
    expect(await server.stop()).toBe(143);
    expect(await ended).toMatchObject({ closeCode: 1001, closeReason: "shutting_down" });
    expect(entries()).toEqual([]);
    expect((await server.running.result).stderr).not.toContain("roomtap:");
  });

  it("tells people where it listens without --json", async () => {
    const { start, config, db } = commandPlace();
    const running = start(["up", "--config", config, "--db", db, "--port", "0"]);
    const [, ws = "", token = ""] = await running.seen(/^listening: (\S+), token (\S+)\n/);
    expect(await knock({ ws, token })).toBe("open");
    await running.seen(/a command \(\/state, \/stop, \.\.\.\), Ctrl-C stops\n/);
    running.child.kill("SIGINT");
    expect(await running.result).toMatchObject({ status: 130, stdout: "" });
  });

  it("asks for the token of its environment, also after a restart, and tells it to nobody", async () => {
    const token = "a-token-of-18-char";
    const place = commandPlace(undefined, { ROOMTAP_TOKEN: token });
    const first = await serve(place);
    const port = Number(new URL(first.ws).port);
    expect([first.token, await knock({ ...first, token })]).toEqual([null, "open"]);
    await first.stop();
    const again = await serve(place, { port });
    expect(await Promise.all([knock({ ...again, token }), knock({ ...again, token: `${token}s` })])).toEqual([
      "open",
      "4401 token_mismatch",
    ]);
    expect(await place.run(["raw", "gateway.ping", "--json"])).toMatchObject({ status: 0, stdout: '{"ok":true}\n' });
    await again.stop();
    const running = place.start(["up", "--config", place.config, "--db", place.db, "--port", "0"]);
    await running.seen(/^listening: \S+, with the token of ROOMTAP_TOKEN\n/);
  });

  it.each(["", "15 characters .", "fifteen-charact", "aaaaaaaaaaaaaaaa"])(
    "is refused the token %j of its environment",
    async (token) => {
      const { config, db, run } = commandPlace(undefined, { ROOMTAP_TOKEN: token });
      const { status, stderr } = await run(["up", "--config", config, "--db", db, "--port", "0"]);
      expect([status, stderr]).toEqual([
        2,
        "roomtap: invalid_params: ROOMTAP_TOKEN: expected at least 16 printable characters without a space, and not " +
          "one repeated. See `roomtap up --help`.\n",
      ]);
    },
  );

  it("lets no page in from elsewhere, unless it is named", async () => {
    const origin = "https://app.example";
    const own = await serve(commandPlace());
    const named = await serve(commandPlace(), { more: ["--allow-origin", origin] });
    expect(await Promise.all([knock(own), knock(own, own.http), knock(own, origin)])).toEqual([
      "open",
      "open",
      "4403 origin_not_allowed",
    ]);
    expect(await Promise.all([knock(named), knock(named, origin), knock(named, named.http)])).toEqual([
      "open",
      "open",
      "4403 origin_not_allowed",
    ]);
  });

  it("listens where --host says, and lets no page in there by itself", async () => {
    const token = "a-token-of-the-environment";
    const server = await serve(commandPlace(undefined, { ROOMTAP_TOKEN: token }), { more: ["--host", "0.0.0.0"] });
    const { port, hostname } = new URL(server.ws);
    expect(hostname).toBe("0.0.0.0");
    expect(server.token).toBeNull();
    const ws = `ws://127.0.0.1:${port}/api/ws`;
    expect(await knock({ ws, token })).toBe("open");
    expect(await knock({ ws, token }, `http://127.0.0.1:${port}`)).toBe("4403 origin_not_allowed");
    // A URL ends up in logs, so there it is no credential.
    expect(await knock({ ws: `${ws}?token=${token}`, token: "" })).toBe("4401 no_credential");
  });

  it("S53 is refused an address that others reach without a credential of the operator's", async () => {
    const { config, db, run } = commandPlace();
    const { status, stdout, stderr } = await run([
      "up",
      "--config",
      config,
      "--db",
      db,
      "--port",
      "0",
      "--host",
      "0.0.0.0",
    ]);
    expect([status, stdout, stderr]).toEqual([2, "", expect.stringContaining("invalid_config")]);
  });

  it("is refused a port that somebody has", async () => {
    const { ws } = await serve(commandPlace());
    const { config, db, run } = commandPlace();
    const { port } = new URL(ws);
    const { status, stdout, stderr } = await run(["up", "--config", config, "--db", db, "--port", port, "--json"]);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^roomtap: listen_failed: cannot listen at 127\.0\.0\.1:\d+: [^\n]*EADDRINUSE[^\n]*\n$/);
  });

  it.each([
    [["--port", "65536"], /usage: .*expected a port, 0 to 65535/],
    [["--port", "http"], /usage: .*expected a whole number/],
    [["--host", "127.0.0.1"], /invalid_params: --host goes with --port/],
    [["--allow-origin", "https://app.example"], /invalid_params: --allow-origin goes with --port/],
    [["--port", "0", "--allow-origin", "app.example"], /usage: .*expected scheme, host and port/],
    [["--stdio", "--port", "0"], /invalid_params: --stdio has standard output for itself/],
    [["--stdio", "--json"], /invalid_params: --stdio has standard output for itself/],
  ])("refuses %j", async (more, problem) => {
    const { config, db, run } = commandPlace();
    const { status, stdout, stderr } = await run(["up", "--config", config, "--db", db, ...more]);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(problem);
    expect(stderr).toMatch(/^roomtap: [^\n]*\n$/);
  });
});

describe("up --demo --port", () => {
  it("has a scripted agent for whoever tries the wire by hand", async () => {
    const { start } = commandPlace();
    const running = start(["up", "--demo", "--runner", "scripted", "--port", "0", "--json"]);
    const [line = ""] = await running.seen(/^.*\n/);
    const [listening] = jsonLines<ListeningLine>(line);
    if (listening === undefined) throw new Error("it says nothing");
    const client = await connect(listening);
    const completed = new Promise<unknown>((resolve) => {
      client.on("message.complete", ({ payload }) => resolve(payload));
    });
    const { session_id, info } = await client.call("session.create", {});
    expect(info).toMatchObject({ agent_id: "scripted" });
    await client.submit({ session_id, text: "hello you" });
    expect(await completed).toEqual({ text: "hello you", status: "complete", usage: null });
    const { messages } = await client.call("session.history", { session_id });
    expect(messages.map(({ role, text }) => [role, text])).toEqual([
      ["user", "hello you"],
      ["assistant", "hello you"],
    ]);
  });
});
