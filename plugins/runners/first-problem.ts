import type { z } from "zod";

/**
 * `steps[3].tool.ms: Invalid input: ...`: the first problem of a parse, below `root`. A key that is unknown comes before
 * one that is missing: it may be the same one, misspelt.
 */
export function firstProblem(error: z.ZodError, root: readonly string[]): string {
  const unknown = error.issues.find((each) => each.code === "unrecognized_keys");
  if (unknown !== undefined) return `${pathText([...root, ...unknown.path, ...unknown.keys.slice(0, 1)])}: unknown key`;
  const issue = error.issues[0];
  const path = pathText([...root, ...(issue?.path ?? [])]);
  const message = issue?.message ?? "not valid";
  return path === "" ? message : `${path}: ${message}`;
}

function pathText(path: readonly PropertyKey[]): string {
  return path.map((key, at) => (typeof key === "number" ? `[${key}]` : `${at > 0 ? "." : ""}${String(key)}`)).join("");
}
