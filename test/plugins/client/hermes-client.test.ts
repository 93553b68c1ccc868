import { describe, expect, it } from "vitest";
import { manualClock } from "../../../core/index.ts";
import type { Json } from "../../../plugins/client/index.ts";
import { fakeGateway, type Answers, type FakeGateway } from "../../support/fake-gateway.ts";
import { HermesClient } from "../../support/hermes-client.ts";
import { settled } from "../../support/wire-client.ts";

// The client of the wire tests is itself held to what it says of itself: a check against it is worth no more than it is.

function hermes(answers: Answers = {}): {
  client: HermesClient;
  gateway: FakeGateway;
  clock: ReturnType<typeof manualClock>;
  seen: unknown[];
} {
  const gateway = fakeGateway(answers);
  const clock = manualClock();
  class Socket extends gateway.WebSocket {
    constructor(url: string) {
      super(url, [], { headers: {} });
    }
  }
  const client = new HermesClient(Socket, clock);
  const seen: unknown[] = [];
  client.on("message.delta", ({ seq }) => seen.push(seq));
  return { client, gateway, clock, seen };
}

const url = "ws://127.0.0.1:1/api/ws";

async function connected(answers: Answers = {}): Promise<ReturnType<typeof hermes>> {
  const wire = hermes(answers);
  const done = wire.client.connect(url);
  wire.gateway.socket.ready();
  await done;
  return wire;
}

async function again(wire: ReturnType<typeof hermes>, ready: Json = {}): Promise<void> {
  wire.gateway.socket.end();
  const done = wire.client.connect(url);
  wire.gateway.socket.ready(ready);
  await done;
}

describe("the test client", () => {
  it("W3 is open after gateway.ready and sends its capabilities as r1", async () => {
    const { client, gateway, clock } = await connected();
    clock.advance(15_000);
    expect(client.state).toBe("open");
    expect(gateway.socket.sent.map(({ id, method }) => [id, method])).toEqual([
      ["r1", "client.capabilities"],
      ["heartbeat-1", "gateway.ping"],
    ]);
  });

  it.each(["[]", "{", '{"jsonrpc":"2.0","method":"event","params":{"type":"notice"}}'])(
    "ends in error after %s",
    async (first) => {
      const { client, gateway } = hermes();
      const done = client.connect(url);
      gateway.socket.say(first);
      await expect(done).rejects.toThrow("no gateway.ready");
      expect(client.state).toBe("error");
    },
  );

  it("W4 marks 4401 in the handshake", async () => {
    const { client, gateway } = hermes();
    const done = client.connect(url);
    gateway.socket.end(4401, "token_mismatch");
    await expect(done).rejects.toMatchObject({ code: 4401, loginAgain: true });
  });

  it("rejects what waits at a drop, and does not come back", async () => {
    const { client, gateway, clock } = await connected();
    const call = client.request("session.list");
    gateway.socket.end(1013, "slow_consumer");
    await expect(call).rejects.toMatchObject({ code: 1013 });
    clock.advance(3_600_000);
    expect([client.state, gateway.sockets.length]).toEqual(["closed", 1]);
  });

  it("parks live frames while it replays, and hands out each above its watermark", async () => {
    const wire = await connected();
    wire.gateway.socket.frame("s1", 3);
    await again(wire);
    const { socket } = wire.gateway;
    expect(socket.calls("session.events.since")[0]?.params).toEqual({ session_id: "s1", last_seen: 3 });
    socket.frame("s1", 6);
    socket.frame("s2", 1);
    const event = (seq: number): Json => ({ type: "message.delta", session_id: "s1", seq });
    const envelope = { jsonrpc: "2.0", method: "event", params: event(5) };
    socket.reply(socket.lastId("session.events.since"), {
      events: [event(3), event(4), envelope, event(6)],
      epoch: "e1",
    });
    await wire.client.replayed;
    expect(wire.seen).toEqual([3, 1, 4, 6]);
  });

  it("W37 asks for no replay in a new epoch, and drops a replay of another one", async () => {
    const wire = await connected();
    wire.gateway.socket.frame("s1", 3);
    await again(wire, { replay_epoch: "e2" });
    expect([wire.gateway.socket.calls("session.events.since"), [...wire.client.watermarks]]).toEqual([[], []]);
    wire.gateway.socket.frame("s1", 1);
    await again(wire, { replay_epoch: "e2" });
    const { socket } = wire.gateway;
    socket.reply(socket.lastId("session.events.since"), {
      events: [{ type: "message.delta", session_id: "s1", seq: 2 }],
      epoch: "e3",
    });
    await wire.client.replayed;
    expect(wire.seen).toEqual([3, 1]);
  });

  it("gives a replay 10 s, then goes on without it", async () => {
    const wire = await connected();
    wire.gateway.socket.frame("s1", 3);
    await again(wire);
    wire.gateway.socket.frame("s1", 9);
    wire.clock.advance(10_000);
    await wire.client.replayed;
    expect(wire.seen).toEqual([3, 9]);
  });

  it("drops a socket after 45 s of silence", async () => {
    const { client, clock } = await connected();
    clock.advance(44_999);
    expect(client.state).toBe("open");
    clock.advance(1);
    expect(client.state).toBe("closed");
  });

  it("W41 hands open requests to handlers before the call resolves; false passes them on", async () => {
    const { client, gateway } = await connected({
      "session.resume": () => ({ open_requests: [{ id: "srq-1", method: "clarify", params: {} }] }),
    });
    const order: unknown[] = [];
    client.onRequest(({ replayed }) => {
      order.push(replayed);
      return false;
    });
    client.onRequest(() => ({ answer: "yes" }));
    await client.request("session.resume").then(() => order.push("resolved"));
    await settled();
    expect(order).toEqual([true, "resolved"]);
    expect(gateway.socket.sent.at(-1)).toMatchObject({ id: "srq-1", result: { answer: "yes" } });
  });

  it("declines a question without a handler, and one whose handler throws", async () => {
    const { client, gateway } = await connected();
    gateway.socket.ask("srq-1", "clarify", {});
    client.onRequest(() => {
      throw new Error("no");
    });
    gateway.socket.ask("srq-2", "clarify", {});
    await settled();
    expect(gateway.socket.sent.slice(-2).map(({ id, error }) => [id, error?.["code"]])).toEqual([
      ["srq-1", -32601],
      ["srq-2", -32603],
    ]);
  });
});
