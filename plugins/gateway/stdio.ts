import type { Readable, Writable } from "node:stream";
import { Client, limits, Mailbox, messageOf, RoomtapError, scopes } from "../../core/index.ts";
import { Counts } from "./counts.ts";
import { Dialogue } from "./dialogue.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { TransportHost } from "./host.ts";
import { Intake } from "./intake.ts";
import { LineReader, type Line } from "./lines.ts";
import { readyText } from "./ready.ts";
import type { RpcTable } from "./rpc-table.ts";

/** What the one client speaks through, and what it speaks to. */
export interface StdioParts<Host extends TransportHost> {
  readonly host: Host;
  readonly table: RpcTable<Host>;
  readonly input: Readable;
  /** Frames only, one per line. */
  readonly output: Writable;
}

/**
 * Why it ended. `end_of_input`: nothing more can be asked, and what was asked is answered. `reader_left`: nobody reads the
 * output any more. `slow_consumer`: the reader did not keep up.
 */
export type StdioEnd = "end_of_input" | "reader_left" | "slow_consumer" | "closed";

/** The gateway's wire on two streams: one client, the principal `local` with all scopes, without an id of its own. */
export class StdioGateway<Host extends TransportHost> {
  /** Resolves once, when it has ended. Rejects when the output fails in another way than by being left. */
  readonly ended: Promise<StdioEnd>;
  readonly #parts: StdioParts<Host>;
  readonly #client: Client;
  readonly #dialogue: Dialogue<Host>;
  readonly #lines = new LineReader(limits.maxInboundBytes);
  readonly #intake: Intake<Line>;
  #settle: { readonly resolve: (end: StdioEnd) => void; readonly reject: (fault: RoomtapError) => void };
  #isOver = false;

  constructor(parts: StdioParts<Host>) {
    const { host, table, input, output } = parts;
    this.#parts = parts;
    this.#settle = { resolve: () => undefined, reject: () => undefined };
    this.ended = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    const mailbox = new Mailbox({
      outlet: { write: (pieces, done) => this.#write(pieces, done), close: () => this.#end("slow_consumer") },
      encoding: textLine,
      clock: host.clock,
      onRepliesDrained: () => this.#intake.go(),
    });
    const id = `stdio-${host.ids.hex(4)}`;
    this.#client = new Client({ origin: null, id, principal: "local", scopes, grants: ["reasoning", "full"], mailbox });
    this.#dialogue = new Dialogue({
      client: this.#client,
      dispatcher: new Dispatcher(table, host),
      host,
      counts: new Counts(),
      limits: null,
      hasHeartbeat: false,
    });
    this.#intake = new Intake({
      handle: (line) => this.#handle(line),
      isFull: () => mailbox.isRepliesFull,
      pause: () => void input.pause(),
      resume: () => void input.resume(),
    });
    output.on("error", (fault) => this.#failed(fault));
    mailbox.reply(readyText(host.epoch, null));
    host.arrived(this.#client, []);
    input.on("data", (piece: Buffer) => {
      for (const line of this.#lines.push(piece)) this.#intake.push(line);
    });
    input.once("end", () => void this.#finish());
    input.once("error", () => this.#end("end_of_input"));
  }

  /** Ends it now. Safe to call twice. */
  close(): void {
    this.#end("closed");
  }

  #handle(line: Line): void {
    if (this.#isOver) return;
    if (typeof line === "number") this.#dialogue.refuseLarge(line);
    else this.#dialogue.receive(line);
  }

  /** Nothing more can be asked: what was asked is answered first, if that takes no longer than a second. */
  async #finish(): Promise<void> {
    this.#intake.push(this.#lines.rest());
    const undo = this.#parts.host.clock.after(limits.closeGraceMs, () => this.#end("end_of_input"));
    await this.#dialogue.idle();
    this.#parts.output.write("", () => {
      undo();
      this.#end("end_of_input");
    });
  }

  #write(pieces: readonly Uint8Array[], done: () => void): void {
    const { output } = this.#parts;
    output.cork();
    for (const piece of pieces.slice(0, -1)) output.write(piece);
    output.write(pieces.at(-1) ?? "", () => done());
    output.uncork();
  }

  #failed(fault: NodeJS.ErrnoException): void {
    const hasLeft = fault.code === "EPIPE" || fault.code === "ERR_STREAM_DESTROYED";
    if (hasLeft) this.#end("reader_left");
    else this.#end(new RoomtapError("internal", `the output failed: ${messageOf(fault)}`, { cause: fault }));
  }

  #end(end: StdioEnd | RoomtapError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#intake.clear();
    this.#client.mailbox.close();
    this.#parts.host.left(this.#client, end === "slow_consumer" ? end : "gone");
    this.#parts.input.pause();
    if (typeof end === "string") this.#settle.resolve(end);
    else this.#settle.reject(end);
  }
}

function textLine(text: string): Uint8Array {
  return Buffer.from(`${text}\n`);
}
