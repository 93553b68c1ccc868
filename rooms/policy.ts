import { z } from "zod";
import { RoomtapError } from "../core/index.ts";

/** What a config may say of a room's policy, strict. What it leaves out has its default. */
export const policySchema = z
  .strictObject({
    maxRounds: z.int().min(1).max(100),
    maxMemberMessages: z.int().min(1).max(1_000),
    maxOwedPasses: z.int().min(0).max(100),
  })
  .partial();

/** Bounds of a discussion. A person's post opens one in its thread. */
export interface RoomPolicy {
  /** Rounds of a discussion: in each, everybody who has something new to hear gets a turn. Default 3. */
  readonly maxRounds: number;
  /** Texts of members in one discussion. Default 10. */
  readonly maxMemberMessages: number;
  /** Extra turns, behind the last round, for members that were named by members and have not spoken since. Default 2. */
  readonly maxOwedPasses: number;
}

/** What is given of a policy; the rest has its default. */
export type PolicyOptions = { readonly [Option in keyof RoomPolicy]?: RoomPolicy[Option] | undefined };

/** What holds for a room of which nothing else is said. */
export const defaultPolicy: RoomPolicy = { maxRounds: 3, maxMemberMessages: 10, maxOwedPasses: 2 };

/** @throws RoomtapError `invalid_params` naming the option */
export function parsePolicy(given: PolicyOptions | undefined): RoomPolicy {
  const parsed = policySchema.safeParse(given ?? {});
  if (parsed.success) return { ...defaultPolicy, ...known(parsed.data) };
  const issue = parsed.error.issues[0];
  throw new RoomtapError(
    "invalid_params",
    `policy.${issue?.path.join(".") ?? ""}: ${issue?.message ?? "is not valid"}`,
  );
}

/** Without the options that are `undefined`: they would stand in the place of their defaults. */
function known(given: PolicyOptions): Partial<RoomPolicy> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
