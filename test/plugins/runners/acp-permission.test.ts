import { describe, expect, it } from "vitest";
import type { RequestOutcome } from "../../../core/index.ts";
import { parseToolCall } from "../../../plugins/runners/acp-frames.ts";
import { answerOf, questionOf, type PermissionOption } from "../../../plugins/runners/acp-permission.ts";

const once = { optionId: "o-once", kind: "allow_once" };
const always = { optionId: "o-always", kind: "allow_always" };
const reject = { optionId: "o-reject", kind: "reject_once" };
const never = { optionId: "o-never", kind: "reject_always" };

const paramsOf = (fields: object, options: PermissionOption[] = [once, reject]): unknown => {
  const call = parseToolCall({ toolCallId: "c", ...fields });
  return call && questionOf(call, "tool", options).params;
};

describe("an approval for a permission request", () => {
  it.each([
    ["its title", { title: "Write a.md" }, { command: "Write a.md" }],
    [
      "a command line",
      { title: "Clean", rawInput: { command: "rm -rf x" } },
      { command: "rm -rf x", description: "Clean" },
    ],
    ["the words of a command", { rawInput: { command: ["rm", "-rf", "x"] } }, { command: "rm -rf x" }],
    [
      "a command and its arguments",
      { rawInput: { command: "rm", args: ["-rf", "/home"] } },
      { command: "rm -rf /home" },
    ],
    [
      "words as a shell takes them",
      { rawInput: { command: ["echo", "a b"], args: ["it's", "", "$HOME"] } },
      { command: "echo 'a b' 'it'\\''s' '' '$HOME'" },
    ],
    [
      "what else is said of a command",
      { title: "List", rawInput: { command: "ls", cwd: "/", args: null, env: { LD_PRELOAD: "x" } } },
      { command: "ls", description: 'List\nwith {"cwd":"/","env":{"LD_PRELOAD":"x"}}' },
    ],
    [
      "arguments in another shape",
      { rawInput: { command: "rm", args: "-rf /" } },
      { command: "rm", description: 'with {"args":"-rf /"}' },
    ],
    ["a command that is none", { title: "Do", rawInput: { command: 7 } }, { command: "Do" }],
    ["its kind", { kind: "edit" }, { command: "edit" }],
  ])("shows %s", (_, fields, shown) => {
    expect(paramsOf(fields)).toEqual({ tool_id: "c", tool_name: "tool", choices: ["once", "deny"], ...shown });
  });

  it.each([
    [
      [once, reject],
      ["once", "deny"],
    ],
    [
      [never, always, once, reject],
      ["once", "always", "deny"],
    ],
    [[always], ["always", "deny"]],
    [[], ["deny"]],
    [[{ optionId: "x", kind: "allow_often" }], ["deny"]],
  ])("offers what the agent can carry out: %j", (options, choices) => {
    expect(paramsOf({}, options)).toMatchObject({ choices });
  });
});

describe("the answer to a permission request", () => {
  const all = [once, always, reject, never];
  it.each<[RequestOutcome["outcome"], string | undefined, PermissionOption[], string | undefined]>([
    ["answered", "once", all, "o-once"],
    ["answered", "session", all, "o-always"],
    ["answered", "always", all, "o-always"],
    ["answered", "always", [once, reject], "o-once"],
    ["answered", "once", [always, reject], undefined],
    ["answered", "deny", all, "o-reject"],
    ["denied", "deny", all, "o-reject"],
    ["denied", undefined, [once, never], "o-never"],
    ["denied", "deny", [once, always], undefined],
    ["answered", undefined, all, undefined],
    ["answered", "constructor", all, undefined],
    ["expired", undefined, all, undefined],
    ["cancelled", "once", all, undefined],
  ])("%s %s of %j is %s", (outcome, choice, options, optionId) => {
    const answer = answerOf({ outcome, choice, by: null }, options);
    expect(answer).toEqual(optionId === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId });
  });
});
