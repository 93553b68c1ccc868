import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { RoomtapError, systemClock, type OpenRequest, type Undo } from "../../core/index.ts";
import { readConfig, type ApprovePolicy, type HostConfig } from "../config.ts";
import type { PluginEntry } from "../entry.ts";
import type { Output } from "../output.ts";
import { carryOut } from "./carry-out.ts";
import type { CommandHost, RunHost } from "./command-host.ts";
import { demoConfig, demoRoomId, demoText } from "./demo.ts";
import { hintLines, questionLine } from "./hints.ts";
import { parseLine } from "./line.ts";
import { authReloader } from "./reload-auth.ts";

/** What `roomtap up` is asked for. */
export interface UpOptions {
  readonly config?: string | undefined;
  readonly demo?: boolean | undefined;
  readonly runner?: "acp" | "scripted" | undefined;
  readonly approve?: ApprovePolicy | undefined;
  readonly stay?: boolean | undefined;
  readonly port?: number | undefined;
  readonly host?: string | undefined;
  /** Origins whose pages may connect; undefined: the server's own, on this machine alone. */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** Of the environment: what clients must show. Default: one is made, and told. */
  readonly token?: string | undefined;
  readonly stdio?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** What the command works with. */
export interface UpParts {
  readonly runHost: RunHost;
  readonly output: Output;
  /** Path of the database to use. */
  readonly file: string;
  /** Path of the example agent's program; undefined when it is not installed. */
  readonly agent: string | undefined;
  /** What shows the events. */
  readonly shown: (config: HostConfig) => PluginEntry;
  /** What serves a page to whoever comes with `port`. */
  readonly page: PluginEntry;
  readonly input: Readable;
  /** Where `stdio` writes its frames. */
  readonly frames: Writable;
  /** Whether an address to listen at is reached by this machine alone. */
  readonly isLoopback: (host: string) => boolean;
  /** Calls back when the process is told to read its config again; until it is undone. */
  readonly onReload: (reload: () => void) => Undo;
  /** Lets the command find the server; its undo, or why it cannot. */
  readonly announce: (server: { readonly url: string; readonly token: string; readonly db: string }) => Undo | string;
}

/**
 * Runs rooms until their input ends, the client of `stdio` has gone, or the process is told to stop.
 * @throws RoomtapError `invalid_params` for options that contradict each other or a weak token, `invalid_config`,
 * `listen_failed`
 */
export async function upCommand(options: UpOptions, parts: UpParts): Promise<number> {
  checkOptions(options);
  const { runner = "acp", demo: isDemo = false, stdio = false, stay = false, port } = options;
  const isServing = port !== undefined || stdio;
  const { output, file: db } = parts;
  const config = options.config === undefined ? demoConfig(runner, parts.agent) : await readConfig(options.config);
  if (config.rooms.length === 0 && !isServing) {
    throw wrongUsage(`${options.config} has agents and no rooms: let clients in, with --port N or --stdio`);
  }
  const approve = options.approve ?? (isDemo ? "deny" : config.approve);
  const hint = (request: OpenRequest): void =>
    hintLines(request, port !== undefined).forEach((line) => output.note(line));
  // The client of stdio is asked by frames, and sees the rest of what there is.
  const page = port === undefined ? [] : [parts.page];
  const shown = stdio ? { plugins: [] } : { plugins: [parts.shown(config), ...page], onRequest: hint };
  let undo = noUndo;
  try {
    return await parts.runHost({ config, db, approve, ...shown }, async (host, stop) => {
      if (port !== undefined) undo = await serve(host, { ...admission(options, config, parts), port }, parts);
      const stream = stdio ? host.openStdio({ input: parts.input, output: parts.frames }) : null;
      if (isDemo) await host.room(demoRoomId).post({ text: demoText });
      if (stream !== null) return statusOfStream(await stream.ended, output);
      const staysUp = stay || port !== undefined;
      await readLines(host, { config, stop, staysUp }, parts);
      if (staysUp) await aborted(stop);
      for (const request of await host.finish()) {
        output.note(`nobody answered ${request.id} (${questionLine(request)}): its turn was cancelled`);
      }
      return 0;
    });
  } finally {
    undo();
  }
}

/**
 * Who is let in. The config's `auth` stands alone. Without one other machines' pages are let in only if they are named, and
 * the token is that of the environment, or made.
 */
function admission(options: UpOptions, { auth }: HostConfig, { isLoopback }: UpParts): UpOptions {
  if (auth !== undefined) return { ...options, token: undefined };
  const isOpen = options.host !== undefined && !isLoopback(options.host);
  return { ...options, allowedOrigins: options.allowedOrigins ?? (isOpen ? [] : undefined) };
}

function checkOptions(options: UpOptions): void {
  const { config, demo, runner, port, host, allowedOrigins, token, stdio, json } = options;
  const problem = (() => {
    if ((config === undefined) === (demo !== true)) return "up takes either --config FILE or --demo";
    if (config !== undefined && runner !== undefined) {
      return "--runner is for --demo: a config names the runner of each member";
    }
    if (host !== undefined && port === undefined) return "--host goes with --port";
    if (allowedOrigins !== undefined && port === undefined) return "--allow-origin goes with --port";
    if (port !== undefined && token !== undefined && !strongToken.test(token)) {
      return "ROOMTAP_TOKEN: expected at least 16 printable characters without a space, and not one repeated";
    }
    const isShared = stdio === true && (port !== undefined || json === true);
    return isShared ? "--stdio has standard output for itself: leave --port and --json away" : null;
  })();
  if (problem !== null) throw wrongUsage(problem);
}

/** What travels in a header, and is not guessed. */
const strongToken = /^(?!(.)\1*$)[\x21-\x7e]{16,}$/;

function wrongUsage(problem: string): RoomtapError {
  return new RoomtapError("invalid_params", problem, { remedy: "See `roomtap up --help`." });
}

/** Lets clients in; the first line says where, so that whoever started this can go on. */
async function serve(host: CommandHost, options: UpOptions & { readonly port: number }, parts: UpParts): Promise<Undo> {
  const { output, file: db } = parts;
  const { allowedOrigins, token: named } = options;
  const gateway = host.openGateway({
    ...(named === undefined ? {} : { token: named }),
    ...(allowedOrigins === undefined ? {} : { allowedOrigins }),
  });
  const address = options.host === undefined ? {} : { host: options.host };
  const { http, ws } = await gateway.listen({ port: options.port, ...address });
  // Before it is told that this listens: from then on it may be told to read again.
  const { config: file } = options;
  const undoReload = file === undefined ? noUndo : parts.onReload(authReloader({ file, gateway, note: output.note }));
  const { token, isTokenMade } = gateway;
  // One that was given is known to those who are to know it.
  const shown = isTokenMade ? token : null;
  if (options.json === true) await output.out(JSON.stringify({ event: "listening", http, ws, token: shown }));
  else output.note(`listening: ${ws}, ${shown === null ? whoComes(named) : `token ${shown}`}`);
  output.note(`open in a browser: ${await gateway.link(http)}`);
  const announced = parts.announce({ url: ws, token, db });
  if (typeof announced === "string") output.note(`the command does not find this server by itself: ${announced}`);
  return () => {
    undoReload();
    if (typeof announced !== "string") announced();
  };
}

const noUndo: Undo = () => undefined;

/** Whose credentials let in, when none was made. */
function whoComes(named: string | undefined): string {
  return named === undefined ? "for whom the config's auth lets in" : "with the token of ROOMTAP_TOKEN";
}

/** How a conversation over standard output has ended. */
function statusOfStream(end: string, output: Output): number {
  if (end !== "slow_consumer") return 0;
  output.note("roomtap: the reader of standard output did not keep up");
  return 1;
}

/** Posts and commands, a line each, until the end of input, or `stop`. */
async function readLines(
  host: CommandHost,
  { config, stop, staysUp }: { readonly config: HostConfig; readonly stop: AbortSignal; readonly staysUp: boolean },
  { input, output }: UpParts,
): Promise<void> {
  const roomIds = config.rooms.map(({ room_id }) => room_id);
  if (roomIds.length === 0) return;
  const rooms = config.rooms.map(
    ({ room_id, members }) => `#${room_id} (${members.map((member) => `@${member.handle}`).join(" ")})`,
  );
  const end = staysUp ? "Ctrl-C stops" : "the end of input stops";
  output.note(`open: ${rooms.join(", ")}; a line is a post or a command (/state, /stop, ...), ${end}`);
  for await (const line of createInterface({ input, crlfDelay: Infinity, signal: stop })) {
    if (stop.aborted) return;
    for (const note of await carryOut(parseLine(line, roomIds), host)) output.note(note);
  }
}

/** Keeps the process alive until then: a host whose rooms rest has nothing else that does. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stopTimer = systemClock.after(Number.MAX_SAFE_INTEGER, () => undefined);
    const end = (): void => {
      stopTimer();
      resolve();
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end);
  });
}
