import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { Server as SocketIo } from "socket.io";
import { createRedactor, FanOut, systemClock, systemIds, Tap, type Client, type Session } from "../../../core/index.ts";
import { createGateway, RpcTable, type TransportHost } from "../../../plugins/gateway/index.ts";
import { token, type Dialect } from "./messages.ts";

/** Something that sends the same messages to all its clients. */
export interface Sender {
  readonly dialect: Dialect;
  readonly port: number;
  /** Sends `count` messages of about `bytes` to each client, all in this turn of the loop. */
  readonly burst: (count: number, bytes: number) => void;
  close(): Promise<void>;
}

/** What stands around the text of an event on roomtap's wire, in bytes. */
function envelopeOf(type: string): number {
  const turn = { id: "T1", source: { kind: "unknown" } };
  const params = { type, session_id: "s-0123456789abcdef", seq: 10_000, turn, payload: { text: "" } };
  return JSON.stringify({ jsonrpc: "2.0", method: "event", params }).length;
}

/** A text that makes a message of `bytes` with `envelope` bytes around it. It ends in a space: nothing of it is held back. */
function textOf(bytes: number, envelope: number): string {
  return `${"the quick brown fox jumps ".repeat(Math.ceil(bytes / 26)).slice(0, bytes - envelope - 1)} `;
}

/** A WebSocket text frame. */
function frameOf(text: string): Buffer {
  const payload = Buffer.from(text);
  const head = payload.length < 126 ? [0x81, payload.length] : [0x81, 126, payload.length >> 8, payload.length & 255];
  return Buffer.concat([Buffer.from(head), payload]);
}

/** A session of the gateway and who is attached to it. */
export interface Stream {
  /** From now on connections that come are attached to it. */
  welcome(): void;
  /** As a sender's. */
  readonly burst: (count: number, bytes: number) => void;
}

/** The real gateway: seam, fan-out, mailboxes, sockets. */
export interface Roomtap {
  readonly port: number;
  readonly fanOut: FanOut;
  /** In order of arrival. */
  readonly clients: readonly Client[];
  /** A new session, which welcomes those that come. */
  stream(): Stream;
  close(): Promise<void>;
}

export async function openRoomtap(): Promise<Roomtap> {
  const tap = new Tap({ activity: { listening: false, push: () => undefined } });
  const fanOut = new FanOut({ seam: tap.seam, clock: systemClock, mayReceive: (client) => client.holds("read") });
  const clients: Client[] = [];
  let welcoming: Session | null = null;
  const host: TransportHost = {
    clock: systemClock,
    ids: systemIds,
    report: () => undefined,
    audit: () => undefined,
    changed: () => undefined,
    redactor: createRedactor(),
    epoch: "bench",
    arrived: (client) => {
      fanOut.connect(client);
      if (welcoming !== null) fanOut.attach(client, welcoming);
      clients.push(client);
    },
    left: (client) => fanOut.disconnect(client).map((session) => ({ session, role: "owner" as const })),
    owns: () => false,
    answered: () => undefined,
  };
  const gateway = createGateway(
    { host, table: new RpcTable<TransportHost>([]) },
    { token, pingIntervalMs: 0, maxConnections: 4_000, maxConnectionsPerPrincipal: 4_000 },
  );
  const { port } = await gateway.listen({ port: 0 });
  return {
    port,
    fanOut,
    clients,
    stream: () => {
      const session = tap.sessions.open(systemIds.hex(8), { roomPlumbing: false });
      const turn = tap.claim(session, { id: "T1", source: { kind: "unknown" } });
      const welcome = (): void => void (welcoming = session);
      welcome();
      return {
        welcome,
        burst: (count, bytes) => {
          const text = textOf(bytes, envelopeOf("message.delta"));
          for (let k = 0; k < count; k++) tap.emit(turn, { type: "message.delta", payload: { text } });
        },
      };
    },
    close: async () => {
      await gateway.close();
      fanOut.close();
    },
  };
}

/** A room of Socket.IO, over WebSocket alone, with the same params as its data. */
export async function openSocketIo(): Promise<Sender> {
  const server = createHttpServer();
  const io = new SocketIo(server, { transports: ["websocket"], pingInterval: 100_000_000, perMessageDeflate: false });
  io.on("connection", (socket) => void socket.join("room"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  let seq = 0;
  return {
    dialect: "socketio",
    port: (server.address() as AddressInfo).port,
    burst: (count, bytes) => {
      // Its own envelope is 33 bytes shorter.
      const text = textOf(bytes, envelopeOf("message.delta") - 33);
      for (let k = 0; k < count; k++) {
        const turn = { id: "T1", source: { kind: "unknown" } };
        const params = { type: "message.delta", session_id: "s-0123456789abcdef", seq: ++seq, turn, payload: { text } };
        io.to("room").emit("event", params);
      }
    },
    close: async () => {
      await io.close();
    },
  };
}

/**
 * Raw TCP sockets and bytes that were made before: what a machine can do at all.
 * @param isCoalesced one write per burst, else one per message
 */
export async function openRaw(isCoalesced: boolean): Promise<Sender> {
  const sockets: Socket[] = [];
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on("error", () => undefined);
    sockets.push(socket);
    // From now on it gets what is sent, so its reader may count.
    socket.write(frameOf("ready"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const frames = new Map<number, Buffer>();
  return {
    dialect: "plain",
    port: (server.address() as AddressInfo).port,
    burst: (count, bytes) => {
      const frame = frames.get(bytes) ?? frameOf(textOf(bytes, 0));
      frames.set(bytes, frame);
      const joined = isCoalesced ? Buffer.concat(Array.from({ length: count }, () => frame)) : frame;
      const writes = isCoalesced ? 1 : count;
      for (let k = 0; k < writes; k++) for (const socket of sockets) socket.write(joined);
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
