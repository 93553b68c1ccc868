import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocket as Socket, WebSocketServer } from "ws";
import { limits, type Clock, type Outlet, type Undo } from "../../core/index.ts";
import { closeCodes, type CloseWord } from "./close-codes.ts";
import { subprotocol } from "./credentials.ts";

/** Opens sockets where the platform has none of its own: clients take it as their `WebSocket`. It can send headers. */
export class WebSocket extends Socket {}

/**
 * Every closing passes here, also one that the peer or the protocol began: it is told of at once, and that of a message
 * which is too big gets its reason.
 */
class ToldSocket extends Socket {
  override close(code?: number, reason?: string | Buffer): void {
    super.close(code, code === closeCodes.message_too_big ? "message_too_big" : reason);
    this.emit("closing", code);
  }
}

/** What a link tells its one listener. */
export interface LinkListener {
  /** A text message, whole and valid UTF-8. */
  onMessage(message: Buffer): void;
  /** A binary message: there are none. */
  onBinary(): void;
  /** Anything came from the peer: it lives. */
  onLife(): void;
  /**
   * The link closes, by whichever side; then nothing more comes. Called once.
   * @param code of the close frame, if there was one
   */
  onClosing(code: number | undefined): void;
  /** The socket is gone. Called once, last. */
  onEnd(): void;
}

/**
 * One WebSocket. Data goes to the socket itself, framed beforehand, so that a frame for many is framed once; what the
 * protocol needs besides is left to the WebSocket. It has one owner of its end: close frame, 1 s to drain, cut.
 */
export class Link implements Outlet {
  readonly #ws: Socket;
  readonly #socket: Duplex;
  readonly #clock: Clock;
  #listener: LinkListener | null = null;
  #isClosing = false;
  #undoGrace: Undo | null = null;

  constructor(ws: Socket, socket: Duplex, clock: Clock) {
    this.#ws = ws;
    this.#socket = socket;
    this.#clock = clock;
    ws.on("message", (data: Buffer, isBinary: boolean) => this.#receive(data, isBinary));
    ws.on("ping", () => this.#listener?.onLife());
    ws.on("pong", () => this.#listener?.onLife());
    ws.on("closing", (code?: number) => this.#startClosing(code));
    // A broken rule or a broken socket: either ends it, which is heard of below.
    ws.on("error", () => undefined);
    ws.on("close", () => this.#end());
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  get isPaused(): boolean {
    return this.#ws.isPaused;
  }

  listen(listener: LinkListener): void {
    this.#listener = listener;
  }

  write(pieces: readonly Uint8Array[], done: () => void): void {
    const last = pieces.at(-1);
    if (this.#ws.readyState !== Socket.OPEN || last === undefined) {
      done();
      return;
    }
    const socket = this.#socket;
    // One piece alone is the common case, and a cork would cost a fifth of all deliveries.
    if (pieces.length > 1) socket.cork();
    for (const piece of pieces) socket.write(piece);
    if (pieces.length > 1) socket.uncork();
    // Most often the system has taken all of it by now; only else is there something to wait for. A write that failed ends
    // the socket, which is heard of as its end.
    if (socket.writableLength === 0) done();
    else socket.write("", done);
  }

  /** Without effect on a link that closes already: the first cause stands. */
  close(code: number, reason: string): void {
    if (this.#isClosing) return;
    this.#ws.close(code, reason);
  }

  closeFor(word: CloseWord): void {
    this.close(closeCodes[word], word);
  }

  ping(): void {
    if (this.#ws.readyState === Socket.OPEN) this.#ws.ping();
  }

  /** Reads no more until `resume`. Not while closing: the peer's part of the closing has to be read. */
  pause(): void {
    if (!this.#isClosing) this.#ws.pause();
  }

  resume(): void {
    if (this.#ws.isPaused) this.#ws.resume();
  }

  #receive(data: Buffer, isBinary: boolean): void {
    if (this.#isClosing) return;
    this.#listener?.onLife();
    if (isBinary) this.#listener?.onBinary();
    else this.#listener?.onMessage(data);
  }

  #startClosing(code?: number): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#undoGrace = this.#clock.after(limits.closeGraceMs, () => this.#ws.terminate());
    this.resume();
    this.#listener?.onClosing(code);
  }

  #end(): void {
    if (!this.#isClosing) this.#startClosing();
    this.#undoGrace?.();
    this.#undoGrace = null;
    this.#listener?.onEnd();
    this.#listener = null;
  }
}

/** Turns upgrades into links. */
export class SocketServer {
  readonly #clock: Clock;
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: limits.maxSocketMessageBytes,
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
    WebSocket: ToldSocket,
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Accepts an upgrade and hands over its link, in the same step. One that is malformed is answered with HTTP 400. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer, then: (link: Link) => void): void {
    this.#server.handleUpgrade(request, socket, head, (ws) => {
      request.socket.setKeepAlive(true);
      then(new Link(ws, socket, this.#clock));
    });
  }
}

const shortLength = 126;
const mediumLength = 65_536;
const finalText = 0x81;

/** A text message of a server: one final, unmasked frame. */
export function textFrame(text: string): Uint8Array {
  const length = Buffer.byteLength(text);
  const start = length < shortLength ? 2 : length < mediumLength ? 4 : 10;
  const frame = Buffer.allocUnsafe(start + length);
  frame[0] = finalText;
  if (start === 2) frame[1] = length;
  else if (start === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.write(text, start);
  return frame;
}
