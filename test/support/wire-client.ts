import { afterEach } from "vitest";
import { manualClock, type ManualClock } from "../../core/index.ts";
import { createClient, type Client, type ClientOptions, type Json, type Problem } from "../../plugins/client/index.ts";
import { fakeGateway, type Answers, type FakeGateway } from "./fake-gateway.ts";

/** A client of a server in memory, on a clock that stands still. Its chance is always `unit`, its keys count up. */
export interface WireClient {
  readonly client: Client;
  readonly gateway: FakeGateway;
  readonly clock: ManualClock;
  readonly problems: Problem[];
}

const open: Client[] = [];

afterEach(() => {
  for (const client of open.splice(0)) void client.close();
});

/** @param unit what chance says, 0 to below 1 */
export function wireClient(answers: Answers = {}, options: Partial<ClientOptions> = {}, unit = 0.5): WireClient {
  const gateway = fakeGateway({ "client.capabilities": () => ({ server_requests: [] }), ...answers });
  const clock = manualClock();
  let keys = 0;
  const chance = { unit: () => unit, hex: () => String(++keys) };
  const client = createClient({
    url: "ws://127.0.0.1:1/api/ws",
    WebSocket: gateway.WebSocket,
    clock,
    chance,
    ...options,
  });
  open.push(client);
  const problems: Problem[] = [];
  client.onProblem((problem) => problems.push(problem));
  return { client, gateway, clock, problems };
}

/** A client whose first connection stands. */
export async function connectedClient(
  answers: Answers = {},
  options: Partial<ClientOptions> = {},
): Promise<WireClient> {
  const wire = wireClient(answers, options);
  const connected = wire.client.connect();
  wire.gateway.socket.ready();
  await connected;
  return wire;
}

/** Lets everything that promises have made ready run. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}

/** Lets time pass until the client dials again. */
export function redial({ gateway, clock }: Pick<WireClient, "gateway" | "clock">): void {
  const { length } = gateway.sockets;
  for (let step = 0; gateway.sockets.length === length; step++) {
    if (step > 1_000) throw new Error("the client does not dial");
    clock.advance(100);
  }
}

/** A drop, and the next connection with this `gateway.ready`. */
export async function comeBack(wire: WireClient, ready: Json = {}): Promise<void> {
  wire.gateway.socket.end();
  await settled();
  redial(wire);
  wire.gateway.socket.ready(ready);
  await settled();
}
