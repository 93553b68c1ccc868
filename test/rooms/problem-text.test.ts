import { describe, expect, it } from "vitest";
import { z } from "zod";
import { problemText } from "../../rooms/problem-text.ts";
import { parseRow } from "../../rooms/stored-row.ts";
import { openLog, roomOf } from "../support/open-log.ts";
import { TestLog } from "../support/logs.ts";

const schema = z.strictObject({ list: z.array(z.strictObject({ id: z.string() })) });

describe("the text of a problem", () => {
  it.each([
    [{ list: [{ id: 7 }] }, /^list\.0\.id: Invalid input: expected string, received number$/],
    [{}, /^list: Invalid input: /],
    [{ list: [], "a\nb": 1 }, /^Unrecognized key: "a b"$/],
    [7, /^Invalid input: expected object/],
  ])("of %j is one line with its path", (value, text) => {
    expect(problemText(schema.safeParse(value).error)).toMatch(text);
  });

  it("of any other fault is its own", () => {
    expect(problemText(new TypeError("no"))).toBe("no");
  });

  it("C-057 of a room's id and C-056 of a stored row stand in the error's one line", async () => {
    const log = await openLog(":memory:");
    await expect(log.putRoom(roomOf("r 1"))).rejects.toMatchObject({
      code: "invalid_params",
      message: expect.stringMatching(/^room_id: [^\n]+$/) as string,
    });
    const test = new TestLog();
    const row = test.start({ member_id: "m-a", post: { message_id: "msg-1", text: "hi" } });
    const stored = { ...row, payload: JSON.stringify({ ...row.payload, cause: "whim" }) };
    expect(() => parseRow(stored)).toThrow(/^room r1: row 1 is no row of the log: cause: [^\n]+$/);
  });
});
