import { describe, expect, it } from "vitest";
import { promptText } from "../../../plugins/runners/prompt.ts";
import { personSays } from "../../support/fake-turn.ts";

const agentSays = (text: string) => ({ author: { kind: "agent" as const, id: "m-planner" }, text });

describe("the prompt of a turn", () => {
  it("is one entry as name and text", () => {
    expect(promptText([personSays("@planner hello")])).toBe("Ada: @planner hello");
  });

  it("puts a blank line between entries and names an author without a display name by id", () => {
    expect(promptText([personSays("one\ntwo"), agentSays("three"), personSays("", "Bo")])).toBe(
      "Ada: one\ntwo\n\nm-planner: three\n\nBo: ",
    );
  });

  it("lists attachments behind the text", () => {
    const entry = { ...personSays("look"), attachments: ["file:a.png", "file:b.png"] };
    expect(promptText([entry])).toBe("Ada: look\n[attachment] file:a.png\n[attachment] file:b.png");
  });

  it("tells what was said before apart from what is new", () => {
    expect(promptText([personSays("and now?")], [personSays("first"), agentSays("second")])).toBe(
      [
        "[Earlier in this conversation]",
        "",
        "Ada: first",
        "",
        "m-planner: second",
        "",
        "[New messages]",
        "",
        "Ada: and now?",
      ].join("\n"),
    );
  });

  it("names nobody in what is new outside rooms", () => {
    const asked = { ...personSays("and now?"), attachments: ["a.md"] };
    expect(promptText([asked], [], false)).toBe("and now?\n[attachment] a.md");
    expect(promptText([asked], [agentSays("second")], false)).toContain(
      "m-planner: second\n\n[New messages]\n\nand now?",
    );
  });

  it("C-077 leaves the texts as they are", () => {
    expect(promptText([personSays("a\ud83d\r\n\u0000")])).toBe("Ada: a\ud83d\r\n\u0000");
  });
});
