/** The process that holds the clients of the bench, so that they do not share the server's loop. */
import { WebSocket } from "ws";
import type { Answers, Ask, Round } from "./messages.ts";

interface Reply {
  readonly id?: number;
  readonly error?: unknown;
}

const sockets: WebSocket[] = [];

/** Resolves when the socket has heard `gateway.ready`. */
async function connect(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url);
  await new Promise<void>((resolve, reject) => {
    socket.once("message", () => resolve());
    socket.once("error", reject);
  });
  return socket;
}

class Tally {
  readonly #bytes: Record<string, number> = {};
  readonly #counts: Record<string, number> = {};
  readonly #refused: string[] = [];

  note(method: string, bytes: number, error: unknown): void {
    this.#bytes[method] = (this.#bytes[method] ?? 0) + bytes;
    this.#counts[method] = (this.#counts[method] ?? 0) + 1;
    if (error !== undefined) this.#refused.push(`${method}: ${JSON.stringify(error)}`);
  }

  get answers(): Answers {
    return { bytes: this.#bytes, counts: this.#counts, refused: this.#refused };
  }
}

/** Sends all asks, and resolves when each has its reply. */
async function askAll(socket: WebSocket, asks: readonly Ask[], tally: Tally): Promise<void> {
  let left = asks.length;
  await new Promise<void>((resolve, reject) => {
    socket.on("close", () => reject(new Error("the server closed a client")));
    socket.on("message", (data: Buffer) => {
      const { id, error } = JSON.parse(data.toString()) as Reply;
      const ask = id === undefined ? undefined : asks[id];
      if (ask === undefined) return;
      tally.note(ask.method, data.length, error);
      if (--left === 0) resolve();
    });
    for (const [id, { method, params }] of asks.entries()) {
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    }
  });
}

async function go({ url, clients }: Round): Promise<void> {
  while (sockets.length < clients.length) sockets.push(await connect(url));
  process.send?.("connected");
  await new Promise((resolve) => process.once("message", resolve));
  const tally = new Tally();
  await Promise.all(sockets.map((socket, index) => askAll(socket.removeAllListeners(), clients[index] ?? [], tally)));
  process.send?.(tally.answers);
}

process.on("message", (message: Round | "go") => {
  if (message === "go") return;
  void go(message).catch((fault: unknown) => {
    process.stderr.write(`${String(fault)}\n`);
    process.exit(1);
  });
});
