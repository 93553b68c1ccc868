import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { limits } from "../../../../core/index.ts";
import { turnOf } from "../../../support/asked-host.ts";
import { numbers } from "../../../support/fan-out.ts";
import { HermesClient } from "../../../support/hermes-client.ts";
import { watchedGateway, type WatchedGateway } from "../../../support/jammed-client.ts";
import { loopClock } from "../../../support/open-log.ts";
import { newSession, openHost, type DrivenTurn, type HostClient, type OpenHost } from "../../../support/open-host.ts";
import { turnsOfLoop, until } from "../../../support/turns-of-loop.ts";

const slow = { code: 1013, reason: "slow_consumer" };

interface Watched extends OpenHost {
  readonly a: HostClient;
  readonly session_id: string;
  readonly turn: DrivenTurn;
  readonly watched: WatchedGateway;
}

/** A session whose turn runs, a client that reads, and a gateway for one that does not. */
async function watchedHost(): Promise<Watched> {
  // Time stands still: who is closed is not cut off before it reads again.
  const host = await openHost({ clock: loopClock() });
  const a = await host.connect();
  const { session_id } = await newSession(a);
  const turn = await turnOf(host, a, session_id);
  return { ...host, a, session_id, turn, watched: await watchedGateway(host) };
}

/** An attached client whose socket takes nothing any more. */
async function stuckClient({ watched, session_id }: Watched): Promise<HostClient> {
  const stuck = await watched.connect();
  await stuck.call("session.activate", { session_id });
  await watched.jam(stuck.ws, (long, nth) =>
    stuck.send({ jsonrpc: "2.0", id: `fill-${nth}`, method: "session.history", params: { session_id: long } }),
  );
  return stuck;
}

function seqs(client: HostClient): readonly (number | undefined)[] {
  return client.events().map(({ seq }) => seq);
}

describe("a client that does not read", () => {
  it("W28 C-010 is closed at its 257th frame, alone, once", async () => {
    const host = await watchedHost();
    const { a, turn, watched } = host;
    const stuck = await stuckClient(host);
    const before = a.events().length;
    const { gateway } = watched;
    for (let frame = 1; frame <= limits.maxMailboxFrames; frame++) {
      expect(turn.emit("status.update", { kind: "status", text: String(frame) })).toBe("written");
      await turnsOfLoop(1);
    }
    await a.settled();
    expect([gateway.connections, gateway.count("slow_consumer")]).toEqual([1, 0]);
    expect(turn.emit("status.update", { kind: "status", text: "257" })).toBe("written");
    await turnsOfLoop(1);
    expect([gateway.connections, gateway.count("slow_consumer")]).toEqual([0, 1]);
    turn.emit("status.update", { kind: "status", text: "258" });
    await a.settled();
    stuck.ws.resume();
    expect(await stuck.closed).toEqual(slow);
    const texts = a.events("status.update").map(({ payload }) => payload?.["text"]);
    expect(texts).toEqual(numbers(1, 258).map(String));
    expect(seqs(a)).toEqual(numbers(1, before + 258));
    expect([a.ws.readyState, gateway.count("slow_consumer"), host.gateway.count("slow_consumer")]).toEqual([1, 1, 0]);
  });

  it.each([0, 1])("C-010 holds 4 MiB to the byte, and %i more", async (more) => {
    const host = await watchedHost();
    const { a, turn, watched } = host;
    const stuck = await stuckClient(host);
    const sizeOf = (nth: number): number => Buffer.byteLength(JSON.stringify(a.came.filter(isNotice)[nth]));
    const notice = async (units: number): Promise<void> => {
      turn.emit("notice", { message: "x".repeat(units) });
      await turnsOfLoop(2);
      await a.settled();
    };
    await notice(1);
    const first = sizeOf(0);
    // Both have numbers of one digit.
    await notice(limits.maxMailboxBytes - first - first + 1 + more);
    expect(first + sizeOf(1)).toBe(limits.maxMailboxBytes + more);
    expect([watched.gateway.connections, watched.gateway.count("slow_consumer")]).toEqual(more === 0 ? [1, 0] : [0, 1]);
    stuck.ws.terminate();
  });

  it("W29 comes back for what it missed, and has each number once", async () => {
    const host = await watchedHost();
    const { turn, session_id, watched } = host;
    const sockets: WebSocket[] = [];
    const client = new HermesClient(
      class extends WebSocket {
        constructor(url: string) {
          super(url);
          sockets.push(this);
        }
      } as unknown as ConstructorParameters<typeof HermesClient>[0],
    );
    const seen: unknown[] = [];
    client.on("*", ({ session_id: of, seq }) => void (of === session_id && seen.push(seq)));
    await client.connect(watched.url);
    await client.request("session.activate", { session_id });
    turn.delta("first");
    await until(() => seen.length > 0);
    const start = Number(seen[0]);
    await watched.jam({ pause: () => sockets[0]?.pause() }, (long) => {
      client.request("session.history", { session_id: long }).catch(() => undefined);
    });
    for (let frame = 1; frame <= 257; frame++) {
      turn.emit("status.update", { kind: "status", text: String(frame) });
      await turnsOfLoop(1);
    }
    sockets[0]?.resume();
    await until(() => client.state === "closed", 100_000);
    expect(watched.gateway.count("slow_consumer")).toBe(1);
    turn.delta("while it was away");
    await client.connect(`${watched.url}&resume=${String(client.ready["resume_token"])}`);
    turn.delta("while it replays");
    await client.replayed;
    turn.delta("live");
    await until(() => client.watermarks.get(session_id) === start + 260);
    expect(seen).toEqual(numbers(start, start + 260));
    client.close();
  });

  it("C-011 delays nobody, and is closed once", async () => {
    const host = await watchedHost();
    const { turn, session_id, watched, connect } = host;
    const stuck = await stuckClient(host);
    const readers = await Promise.all(Array.from({ length: 16 }, () => connect()));
    for (const reader of readers) await reader.call("session.activate", { session_id });
    const calls: unknown[] = [];
    for (let burst = 0; burst < 20; burst++) {
      for (let frame = 0; frame < 50; frame++) turn.emit("status.update", { kind: "status", text: "x" });
      await turnsOfLoop(1);
      if (burst === 10) calls.push(await host.a.call("session.status", { session_id }));
    }
    for (const reader of readers) await reader.event("status.update", 999);
    const [first] = seqs(readers[0] ?? host.a);
    for (const reader of readers) expect(seqs(reader)).toEqual(numbers(Number(first), Number(first) + 999));
    expect(calls).toMatchObject([{ running: true }]);
    expect([watched.gateway.count("slow_consumer"), host.gateway.count("slow_consumer")]).toEqual([1, 0]);
    stuck.ws.resume();
    expect(await stuck.closed).toEqual(slow);
  });
});

describe("a client that reads", () => {
  it("C-017 is closed for no burst that it drains", async () => {
    const { a, turn, gateway } = await watchedHost();
    for (let burst = 1; burst <= 100; burst++) {
      for (let frame = 0; frame < limits.maxMailboxFrames; frame++)
        turn.emit("status.update", { kind: "status", text: "x" });
      await until(() => a.events("status.update").length === burst * limits.maxMailboxFrames, 50_000);
    }
    await a.settled();
    expect(a.events("status.update")).toHaveLength(25_600);
    expect([a.ws.readyState, gateway.count("slow_consumer")]).toEqual([1, 0]);
  });
});

function isNotice({ params }: { readonly params?: { readonly type?: string } }): boolean {
  return params?.type === "notice";
}
