import { describe, expect, it } from "vitest";
import { limits } from "../../core/index.ts";
import { openWire, type Watcher } from "../support/fan-out.ts";

/** Texts of the events that a client was written, in order. */
function textsOf({ outlet }: Watcher): readonly unknown[] {
  return outlet.frames.map((frame) => !("id" in frame) && frame.params.payload?.["text"]);
}

describe("a client's own line", () => {
  it("reaches that client alone, in order and in a later turn", () => {
    const wire = openWire();
    const [client, other] = [wire.connect(), wire.connect()];
    const line = wire.fanOut.openLine(client.client);
    for (const text of ["a", "b", "c"]) line.tell("room.member", { text });
    expect(client.outlet.writes).toEqual([]);
    wire.turn();
    expect([textsOf(client), textsOf(other)]).toEqual([["a", "b", "c"], []]);
    expect(client.outlet.frames[0]).toEqual({
      jsonrpc: "2.0",
      method: "event",
      params: { type: "room.member", payload: { text: "a" } },
    });
  });

  it.each([limits.maxMailboxFrames, limits.maxMailboxFrames + 1, 1_000])(
    "brings a burst of %i to a client that drains from turn to turn",
    (count) => {
      const wire = openWire();
      const client = wire.connect({ reads: false });
      const line = wire.fanOut.openLine(client.client);
      for (let text = 0; text < count; text++) line.tell("room.member", { text });
      for (let turn = 0; wire.clock.tick() > 0; turn++) {
        expect(client.client.mailbox.occupancy.frames).toBeLessThanOrEqual(limits.maxMailboxFrames);
        client.outlet.drain();
      }
      expect([textsOf(client).length, client.outlet.closes]).toEqual([count, []]);
    },
  );

  it("closes a client that does not drain", () => {
    const wire = openWire();
    const client = wire.connect({ reads: false });
    const line = wire.fanOut.openLine(client.client);
    for (let text = 0; text <= limits.maxMailboxFrames; text++) line.tell("room.member", { text });
    wire.turn();
    expect(client.outlet.closes).toEqual([[1013, "slow_consumer"]]);
  });

  it("that is closed takes back what has not left", () => {
    const wire = openWire();
    const client = wire.connect();
    const line = wire.fanOut.openLine(client.client);
    line.tell("room.member", { text: "a" });
    line.close();
    line.close();
    line.tell("room.member", { text: "b" });
    wire.turn();
    expect([textsOf(client), wire.fanOut.stats().pending]).toEqual([[], 0]);
  });

  it("brings only what the client may receive by then", () => {
    const wire = openWire({ mayReceive: (client) => client.holds("read") });
    const client = wire.connect({ scopes: ["read"] });
    const line = wire.fanOut.openLine(client.client);
    line.tell("room.member", { text: "a" });
    wire.turn();
    client.client.scopes = new Set(["write"]);
    line.tell("room.member", { text: "b" });
    wire.turn();
    expect(textsOf(client)).toEqual(["a"]);
  });
});
