import type { Runner } from "../core/index.ts";
import type { RoomDefinition } from "../rooms/index.ts";
import type { MemberConfig, RoomConfig } from "./config.ts";
import { parseRunnerConfig, type RunnerConfig, type Runners } from "./runners/index.ts";

/** A runner of the embedder's own, or the config of one. */
export type GivenRunner = RunnerConfig | Runner;

/** A room whose members' runners may be configs. */
export interface GivenRoom extends Omit<RoomConfig, "members"> {
  readonly members: readonly (Omit<MemberConfig, "runner"> & { readonly runner?: GivenRunner | null | undefined })[];
}

/**
 * Agents by id, with their runners. They are opened one after the other: when one fails, nothing is still being opened.
 * @throws RoomtapError `invalid_config`, naming the path in the options
 */
export async function openAgents(
  given: { readonly [agentId: string]: GivenRunner },
  runners: Runners,
): Promise<ReadonlyMap<string, Runner>> {
  const agents = new Map<string, Runner>();
  for (const [id, agent] of Object.entries(given)) agents.set(id, await runnerOf(agent, `agents.${id}`, runners));
  return agents;
}

/**
 * Rooms with the runners of their members, opened one after the other.
 * @throws RoomtapError `invalid_config`, naming the path in the options
 */
export async function openRoomRunners(
  given: readonly GivenRoom[],
  runners: Runners,
): Promise<readonly RoomDefinition[]> {
  const rooms: RoomDefinition[] = [];
  for (const [index, room] of given.entries()) rooms.push(await definitionOf(room, `rooms[${index}]`, runners));
  return rooms;
}

async function definitionOf(
  { members: given, ...room }: GivenRoom,
  path: string,
  runners: Runners,
): Promise<RoomDefinition> {
  const members: RoomDefinition["members"][number][] = [];
  for (const [index, { runner = null, ...member }] of given.entries()) {
    const where = `${path}.members[${index}].runner`;
    members.push({ ...member, runner: runner === null ? null : await runnerOf(runner, where, runners) });
  }
  return { ...room, members };
}

async function runnerOf(given: GivenRunner, where: string, runners: Runners): Promise<Runner> {
  return "run" in given ? given : runners.of(parseRunnerConfig(given, where), where);
}
