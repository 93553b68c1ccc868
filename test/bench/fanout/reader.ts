import { connect, type Socket } from "node:net";
import { token, type Dialect } from "./messages.ts";

/** Messages of a server before the ones that count: what it says at the handshake. */
const greetings: Readonly<Record<Dialect, number>> = { gateway: 1, socketio: 2, plain: 1 };

const paths: Readonly<Record<Dialect, string | null>> = {
  gateway: `/api/ws?token=${token}`,
  socketio: "/socket.io/?EIO=4&transport=websocket",
  plain: null,
};

/** Of engine.io: "take me into the main namespace". Masked with zeros, as a client's frame must be. */
const joinMain = Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x34, 0x30]);

const textOpcode = 1;
const closeOpcode = 8;

/**
 * The cheapest client there is: it counts the WebSocket frames that come and looks at nothing inside. So the servers that are
 * compared have the same reader, whatever their own clients cost.
 */
export class Reader {
  /** Messages so far, greetings left out. */
  received = 0;
  readonly #socket: Socket;
  readonly #dialect: Dialect;
  readonly #onMessage: () => void;
  readonly #onClose: (code: number) => void;
  #isOpen: boolean;
  #greetings: number;
  /** Bytes of the present frame's payload still to come. */
  #left = 0;
  #head: Buffer = Buffer.alloc(0);
  #opened: () => void = () => undefined;
  readonly opened = new Promise<void>((resolve) => (this.#opened = resolve));

  constructor(dialect: Dialect, port: number, told: { onMessage: () => void; onClose: (code: number) => void }) {
    this.#dialect = dialect;
    this.#onMessage = told.onMessage;
    this.#onClose = told.onClose;
    this.#greetings = greetings[dialect];
    const path = paths[dialect];
    this.#isOpen = path === null;
    const buffer = Buffer.allocUnsafe(65_536);
    const callback = (bytes: number): boolean => {
      this.#read(buffer.subarray(0, bytes));
      return true;
    };
    this.#socket = connect({ port, host: "127.0.0.1", noDelay: true, onread: { buffer, callback } });
    this.#socket.on("error", () => undefined);
    this.#socket.once("connect", () => {
      if (path !== null) this.#socket.write(handshake(path));
    });
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  end(): void {
    this.#socket.destroy();
  }

  #read(bytes: Buffer): void {
    let rest = bytes;
    if (!this.#isOpen) {
      rest = Buffer.concat([this.#head, bytes]);
      const end = rest.indexOf("\r\n\r\n");
      this.#head = rest;
      if (end < 0) return;
      this.#isOpen = true;
      this.#head = Buffer.alloc(0);
      rest = rest.subarray(end + 4);
    }
    this.#frames(rest);
  }

  #frames(bytes: Buffer): void {
    let at = Math.min(this.#left, bytes.length);
    this.#left -= at;
    let from = bytes;
    if (this.#head.length > 0) {
      from = Buffer.concat([this.#head, bytes]);
      this.#head = Buffer.alloc(0);
    }
    while (at < from.length) {
      const length = headLength(from, at);
      if (length === 0 || at + length > from.length) {
        this.#head = Buffer.from(from.subarray(at));
        return;
      }
      const payload = payloadLength(from, at);
      const opcode = (from[at] ?? 0) & 0xf;
      if (opcode === closeOpcode && at + length + payload > from.length) {
        this.#head = Buffer.from(from.subarray(at));
        return;
      }
      at += length;
      if (opcode === closeOpcode) this.#onClose(from.readUInt16BE(at));
      if (opcode === textOpcode) this.#message();
      const here = Math.min(payload, from.length - at);
      this.#left = payload - here;
      at += here;
    }
  }

  #message(): void {
    if (this.#greetings > 0) {
      if (this.#dialect === "socketio" && this.#greetings === 2) this.#socket.write(joinMain);
      if (--this.#greetings === 0) this.#opened();
      return;
    }
    this.received++;
    this.#onMessage();
  }
}

function handshake(path: string): string {
  return [
    `GET ${path} HTTP/1.1`,
    "Host: 127.0.0.1",
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    "Sec-WebSocket-Version: 13",
    "\r\n",
  ].join("\r\n");
}

/** Bytes before the payload of the frame at `at`; 0 while that cannot be told. */
function headLength(bytes: Buffer, at: number): number {
  const short = bytes[at + 1];
  if (short === undefined) return 0;
  return short < 126 ? 2 : short === 126 ? 4 : 10;
}

function payloadLength(bytes: Buffer, at: number): number {
  const short = bytes[at + 1] ?? 0;
  if (short < 126) return short;
  return short === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
}
