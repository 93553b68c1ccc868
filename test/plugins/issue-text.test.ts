import { describe, expect, it } from "vitest";
import { z } from "zod";
import { issueText } from "../../plugins/index.ts";

/** The text of the first issue of a parse. */
function textOf(schema: z.ZodType, value: unknown): string {
  const [issue] = schema.safeParse(value).error?.issues ?? [];
  if (issue === undefined) throw new Error("it fits");
  return issueText(issue);
}

describe("the text of an issue", () => {
  it.each([
    ["a key that is not there", z.object({ a: z.string() }), {}, "is missing, expected string"],
    ["a list that is not there", z.object({ a: z.array(z.string()) }), {}, "is missing, expected array"],
    ["a key that must be there", z.object({ a: z.string().optional().nonoptional() }), {}, "is missing"],
    ["another type", z.object({ a: z.string() }), { a: 1 }, "Invalid input: expected string, received number"],
    ["null", z.object({ a: z.string() }), { a: null }, "Invalid input: expected string, received null"],
  ])("of %s says what is wrong with it", (_, schema, value, text) => {
    expect(textOf(schema, value)).toBe(text);
  });
});
