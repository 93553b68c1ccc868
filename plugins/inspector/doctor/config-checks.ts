import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { readConfig, secretsOfConfig, type HostConfig } from "../../config.ts";
import { counted } from "../../counted.ts";
import { fine, problem, problemOf, type Finding } from "./finding.ts";

/** What was found in a config, and what must be shown nowhere. */
export interface CheckedConfig {
  readonly findings: readonly Finding[];
  readonly secrets: readonly string[];
}

/** The config: that it parses, and that the programs of its agents are there. Nothing of it is started. */
export async function checkConfig(
  file: string,
  environment: { readonly [name: string]: string | undefined },
): Promise<CheckedConfig> {
  let config: HostConfig;
  try {
    config = await readConfig(file);
  } catch (fault) {
    return { findings: [problemOf("config", fault)], secrets: [] };
  }
  const members = config.rooms.reduce((sum, room) => sum + room.members.length, 0);
  const agents = Object.keys(config.agents ?? {}).length;
  const size = [counted(config.rooms.length, "room"), counted(members, "member"), counted(agents, "agent")].join(", ");
  const programs = programsOf(config).map((program) => programFinding(program, environment));
  return { findings: [fine("config", `${file}: ${size}`), ...programs], secrets: secretsOfConfig(config) };
}

interface Program {
  /** Who is driven by it. */
  readonly name: string;
  readonly command: string;
  readonly cwd: string | undefined;
  /** Where it is looked for, when the config says so. */
  readonly path: string | undefined;
}

function programsOf({ rooms, agents = {} }: HostConfig): readonly Program[] {
  const members = rooms.flatMap(({ room_id, members: each }) =>
    each.map(({ handle, runner }) => ({ name: `@${handle} of ${room_id}`, runner })),
  );
  const others = Object.entries(agents).map(([id, runner]) => ({ name: `agent ${id}`, runner }));
  return [...members, ...others].flatMap(({ name, runner }) => {
    if (runner?.kind !== "acp") return [];
    const { command, cwd, env = {} } = runner;
    return [{ name, command, cwd, path: env["PATH"] }];
  });
}

function programFinding(
  { name, command, cwd, path }: Program,
  environment: { readonly [name: string]: string | undefined },
): Finding {
  if (cwd !== undefined && !isFolder(cwd)) {
    return problem("agents", `${name}: its folder ${cwd} is not there`, "Correct cwd in the config.");
  }
  const found = findProgram(command, { cwd, path: path ?? environment["PATH"] });
  if (found !== null) return fine("agents", `${name}: ${found}`);
  const where = isPath(command) ? "there is no such program" : "it is not on the PATH";
  return problem("agents", `${name}: ${command}: ${where}`, "Install it, or correct command in the config.");
}

/** Where the system finds a program; null when it does not. A path is meant from the folder that the program starts in. */
export function findProgram(
  command: string,
  { cwd, path = "" }: { readonly cwd?: string | undefined; readonly path?: string | undefined },
): string | null {
  const places = isPath(command)
    ? [isAbsolute(command) ? command : resolve(cwd ?? ".", command)]
    : path.split(delimiter).map((folder) => join(folder === "" ? (cwd ?? ".") : folder, command));
  const endings = process.platform === "win32" ? ["", ".exe", ".cmd", ".bat"] : [""];
  const all = places.flatMap((place) => endings.map((ending) => `${place}${ending}`));
  return all.find(isProgram) ?? null;
}

function isPath(command: string): boolean {
  return command.includes("/") || (process.platform === "win32" && command.includes("\\"));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    // It is not there, or nobody may run it.
    return false;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // It is not there, or a part of the path is a file.
    return false;
  }
}
