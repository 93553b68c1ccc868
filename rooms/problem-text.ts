import { z } from "zod";
import { messageOf } from "../core/index.ts";

/** What is wrong, on one line: of a value that a schema refused the first problem with its path, else the fault's text. */
export function problemText(fault: unknown): string {
  if (!(fault instanceof z.ZodError)) return messageOf(fault);
  const [issue] = fault.issues;
  const path = issue?.path.map(String).join(".") ?? "";
  const message = issue?.message ?? "is not valid";
  // A key that nobody knows is named, whatever stands in it.
  return `${path === "" ? "" : `${path}: `}${message}`.replace(/\s+/g, " ");
}
