import { describe, expect, it } from "vitest";
import type { Scope } from "../../../../core/index.ts";
import { newSession, openHost, type OpenHost } from "../../../support/open-host.ts";

/** A host whose credentials are lists of scopes: `read,write`. All clients are of one principal. */
function openScoped(): Promise<OpenHost> {
  return openHost({
    gateway: {
      authenticate: ({ value }) => ({
        principal: "local",
        generation: "1",
        scopes: value.split(",") as Scope[],
        grants: [],
      }),
    },
  });
}

describe("a client's scopes", () => {
  it("decide which requests it is sent, and which ends it is told of", async () => {
    const host = await openScoped();
    const all = await host.connect({ token: "read,write,approvals", asks: true });
    const writer = await host.connect({ token: "read,write", asks: true });
    const approver = await host.connect({ token: "read,approvals", asks: true });
    const { session_id } = await newSession(all);
    for (const client of [writer, approver]) await client.call("session.activate", { session_id });
    await all.call("prompt.submit", { session_id, text: "go" });
    const turn = await host.agent.turn();
    const allowed = turn.ask("approval", { tool_name: "rm", command: "rm x" });
    const told = turn.ask("clarify", { question: "Which?" });
    const [approval, clarify] = [await approver.request("approval"), await writer.request("clarify")];
    approver.send({ jsonrpc: "2.0", id: clarify.id, result: { answer: "not mine" } });
    writer.send({ jsonrpc: "2.0", id: approval.id, result: { choice: "once" } });
    await Promise.all([approver.settled(), writer.settled()]);
    expect(host.tap.requests.open()).toHaveLength(2);
    approver.send({ jsonrpc: "2.0", id: approval.id, result: { choice: "once" } });
    writer.send({ jsonrpc: "2.0", id: clarify.id, result: { answer: "that" } });
    expect((await allowed).by).toEqual({ origin: approver.origin });
    expect((await told).result).toEqual({ answer: "that" });
    turn.say("done");
    const ends = async (client: typeof all): Promise<readonly unknown[]> => {
      await client.event("message.complete");
      return client.events("request.resolved").map(({ payload }) => payload?.["method"]);
    };
    expect(new Set(await ends(all))).toEqual(new Set(["approval", "clarify"]));
    expect([await ends(writer), await ends(approver)]).toEqual([["clarify"], ["approval"]]);
    expect(writer.requests().map(({ method }) => method)).toEqual(["clarify"]);
    expect(approver.requests().map(({ method }) => method)).toEqual(["approval"]);
  });

  it("need no read for what its principal owns, up to the last frame", async () => {
    const host = await openScoped();
    const owner = await host.connect({ token: "write" });
    const { session_id } = await newSession(owner);
    await owner.call("prompt.submit", { session_id, text: "go" });
    (await host.agent.turn()).delta("half");
    await owner.call("session.close", { session_id });
    await owner.event("session.reclaimed");
    expect(owner.events().map(({ type }) => type)).toEqual([
      "message.start",
      "session.info",
      "message.delta",
      "message.complete",
      "session.info",
      "session.reclaimed",
    ]);
    const { events } = await owner.call("session.events.since", { session_id });
    expect((events as object[]).length).toBe(5);
    expect(await owner.refused("groups.list")).toEqual([4300, "insufficient_scope"]);
  });

  it("name the one that is missing", async () => {
    const host = await openScoped();
    const reader = await host.connect({ token: "read" });
    for (const [method, scope] of [
      ["session.create", "write"],
      ["prompt.submit", "write"],
      ["approval.pending", "approvals"],
      ["session.events.stats", "admin"],
    ] as const) {
      const { error } = await reader.ask(method, {});
      expect([error?.code, error?.data]).toEqual([4300, { reason: "insufficient_scope", required_scope: scope }]);
    }
  });
});
