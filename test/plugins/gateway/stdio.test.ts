import { PassThrough, Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { limits, Signal } from "../../../core/index.ts";
import { defineMethod, gatewayTable, RpcTable, StdioGateway, type Method } from "../../../plugins/gateway/index.ts";
import { TestHost, type SmallHost } from "../../support/open-gateway.ts";
import { until } from "../../support/turns-of-loop.ts";

const gate = new Signal();

const slow: Method<SmallHost> = defineMethod<z.ZodObject, z.ZodUnknown, SmallHost>({
  name: "test.slow",
  summary: "Answers when it may.",
  params: z.looseObject({}),
  result: z.unknown(),
  handler: () => gate.fired.then(() => "done"),
});

interface Session {
  readonly gateway: StdioGateway<SmallHost>;
  readonly host: TestHost;
  readonly input: PassThrough;
  /** Lines that came out so far, parsed. */
  readonly frames: () => Record<string, unknown>[];
  readonly line: (count: number) => Promise<Record<string, unknown>>;
}

function open(output?: Writable): Session {
  const host = new TestHost();
  const input = new PassThrough();
  let text = "";
  const collect = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  const ping = gatewayTable.list().filter(({ name }) => name === "gateway.ping" || name === "client.capabilities");
  const table = new RpcTable<SmallHost>([...ping, slow]);
  const gateway = new StdioGateway({ host, table, input, output: output ?? collect });
  const frames = (): Record<string, unknown>[] =>
    text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const line = async (count: number): Promise<Record<string, unknown>> => {
    await until(() => frames().length >= count);
    return frames()[count - 1] ?? {};
  };
  return { gateway, host, input, frames, line };
}

describe("the gateway over stdio", () => {
  it("W10 begins without five keys, and its turns name no origin", async () => {
    const { host, line } = open();
    expect(await line(1)).toEqual({
      jsonrpc: "2.0",
      method: "event",
      params: {
        type: "gateway.ready",
        payload: {
          skin: {},
          change_events: false,
          replay_epoch: "epoch-1",
          protocol: { version: 1 },
          capabilities: expect.objectContaining({ event_replay: true }),
        },
      },
    });
    const [client] = host.clients;
    if (client === undefined) throw new Error("nobody has come");
    expect([client.origin, client.principal, client.holds("admin")]).toEqual([null, "local", true]);
    const session = host.tap.sessions.open("s1", { roomPlumbing: false });
    host.fanOut.attach(client, session, { after: 0 });
    const turn = host.tap.claim(session, { id: "T1", source: { kind: "unknown" } });
    host.tap.emit(turn, { type: "message.delta", payload: { text: "hello" } });
    expect(await line(2)).toEqual({
      jsonrpc: "2.0",
      method: "event",
      params: {
        type: "message.delta",
        session_id: session.runtimeId,
        seq: 1,
        turn: { id: "T1", source: { kind: "unknown" } },
        payload: { text: "hello" },
      },
    });
  });

  it("knows no ping, and answers calls line by line", async () => {
    const { input, line } = open();
    input.write('{"jsonrpc":"2.0","id":1,"method":"gateway.ping"}\n{"id":2,"meth');
    input.write('od":"client.capabilities"}\n\n{\n[]\n');
    expect(await line(5)).toBeDefined();
    const [, ping, capabilities, broken, batch] = await Promise.all([1, 2, 3, 4, 5].map(line));
    const replies = [ping, capabilities, broken, batch].map((frame) => [frame?.["id"], frame?.["error"]]);
    expect(replies).toEqual(
      expect.arrayContaining([
        [1, expect.objectContaining({ code: -32601 })],
        [2, undefined],
        [null, expect.objectContaining({ code: -32700 })],
        [null, expect.objectContaining({ code: -32600 })],
      ]),
    );
  });

  it.each([
    [limits.maxInboundBytes - 1, undefined],
    [limits.maxInboundBytes, undefined],
    [limits.maxInboundBytes + 1, "payload_too_large"],
    [33_554_432, "payload_too_large"],
  ])("reads a line of %i bytes: %s", async (bytes, reason) => {
    const { input, line } = open();
    const call = '{"jsonrpc":"2.0","id":1,"method":"client.capabilities","params":{"pad":""}}';
    input.write(`${call.replace('""', `"${"x".repeat(bytes - call.length)}"`)}\n`);
    const reply = (await line(2)) as { error?: { data: { reason: string } } };
    expect(reply.error?.data.reason).toBe(reason);
    input.write('{"jsonrpc":"2.0","id":2,"method":"client.capabilities"}\n');
    expect(await line(3)).toMatchObject({ id: 2, result: {} });
  });

  it("ends with its input, when what was asked is answered", async () => {
    const { input, gateway, frames, host } = open();
    input.end('{"jsonrpc":"2.0","id":1,"method":"test.slow"}');
    await until(() => input.readableEnded);
    gate.fire();
    expect(await gateway.ended).toBe("end_of_input");
    expect(frames().at(-1)).toEqual({ jsonrpc: "2.0", id: 1, result: "done" });
    expect(host.clients).toEqual([]);
  });

  it("ends quietly when nobody reads any more, and not when the output fails", async () => {
    const failing = (code: string): Writable =>
      new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })) });
    expect(await open(failing("EPIPE")).gateway.ended).toBe("reader_left");
    await expect(open(failing("ENOSPC")).gateway.ended).rejects.toMatchObject({
      code: "internal",
      cause: { code: "ENOSPC" },
    });
  });

  it("ends when its reader does not keep up", async () => {
    const { gateway, host } = open(new Writable({ write: () => undefined }));
    const [client] = host.clients;
    if (client === undefined) throw new Error("nobody has come");
    for (let count = 0; count < limits.maxMailboxFrames; count++) host.fanOut.toClient(client, "test", {});
    expect(client.isClosed).toBe(false);
    host.fanOut.toClient(client, "test", {});
    expect(await gateway.ended).toBe("slow_consumer");
    gateway.close();
  });
});
