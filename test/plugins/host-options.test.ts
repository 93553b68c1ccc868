import { describe, expect, it } from "vitest";
import { checkHostOptions } from "../../plugins/index.ts";
import { says } from "../support/held-runner.ts";

const options = (fields: object) => ({ db: ":memory:", rooms: [], ...fields });

describe("the options of a host", () => {
  it("may have agents, as configs or as runners, and a busy mode", () => {
    const agents = { default: { kind: "scripted", from: "message" }, own: says("hi") };
    expect(() => checkHostOptions(options({ agents, busyMode: "steer" }))).not.toThrow();
  });

  it.each<readonly [string, object, string]>([
    ["no agents", { agents: 7 }, "agents: expected agents by id, got 7"],
    ["a person for an agent", { agents: { a: null } }, "agents.a: expected a runner, or a config of one, got null"],
    ["a runner that cannot run", { agents: { a: { kind: "x", run: 1 } } }, "without run, close"],
    ["another busy mode", { busyMode: "drop" }, 'busyMode: expected "interrupt", "steer", "queue" or nothing'],
  ])("are refused at their path: %s", (_, fields, message) => {
    expect(() => checkHostOptions(options(fields))).toThrow(message);
  });
});
