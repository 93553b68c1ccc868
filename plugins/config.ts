import { z } from "zod";
import { idSchema, limits, RoomtapError, secretsOfEnvironment } from "../core/index.ts";
import { firstProblem, runnerConfigSchema, type RunnerConfig } from "./runners/index.ts";

/** How approvals are answered while nobody can: `once` allows each by itself, `deny` refuses. */
export type ApprovePolicy = "once" | "deny";

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

export interface RoomConfig {
  readonly room_id: string;
  /** Default the room's id. */
  readonly name?: string | undefined;
  /** 1 to 16, in the order in which they answer. */
  readonly members: readonly MemberConfig[];
}

/** What a config file says. */
export interface HostConfig {
  readonly rooms: readonly RoomConfig[];
  /** Absent: approvals wait for an answer. */
  readonly approve?: ApprovePolicy | undefined;
}

const memberSchema = z.strictObject({
  handle: z.string(),
  member_id: idSchema.optional(),
  display_name: z.string().optional(),
  runner: runnerConfigSchema.nullable().optional(),
});

const configSchema: z.ZodType<HostConfig> = z.strictObject({
  rooms: z
    .array(
      z.strictObject({
        room_id: idSchema,
        name: z.string().min(1).max(200).optional(),
        members: z.array(memberSchema).min(1).max(limits.maxMembers),
      }),
    )
    .min(1)
    .max(limits.maxRooms),
  approve: z.enum(["once", "deny"]).optional(),
});

/**
 * A config from a file. Strict: an unknown key is an error at its path.
 * @throws RoomtapError `invalid_config`, naming the path of the first problem
 */
export function parseConfig(value: unknown): HostConfig {
  const parsed = configSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new RoomtapError("invalid_config", firstProblem(parsed.error, []), { cause: parsed.error });
}

/** The secrets that a config gives to agents: values of their environments whose names say so. */
export function secretsOfConfig(config: HostConfig): readonly string[] {
  return config.rooms.flatMap(({ members }) =>
    members.flatMap(({ runner }) => (runner?.kind === "acp" ? secretsOfEnvironment(runner.env ?? {}) : [])),
  );
}
