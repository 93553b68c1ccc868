import { describe, expect, it } from "vitest";
import { Agent, type Runner } from "../../../core/index.ts";
import { says } from "../../support/held-runner.ts";
import { lateAgent, openSessions } from "../../support/open-sessions.ts";

describe("an agent", () => {
  it("is built at its first turn, once", async () => {
    let built = 0;
    const runner = (): Runner => {
      built++;
      return says("hi");
    };
    const sessions = openSessions({ agents: [{ agent_id: "a", runner }] });
    const [one, two] = [await sessions.create(), await sessions.create()];
    expect(built).toBe(0);
    await Promise.all([sessions.submit(one, "hello"), sessions.submit(two, "hello")]);
    await sessions.settle();
    expect(built).toBe(1);
    expect(sessions.payloads("message.complete")).toMatchObject([{ text: "hi" }, { text: "hi" }]);
  });

  it("that cannot be built fails the turn, and is built anew at the next", async () => {
    let tries = 0;
    const runner = async (): Promise<Runner> => {
      if (++tries === 1) throw new Error("no such command");
      return says("hi");
    };
    const sessions = openSessions({ agents: [{ agent_id: "a", runner }] });
    const live = await sessions.create();
    for (const text of ["one", "two"]) {
      await sessions.submit(live, text);
      await sessions.settle();
    }
    expect(sessions.payloads("message.complete")).toMatchObject([
      {
        status: "error",
        failure_reason: "member_unavailable",
        error: "the agent a could not be built: no such command",
      },
      { status: "complete", text: "hi" },
    ]);
  });

  it("does not run a turn that was stopped while it was built", async () => {
    const { agent, build } = lateAgent();
    const sessions = openSessions({ agents: [agent] });
    const live = await sessions.create();
    await sessions.submit(live, "hello");
    live.interrupt().begin();
    build(says("hi"));
    await sessions.settle();
    expect(sessions.payloads("message.complete")).toMatchObject([{ status: "interrupted", text: "" }]);
  });

  it("closes nothing that was not built, and what was built", async () => {
    let closed = 0;
    const agent = new Agent({
      agent_id: "a",
      runner: () => ({ ...says("hi"), close: async () => void closed++ }),
    });
    await agent.runner.close();
    await agent.build();
    await agent.runner.close();
    expect(closed).toBe(1);
  });
});
