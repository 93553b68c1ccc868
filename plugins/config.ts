import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import {
  busyModes,
  idSchema,
  limits,
  messageOf,
  RoomtapError,
  secretsOfEnvironment,
  type BusyMode,
  type Runner,
} from "../core/index.ts";
import { policySchema, readRoster, type PolicyOptions } from "../rooms/index.ts";
import type { PluginPathEntry } from "./entry.ts";
import { parseAuth, secretsOfAuth, type AuthOptions } from "./gateway/index.ts";
import { pathEntrySchema } from "./host-options.ts";
import { isBuiltIn } from "./built-ins.ts";
import { firstProblem, runnerConfigSchema, type RunnerConfig } from "./runners/index.ts";

export type { AuthOptions };

/** How approvals are answered while nobody can: `once` allows each by itself, `deny` refuses. */
export type ApprovePolicy = "once" | "deny";

/** A member as a config names it. */
export interface MemberConfig {
  /** What `@handle` names. */
  readonly handle: string;
  /** Default `m-` and the handle. */
  readonly member_id?: string | undefined;
  /** Default the handle. */
  readonly display_name?: string | undefined;
  /** null, or absent, for a person. */
  readonly runner?: RunnerConfig | null | undefined;
}

/** A room as a config names it. */
export interface RoomConfig {
  readonly room_id: string;
  /** Default the room's id. */
  readonly name?: string | undefined;
  /** 1 to 16, in the order in which they answer. */
  readonly members: readonly MemberConfig[];
  /** Bounds of its discussions. Default: 3 rounds, 10 texts of members, 2 owed passes. */
  readonly policy?: PolicyOptions | undefined;
}

/** What a config file says. */
export interface HostConfig {
  /** With `agents` there need not be any. */
  readonly rooms: readonly RoomConfig[];
  /**
   * Agents that sessions outside rooms may have, by id. The default is the one called `default`, else the first. Members of
   * rooms that clients make are of them, too.
   */
  readonly agents?: { readonly [agentId: string]: RunnerConfig } | undefined;
  /**
   * What a prompt does to a session whose turn runs. Default `interrupt`: it redirects the turn, or stops it and runs next.
   * `steer`: it is added to what the agent does, or waits. `queue`: it waits. Rooms have rules of their own.
   */
  readonly busyMode?: BusyMode | undefined;
  /** Who may connect to the gateway. Default: whoever has the token that is made when it starts. */
  readonly auth?: AuthOptions | undefined;
  /** Absent: approvals wait for an answer. */
  readonly approve?: ApprovePolicy | undefined;
  /** Plugins that are loaded, by path. */
  readonly plugins?: readonly (string | PluginPathEntry)[] | undefined;
}

const memberSchema = z.strictObject({
  handle: z.string(),
  member_id: z.string().optional(),
  display_name: z.string().optional(),
  runner: runnerConfigSchema.nullable().optional(),
});

const roomSchema = z.strictObject({
  room_id: idSchema,
  name: z.string().min(1).max(200).optional(),
  members: z.array(memberSchema).min(1).max(limits.maxMembers),
  policy: policySchema.optional(),
});

/** Checked behind the rest, because all of its problems are named, and none of its secrets. */
const auth = z.custom<AuthOptions>().optional();
const plugins = z
  .array(z.preprocess((entry) => (typeof entry === "string" ? { path: entry } : entry), pathEntrySchema))
  .max(limits.maxPlugins)
  .optional();
const common = {
  ...{ approve: z.enum(["once", "deny"]).optional(), busyMode: z.enum(busyModes).optional(), auth },
  plugins,
};
const rooms = z.array(roomSchema).max(limits.maxRooms);

const roomsSchema: z.ZodType<HostConfig> = z.strictObject({ rooms: rooms.min(1), ...common });

const agents = z
  .record(idSchema, runnerConfigSchema)
  .refine((each) => Object.keys(each).length >= 1, { error: "expected at least one agent" })
  .refine((each) => Object.keys(each).length <= limits.maxAgents, { error: `more than ${limits.maxAgents} agents` });

const agentsSchema: z.ZodType<HostConfig> = z.strictObject({ rooms: rooms.default([]), agents, ...common });

/**
 * A config from outside. Strict: an unknown key is an error at its path. Rosters are checked as rooms check them, so that
 * nothing is opened for a config that cannot be run.
 * @throws RoomtapError `invalid_config`, naming the path of the first problem
 */
export function parseConfig(value: unknown): HostConfig {
  const hasAgents = typeof value === "object" && value !== null && "agents" in value;
  const parsed = (hasAgents ? agentsSchema : roomsSchema).safeParse(value);
  if (!parsed.success) {
    throw new RoomtapError("invalid_config", firstProblem(parsed.error, []), { cause: parsed.error });
  }
  const problem = roomProblem(parsed.data);
  if (problem !== undefined) throw new RoomtapError("invalid_config", problem);
  const { auth: given, ...rest } = parsed.data;
  return given === undefined ? rest : { ...rest, auth: parseAuth(given) };
}

/** What no single field shows: ids that two have, handles that a roster does not take. */
function roomProblem({ rooms }: HostConfig): string | undefined {
  for (const [index, { room_id, members }] of rooms.entries()) {
    const first = rooms.findIndex((room) => room.room_id === room_id);
    if (first < index) return `rooms[${index}].room_id: rooms[${first}] has the id ${room_id} as well`;
    const roster = members.map(({ runner, ...member }) => ({ ...member, runner_kind: runner?.kind ?? null }));
    const problem = readRoster(roster).problems[0];
    if (problem !== undefined) return `rooms[${index}].members: ${problem}`;
  }
  return undefined;
}

/** Gives a config module its types: `export default defineConfig({ rooms: [...] })`. */
export function defineConfig(config: HostConfig): HostConfig {
  return config;
}

/**
 * The config of a JSON file, or what a module (`.js`, `.mjs`, `.cjs`) exports by default. Folders and
 * files in it are meant from where the file stands.
 * @throws RoomtapError `invalid_config`, naming the file, and the path in it or why it cannot be read
 */
export async function readConfig(file: string): Promise<HostConfig> {
  let config: HostConfig;
  try {
    config = parseConfig(await contentOf(file));
  } catch (fault) {
    throw new RoomtapError("invalid_config", `${file}: ${messageOf(fault)}`, { cause: fault });
  }
  const folder = dirname(file);
  const { agents: given, plugins } = config;
  return {
    ...config,
    rooms: config.rooms.map((room) => ({ ...room, members: room.members.map((member) => placed(member, folder)) })),
    ...(given === undefined ? {} : { agents: mapValues(given, (runner) => placedRunner(runner, folder)) }),
    ...(plugins === undefined ? {} : { plugins: plugins.map((entry) => placedPlugin(entry, folder)) }),
  };
}

async function contentOf(file: string): Promise<unknown> {
  if (!/\.[cm]?js$/.test(file)) return parsedJson(withoutMark(readFileSync(file, "utf8")));
  // By its date as well: a module is read once, and a config may be read again when it has changed.
  const { href } = pathToFileURL(resolve(file));
  const module = (await import(`${href}?${statSync(file).mtimeMs}`)) as { readonly default?: unknown };
  return module.default;
}

/** Throws what is wrong without a piece of the text, which may be one of a secret. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (fault) {
    // The runtime quotes what stands around the place.
    throw new SyntaxError(messageOf(fault).replace(/(?:\.{3})?".*"(?:\.{3})? is not valid JSON$/su, "not valid JSON"));
  }
}

/** Some editors begin a file with a byte order mark, which is no JSON. */
function withoutMark(text: string): string {
  return text.replace(/^\ufeff/, "");
}

function placed(member: MemberConfig, folder: string): MemberConfig {
  const { runner } = member;
  return runner ? { ...member, runner: placedRunner(runner, folder) } : member;
}

function placedRunner(runner: RunnerConfig, folder: string): RunnerConfig {
  if (runner.kind === "scripted") return runner;
  const path = runner.kind === "module" ? { path: resolve(folder, runner.path) } : {};
  return { ...runner, ...path, ...(runner.cwd !== undefined && { cwd: resolve(folder, runner.cwd) }) };
}

function placedPlugin(entry: string | PluginPathEntry, folder: string): PluginPathEntry {
  const { path, ...rest } = typeof entry === "string" ? { path: entry } : entry;
  return { ...rest, path: isBuiltIn(path) ? path : resolve(folder, path) };
}

function mapValues<Value>(
  each: { readonly [key: string]: Value },
  change: (value: Value) => Value,
): { readonly [key: string]: Value } {
  return Object.fromEntries(Object.entries(each).map(([key, value]) => [key, change(value)]));
}

/** Who may have agents: a config, or what `createRoomtap` is given. */
interface WithAgents {
  readonly rooms: readonly {
    readonly members: readonly { readonly runner?: RunnerConfig | Runner | null | undefined }[];
  }[];
  readonly agents?: { readonly [agentId: string]: RunnerConfig | Runner } | undefined;
  readonly auth?: AuthOptions | undefined;
}

/** The secrets of a config: values of the environments of agents whose names say so, and tokens of those who may connect. */
export function secretsOfConfig({ rooms: given, agents: others = {}, auth: who }: WithAgents): readonly string[] {
  const members = given.flatMap((room) => room.members.map(({ runner }) => runner));
  const ofAgents = [...members, ...Object.values(others)].flatMap((runner) =>
    runner && "env" in runner ? secretsOfEnvironment(runner.env ?? {}) : [],
  );
  return [...ofAgents, ...secretsOfAuth(who)];
}
