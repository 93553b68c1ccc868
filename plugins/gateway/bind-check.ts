import { RoomtapError } from "../../core/index.ts";
import { isLoopback } from "./addresses.ts";

/** What stands between a bind and whoever reaches it. */
export interface BindGuard {
  /** Whether no credential is asked for. */
  readonly isOpen: boolean;
  /** Whether the only credential is one that was made here: nobody has chosen it. */
  readonly isMade: boolean;
  /** Tokens that are easily guessed. */
  readonly weak: readonly { readonly principal: string; readonly weakness: string }[];
  readonly allowedOrigins: readonly string[] | undefined;
}

/**
 * Refuses to open to other machines what is not protected, or only looks so.
 * @returns warnings, for what is let pass on loopback
 * @throws RoomtapError `invalid_config`
 */
export function checkBind(host: string, { isOpen, isMade, weak, allowedOrigins }: BindGuard): readonly string[] {
  if (isLoopback(host)) return weak.map(({ principal, weakness }) => `the token of ${principal} is weak: ${weakness}`);
  const refuse = (why: string): RoomtapError =>
    new RoomtapError("invalid_config", `the gateway cannot listen at ${host}, which others can reach: ${why}`);
  if (isOpen) throw refuse('auth "none" is for this machine alone');
  if (isMade) throw refuse("no credential is configured");
  const [first] = weak;
  if (first !== undefined) throw refuse(`the token of ${first.principal} is too weak: ${first.weakness}`);
  if (allowedOrigins === undefined) {
    throw refuse("list the pages that may connect as allowedOrigins, or an empty list");
  }
  return [];
}
