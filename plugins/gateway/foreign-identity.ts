import { z } from "zod";
import { limits, scopes } from "../../core/index.ts";
import { closeCodes, type CloseWord } from "./close-codes.ts";
import type { Identity } from "./credentials.ts";

const identitySchema: z.ZodType<Identity> = z.object({
  principal: z.string().min(1).max(limits.maxPrincipalUnits),
  generation: z.string(),
  scopes: z.array(z.enum(scopes)),
  grants: z.array(z.string()),
  rooms: z.array(z.string()).optional(),
  label: z.string().optional(),
  // `Infinity` is never, and no other number lasts so long.
  expiresAt: z.union([z.number(), z.literal(Infinity)]).optional(),
});

/**
 * What an `authenticate` of somebody else has answered, if it is an answer: nobody comes in by anything else.
 * @throws TypeError that shows nothing of what was given
 */
export function checkedAnswer(answer: unknown): Identity | CloseWord {
  if (typeof answer === "string") {
    if (Object.hasOwn(closeCodes, answer)) return answer as CloseWord;
    throw new TypeError("authenticate gave a word that is no reason to refuse somebody");
  }
  const parsed = identitySchema.safeParse(answer);
  if (parsed.success) return parsed.data;
  const paths = parsed.error.issues.map(({ path }) => path.join(".")).filter((path) => path !== "");
  throw new TypeError(`authenticate gave no identity${paths.length === 0 ? "" : `: ${paths.join(", ")}`}`);
}
