import { describe, expect, it } from "vitest";
import { approvalOf, askedHost, by, listed } from "../../../support/asked-host.ts";
import { DrivenAgent, newSession, openHost } from "../../../support/open-host.ts";

const rm = { tool_id: "call-1", tool_name: "shell", command: "rm x", description: "Removes x." };
const everything = ["once", "session", "always", "deny"];

describe("an approval", () => {
  it("W43 is answered by its id, equal ones with it, and no other", async () => {
    const { a, b, turn, session_id } = await askedHost();
    const p = turn.ask("approval", rm);
    const q = turn.ask("approval", { ...rm, tool_id: "call-2", command: "rm y" });
    const equal = turn.ask("approval", { ...rm, tool_id: "call-3", command: " rm   x " });
    const [first, second] = [await approvalOf(a, 0), await approvalOf(a, 1)];
    await a.settled();
    expect(a.requests()).toHaveLength(2);
    expect(first.id).toMatch(/^srq-[0-9a-f]{12}$/);
    expect(first.request_id).toMatch(/^apr-[0-9a-f]{12}$/);
    expect(await a.refused("approval.respond", { session_id })).toEqual([4006, "request_id_required"]);
    expect(await a.refused("approval.respond", { session_id, choice: "once" })).toEqual([4006, "request_id_required"]);
    const pending = async (): Promise<unknown> => {
      const { approvals } = await b.call("approval.pending", { session_id });
      return (approvals as readonly { readonly request_id: string }[]).map(({ request_id }) => request_id);
    };
    expect(await pending()).toEqual([first.request_id, second.request_id]);
    const { request_id } = first;
    const outcome = { outcome: "answered", choice: "once", ...by(a) };
    expect(await a.call("approval.respond", { session_id, request_id, choice: "once" })).toEqual({
      resolved: 1,
      status: "ok",
      outcome,
    });
    expect([await p, await equal]).toEqual([outcome, outcome]);
    expect(await pending()).toEqual([second.request_id]);
    expect(listed(await a.call("session.activate", { session_id }))).toEqual([second.id]);
    await b.settled();
    expect(b.events("request.cancel").map(({ payload }) => payload)).toEqual([
      { id: first.id, method: "approval", reason: "resolved" },
    ]);
    expect(b.events("request.resolved").map(({ payload }) => payload)).toEqual([
      { id: first.id, request_id, method: "approval", ...outcome },
    ]);
    b.send({ jsonrpc: "2.0", id: second.id, result: { choice: "deny" } });
    expect(await q).toEqual({ outcome: "denied", choice: "deny", ...by(b) });
  });

  it("is shown with its call, and listed as it is", async () => {
    const { a, turn, session_id, stored_session_id, connect } = await askedHost();
    const answered = turn.ask("approval", { ...rm, allow_permanent: false, secret_plan: "x" });
    const { params, id } = await a.request("approval");
    const request_id = String(params?.["request_id"]);
    const shown = { session_id, request_id, ...rm, allow_permanent: false, choices: ["once", "session", "deny"] };
    expect(params).toEqual(shown);
    expect((await a.event("tool.start")).payload).toEqual({ tool_id: "call-1", name: "shell" });
    const { allow_permanent: _flag, ...call } = shown;
    const entry = { ...call, created_at: expect.any(Number), expires_at: expect.any(Number) };
    const { approvals } = await a.call("approval.pending", { session_id });
    expect(approvals).toEqual([entry]);
    const late = await connect({ asks: true });
    expect(await late.call("session.resume", { session_id: stored_session_id })).toMatchObject({
      pending_approval: entry,
      open_requests: [{ id, method: "approval", params: shown }],
      status: "waiting",
    });
    for (const [named, acknowledged] of [
      [{ session_id, request_id }, true],
      [{ session_id, request_id: "apr-000000000000" }, false],
      [{ session_id: "s-elsewhere", request_id }, false],
    ] as const) {
      expect(await a.call("approval.received", named)).toEqual({ acknowledged });
    }
    expect(await a.refused("approval.received", { session_id })).toEqual([4006, "request_id_required"]);
    turn.end();
    expect(await answered).toMatchObject({ outcome: "cancelled", reason: "interrupted" });
    expect(await a.call("approval.pending", { session_id })).toEqual({ approvals: [] });
    expect(await a.call("approval.received", { session_id, request_id })).toEqual({ acknowledged: false });
  });

  it.each([
    [{}, everything],
    [{ smart_denied: true }, ["once", "always", "deny"]],
    [{ allow_session: false }, ["once", "always", "deny"]],
    [{ allow_permanent: false }, ["once", "session", "deny"]],
    [{ choices: ["once", "nonsense"] }, ["once", "deny"]],
    [{ choices: [] }, ["deny"]],
  ])("offers with %j %j", async (flags, choices) => {
    const { a, turn } = await askedHost();
    void turn.ask("approval", { ...rm, ...flags });
    expect((await a.request("approval")).params?.["choices"]).toEqual(choices);
  });

  it("has a number for each answer that is refused", async () => {
    const { a, b, turn, session_id } = await askedHost();
    const other = await newSession(b);
    const answered = turn.ask("approval", { ...rm, choices: ["once"] });
    const { request_id } = await approvalOf(a);
    const respond = (params: object): Promise<readonly [number, string]> =>
      b.refused("approval.respond", { session_id, request_id, choice: "once", ...params });
    expect([
      await respond({ session_id: "s-none", request_id: "apr-000000000000" }),
      await respond({ session_id: other.session_id }),
      await respond({ request_id: "apr-000000000000" }),
      await respond({ request_id: "" }),
      await respond({ request_id: 7 }),
      await respond({ choice: "session" }),
      await respond({ choice: "whatever" }),
      await respond({ choice: 1 }),
      await b.refused("approval.pending", { session_id: "s-none" }),
      await b.refused("approval.received", { session_id, request_id: "" }),
    ]).toEqual([
      [4001, "unknown_session"],
      [4014, "unknown_request"],
      [4014, "unknown_request"],
      [-32602, "invalid_params"],
      [-32602, "invalid_params"],
      [4007, "invalid_choice"],
      [4007, "invalid_choice"],
      [-32602, "invalid_params"],
      [4001, "unknown_session"],
      [-32602, "invalid_params"],
    ]);
    expect(await b.call("approval.respond", { session_id, request_id })).toMatchObject({
      resolved: 1,
      outcome: { outcome: "denied", choice: "deny" },
    });
    const stands = { outcome: "denied", choice: "deny", ...by(b) };
    expect(await answered).toEqual(stands);
    expect(await a.call("approval.respond", { session_id, request_id, choice: "once" })).toEqual({
      resolved: 0,
      status: "already_resolved",
      outcome: stands,
    });
  });

  it("is found by a runtime id that its session no longer has", async () => {
    const { a, turn, session_id, stored_session_id } = await askedHost();
    const answered = turn.ask("approval", rm);
    const { request_id } = await approvalOf(a);
    await a.call("session.close", { session_id });
    expect(await answered).toMatchObject({ outcome: "cancelled", reason: "session_closed" });
    const again = await a.call("session.resume", { session_id: stored_session_id });
    expect(again["session_id"]).not.toBe(session_id);
    expect(await a.call("approval.respond", { session_id, request_id, choice: "once" })).toEqual({
      resolved: 0,
      status: "already_resolved",
      outcome: { outcome: "cancelled", reason: "session_closed", by: null },
    });
    expect(await a.refused("approval.respond", { session_id, choice: "once", all: true })).toEqual([
      4001,
      "unknown_session",
    ]);
  });

  it("of a room is not answered by naming a session", async () => {
    const agent = new DrivenAgent();
    const members = [{ member_id: "m1", handle: "ada", runner: agent }];
    const host = await openHost({ rooms: [{ room_id: "r1", members }] });
    const a = await host.connect({ asks: true });
    await host.tap.room("r1").post({ text: "@ada go" });
    const answered = (await agent.turn()).ask("approval", rm);
    const [open] = host.tap.requests.open();
    const request_id = open?.request_id ?? "";
    for (const session_id of ["s-none", String(open?.params["session_id"])]) {
      const named = { session_id, request_id, choice: "once" };
      expect(await a.refused("approval.respond", named)).toEqual(
        session_id === "s-none" ? [4001, "unknown_session"] : [4122, "room_session"],
      );
    }
    expect(host.tap.requests.open()).toHaveLength(1);
    expect(await a.call("request.answer", { id: open?.id, result: { choice: "once" } })).toMatchObject({
      status: "ok",
    });
    expect(await answered).toMatchObject({ outcome: "answered", choice: "once", ...by(a) });
  });
});
