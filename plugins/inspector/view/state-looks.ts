import type { MemberStateWord } from "../../../core/index.ts";
import type { Look } from "../../style.ts";

/** How each state of a member looks. */
export const stateLooks: { readonly [State in MemberStateWord]: Look } = {
  needs_input: "yellow",
  stopping: "yellow",
  running: "green",
  queued: "cyan",
  failed: "red",
  idle: "dim",
};
