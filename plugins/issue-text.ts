import type { z } from "zod";

const missing = /^Invalid input: expected (.+), received undefined$/;

/** What is wrong, in words for people: of a key that is not there, that it is missing. Its path is the caller's. */
export function issueText({ message }: Pick<z.core.$ZodIssue, "message">): string {
  const expected = missing.exec(message)?.[1];
  if (expected === undefined) return message;
  return expected === "nonoptional" ? "is missing" : `is missing, expected ${expected}`;
}
