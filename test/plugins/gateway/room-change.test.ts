import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Signal, type Client, type JsonObject } from "../../../core/index.ts";
import { createRedactor } from "../../../core/index.ts";
import { Dispatcher } from "../../../plugins/gateway/dispatcher.ts";
import { gatewayTable, RpcTable, type GatewayHost, type Method } from "../../../plugins/gateway/index.ts";
import { defineRoomChange } from "../../../plugins/gateway/methods/room-change.ts";
import { roomId } from "../../../plugins/gateway/methods/room-shapes.ts";
import { RoomSubscriptions } from "../../../plugins/gateway/room-subscriptions.ts";
import { memberChange, openFeed } from "../../support/fake-feed.ts";

const client = { principal: "local", scopes: new Set(["admin"]), holds: () => true } as unknown as Client;

/** A host of which a change of a room needs no more. */
function hostWith(more: Partial<GatewayHost> = {}) {
  const subscriptions = new RoomSubscriptions();
  const host = {
    subscriptions,
    redactor: createRedactor(),
    report: () => undefined,
    ...more,
  } as unknown as GatewayHost;
  return { host, subscriptions };
}

/** A change of room `r1` that goes on until the test ends it, and everything the caller is told, in order. */
async function change(outcome: () => JsonObject) {
  const [fake, going] = [await openFeed(), new Signal()];
  const method: Method = defineRoomChange({
    name: "test.change",
    summary: "Changes a room.",
    params: z.object({ room_id: roomId }),
    result: z.looseObject({}),
    handler: async (_, { afterReply }) => {
      afterReply(() => fake.change(memberChange("after")));
      await going.fired;
      return outcome();
    },
  });
  const { host, subscriptions } = hostWith();
  subscriptions.of(client).set("r1", fake.feed);
  const order: string[] = [];
  const call = { kind: "call", id: 1, method: "test.change", params: { room_id: "r1" } } as const;
  const done = new Dispatcher(new RpcTable([method]), host).call(client, call, ({ ok }) => {
    order.push(...fake.told.map(({ payload }) => String(payload["state"])), ok ? "reply" : "refusal");
  });
  return {
    change: (state: string) => fake.change(memberChange(state)),
    order: async () => {
      going.fire();
      await done;
      return [...order, ...fake.told.map(({ payload }) => String(payload["state"]))];
    },
  };
}

describe("a call that changes a room", () => {
  it("holds what its caller is told of the room until the reply stands", async () => {
    const given = await change(() => ({ done: true }));
    given.change("during");
    expect(await given.order()).toEqual(["reply", "during", "after"]);
  });

  it("holds it until the refusal stands", async () => {
    const given = await change(() => {
      throw new TypeError("broken");
    });
    given.change("during");
    expect(await given.order()).toEqual(["refusal", "during"]);
  });

  it.each([
    ["groups.create", { name: "n", members: [] }],
    ["groups.send", { payload: { text: "t" } }],
    ["groups.rename", { event_id: "e", name: "n" }],
    ["groups.stop", {}],
    ["groups.retry", { task_id: "k" }],
    ["groups.approve", { member_id: "m", task_id: "k", execution_generation: 1, request_id: "a", choice: "once" }],
    ["groups.disband", {}],
    ["rooms.pause", {}],
    ["rooms.resume", {}],
    ["rooms.cancel", { turn_id: "t" }],
    ["rooms.set_roster", { expected_revision: 1, members: [] }],
  ])("is %s", async (name, params) => {
    const never = () => new Promise<never>(() => undefined);
    const rooms = { find: never, create: never, disband: never } as unknown as GatewayHost["rooms"];
    const { host, subscriptions } = hostWith({ rooms, agents: new Map() });
    const fake = await openFeed();
    subscriptions.of(client).set("r1", fake.feed);
    const over: (() => void)[] = [];
    const method = gatewayTable.method(name);
    void method?.invoke(
      { room_id: "r1", ...params },
      {
        client,
        host,
        afterReply: () => undefined,
        afterCall: (run) => void over.push(run),
      },
    );
    fake.change(memberChange("during"));
    expect(fake.told).toEqual([]);
    for (const run of over) run();
    expect(fake.told.length).toBe(1);
  });
});
