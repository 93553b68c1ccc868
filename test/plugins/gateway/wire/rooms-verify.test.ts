import { describe, expect, it } from "vitest";
import { holders, rowCame, wiredRoom } from "../../../support/wired-room.ts";

const hash = expect.stringMatching(/^[0-9a-f]{64}$/);

describe("rooms.verify", () => {
  it("says that each row is as it was written", async () => {
    const host = await wiredRoom();
    const client = await host.connect();
    await client.call("rooms.subscribe", { room_id: "r1" });
    await client.call("groups.send", { room_id: "r1", event_id: "e1", payload: { text: "hello" } });
    const turn = await host.agent.turn();
    turn.end({ status: "completed", text: "hi" });
    await rowCame(client, 2);
    expect(await client.call("rooms.verify", { room_id: "r1" })).toEqual({
      ...{ room_id: "r1", rows: 2, head: 2, log_hash: hash, digest: hash, open_turns: [], problem: null },
    });
  });

  it("knows no room that is not there, and none that is not there for the caller", async () => {
    const host = await wiredRoom();
    const client = await host.connect();
    expect((await client.ask("rooms.verify", { room_id: "r2" })).error?.data.reason).toBe("unknown_room");
  });

  it("needs read", async () => {
    const authenticate = holders({ writer: { scopes: ["write"] } });
    const host = await wiredRoom(["a"], { gateway: { authenticate } });
    const client = await host.connect({ token: "writer" });
    expect((await client.ask("rooms.verify", { room_id: "r1" })).error?.data.reason).toBe("insufficient_scope");
  });
});
