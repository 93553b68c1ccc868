import type { z } from "zod";
import { issueText } from "../issue-text.ts";

/**
 * `steps[3].tool.ms: Invalid input: ...`: the first problem of a parse, below `root`. A key that is unknown comes before
 * one that is missing: it may be the same one, misspelt.
 */
export function firstProblem(error: z.ZodError, root: readonly string[]): string {
  const unknown = error.issues.find((each) => each.code === "unrecognized_keys");
  if (unknown !== undefined) return `${pathText([...root, ...unknown.path, ...unknown.keys.slice(0, 1)])}: unknown key`;
  const [issue] = error.issues;
  if (issue === undefined) return "not valid";
  const path = pathText([...root, ...issue.path]);
  return path === "" ? issue.message : `${path}: ${issueText(issue)}`;
}

function pathText(path: readonly PropertyKey[]): string {
  return path.map((key, at) => (typeof key === "number" ? `[${key}]` : `${at > 0 ? "." : ""}${String(key)}`)).join("");
}
