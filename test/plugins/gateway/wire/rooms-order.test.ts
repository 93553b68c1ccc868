import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../../core/index.ts";
import type { HostClient } from "../../../support/open-host.ts";
import {
  activityCame,
  memberCame,
  roomWords,
  rowCame,
  wiredRoom,
  type WiredRoom,
} from "../../../support/wired-room.ts";
import { until } from "../../../support/turns-of-loop.ts";

const room_id = "r1";
const post = (text = "go"): JsonObject => ({ room_id, payload: { text } });

/** A host, and a client that is subscribed to its room. */
async function subscribed(handles?: readonly string[]): Promise<{ host: WiredRoom; client: HostClient }> {
  const host = await wiredRoom(handles);
  const client = await host.connect();
  await client.call("rooms.subscribe", { room_id });
  return { host, client };
}

/** Calls, and gives the types of what came before the reply, and what the reply is. */
async function callOf(client: HostClient, method: string, params: JsonObject) {
  await client.settled();
  const from = client.came.length;
  const reply = await client.ask(method, params);
  const before = client.came.slice(from, client.came.indexOf(reply)).map((came) => came.params?.type);
  return { before, reply };
}

describe("what a call on a room causes is told behind its reply", () => {
  it("of groups.send", async () => {
    const { client } = await subscribed();
    for (const text of ["one", "two", "three"]) {
      const { before, reply } = await callOf(client, "groups.send", post(text));
      expect([before, reply.result?.["accepted"]]).toEqual([[], true]);
    }
    await client.eventWhere("room.message", ({ payload }) => payload?.["text"] === "three");
  });

  it("of groups.stop and rooms.cancel", async () => {
    const { host, client } = await subscribed();
    for (const [index, method] of ["groups.stop", "rooms.cancel"].entries()) {
      await client.call("groups.send", post());
      const { turn } = await host.agent.turn(index);
      await memberCame(client, "running");
      const params = method === "groups.stop" ? { room_id } : { room_id, turn_id: turn.turn_id };
      const { before, reply } = await callOf(client, method, params);
      expect([before, reply.result]).toEqual([[], { cancelled: 1 }]);
      await rowCame(client, 2 * index + 2);
      await host.tap.quiet();
    }
  });

  it("of groups.retry", async () => {
    const { host, client } = await subscribed();
    await client.call("groups.send", post());
    const first = await host.agent.turn();
    first.fail(new Error("broken"));
    await memberCame(client, "failed");
    const { task_id } = first.turn.coordinates ?? {};
    const { before, reply } = await callOf(client, "groups.retry", { room_id, task_id });
    expect([before, reply.result?.["retried"]]).toEqual([[], true]);
    await rowCame(client, 3);
  });

  it("of groups.approve", async () => {
    const { host, client } = await subscribed();
    await client.call("groups.send", post());
    const agent = await host.agent.turn();
    void agent.ask("approval", { command: "rm", tool_id: "c1", tool_name: "run" });
    await activityCame(client, "request.opened");
    const request_id = host.tap.requests.open()[0]?.request_id;
    const { member_id, task_id, execution_generation } = agent.turn.coordinates ?? {};
    const place = { room_id, member_id, task_id, execution_generation, request_id };
    const { before, reply } = await callOf(client, "groups.approve", { ...place, choice: "once" });
    expect([before, reply.result?.["approved"]]).toEqual([[], true]);
    await activityCame(client, "request.resolved");
  });

  it("of rooms.pause, rooms.resume, rooms.set_roster and groups.disband", async () => {
    const { host, client } = await subscribed(["a", "b"]);
    const calls: readonly (readonly [string, JsonObject])[] = [
      ["rooms.pause", { room_id, member_id: "m-a" }],
      ["rooms.resume", { room_id }],
      ["rooms.set_roster", { room_id, expected_revision: 1, members: [{ handle: "a", profile: "default" }] }],
      ["groups.disband", { room_id }],
    ];
    for (const [method, params] of calls) {
      const told = client.events().length;
      const { before, reply } = await callOf(client, method, params);
      expect([method, before, reply.error]).toEqual([method, [], undefined]);
      if (method === "rooms.pause" || method === "rooms.resume") await until(() => client.events().length > told);
    }
    expect(host.tap.room(room_id).record.disbanded_at).not.toBeNull();
  });

  it("also while other calls on the room are under way, and refused ones", async () => {
    const { client } = await subscribed();
    await client.settled();
    const from = client.came.length;
    const replies = await Promise.all([
      client.ask("groups.send", post("one")),
      client.ask("groups.retry", { room_id, task_id: "k-none" }),
      client.ask("groups.send", post("two")),
    ]);
    const places = replies.map((reply) => client.came.indexOf(reply));
    expect(replies[1]?.error).toMatchObject({ code: 4115, data: { reason: "unknown_task" } });
    expect(client.came.slice(from, Math.max(...places)).filter(({ method }) => method === "event")).toEqual([]);
    await client.eventWhere("room.message", ({ payload }) => payload?.["text"] === "two");
  });

  it("and others are told at once", async () => {
    const { client, host } = await subscribed();
    const other = await host.connect();
    await other.call("rooms.subscribe", { room_id });
    await client.call("groups.send", post());
    await memberCame(other, "running");
    await memberCame(client, "running");
    expect(roomWords(other)).toEqual(roomWords(client));
  });
});
