import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { jsonLines, runCommand, startCommand, type CommandResult, type RunningCommand } from "./command.ts";
import { temporaryFolder } from "./open-log.ts";

/** The first line of `roomtap up --port 0 --json`. */
export interface ListeningLine {
  readonly event: "listening";
  readonly http: string;
  readonly ws: string;
  readonly token: string;
}

/** A folder of its own: config, database, and where servers leave their entries, so that no other one is found. */
export interface CommandPlace {
  readonly folder: string;
  readonly config: string;
  readonly db: string;
  readonly env: { readonly XDG_RUNTIME_DIR: string };
  /** Runs a command that finds the servers of this place alone. */
  readonly run: (args: readonly string[], stdin?: string) => Promise<CommandResult>;
  readonly start: (args: readonly string[]) => RunningCommand;
}

/** One that runs, and where. */
export interface ServedCommand extends ListeningLine {
  readonly running: RunningCommand;
  /** Stops it as an operator does; resolves with its status. */
  readonly stop: () => Promise<number>;
}

const echo = { kind: "scripted", from: "message" } as const;

/**
 * By default one room with a member that plays the script it is posted, and one agent that does so for sessions.
 * @param more of the environment of its commands
 */
export function commandPlace(
  config: object = defaultConfig,
  more: { readonly [name: string]: string } = {},
): CommandPlace {
  const folder = temporaryFolder();
  const env = { ...more, XDG_RUNTIME_DIR: join(folder, "run") };
  mkdirSync(env.XDG_RUNTIME_DIR, { mode: 0o700 });
  const place = { folder, config: join(folder, "rooms.json"), db: join(folder, "rooms.db"), env };
  writeFileSync(place.config, JSON.stringify(config));
  return {
    ...place,
    run: (args, stdin = "") => runCommand(args, { env, stdin }),
    start: (args) => startCommand(args, { env }),
  };
}

const defaultConfig = {
  rooms: [{ room_id: "release", members: [{ handle: "echo", runner: echo }] }],
  agents: { default: echo },
};

/** Starts `up` in this place with an input that has ended; resolves when it listens. */
export async function serve(
  { config, db, start }: CommandPlace,
  { port = 0, more = [] }: { readonly port?: number; readonly more?: readonly string[] } = {},
): Promise<ServedCommand> {
  const running = start(["up", "--config", config, "--db", db, "--port", String(port), "--json", ...more]);
  running.child.stdin.end();
  const [, line = ""] = await running.seen(/^([^\n]*)\n/);
  const [listening] = jsonLines<ListeningLine>(line);
  if (listening?.event !== "listening") throw new Error(`its first line is ${line}`);
  const stop = async (): Promise<number> => {
    running.child.kill("SIGTERM");
    return (await running.result).status;
  };
  return { ...listening, running, stop };
}

/** A post, or a prompt, that has the agent `echo` play these steps. */
export function script(...steps: readonly object[]): string {
  return JSON.stringify({ steps });
}
