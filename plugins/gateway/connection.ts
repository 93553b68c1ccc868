import { Client, limits, Mailbox, messageOf, type Undo } from "../../core/index.ts";
import type { Held } from "../../rooms/index.ts";
import { closeCodes, type CloseWord, type LeaveCause } from "./close-codes.ts";
import type { Counts } from "./counts.ts";
import type { Identity } from "./credentials.ts";
import { Dialogue, type DialogueLimits } from "./dialogue.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { TransportHost } from "./host.ts";
import { Intake } from "./intake.ts";
import { Liveness } from "./liveness.ts";
import { textFrame, type Link } from "./sockets.ts";

/** Bounds of a connection. */
export interface ConnectionLimits extends DialogueLimits {
  readonly pingIntervalMs: number;
  readonly maxSilentPings: number;
}

/** What a connection is made of. */
export interface ConnectionParts<Host extends TransportHost> {
  readonly link: Link;
  readonly host: Host;
  readonly dispatcher: Dispatcher<Host>;
  readonly limits: ConnectionLimits;
  readonly counts: Counts;
  /** The socket is gone. */
  readonly onEnd: () => void;
}

/** What becomes of a connection that was let in: who it is, its first frame, what it takes over. */
export interface Opening {
  readonly identity: Identity;
  readonly origin: string;
  readonly ready: string;
  /** What the connection before it had advertised and was attached to. */
  readonly advertises: boolean;
  readonly resumed: readonly Held[];
  /** Makes a ticket by which the same principal comes again; null when there are too many. */
  readonly mintTicket: () => string | null;
  /** The connection closes; what it was attached to. Called once. */
  readonly onLeft: (attached: readonly Held[], cause: LeaveCause) => void;
}

/**
 * One socket from its birth to its end. What comes before it is let in is held and handled afterwards, in order; whatever
 * ends it ends it once.
 */
export class Connection<Host extends TransportHost> {
  readonly #parts: ConnectionParts<Host>;
  readonly #early: Buffer[] = [];
  #earlyBytes = 0;
  #client: Client | null = null;
  #intake: Intake<Buffer> | null = null;
  #liveness: Liveness | null = null;
  #cause: LeaveCause = "gone";
  #onLeft: Opening["onLeft"] | null = null;
  #undoExpiry: Undo = () => undefined;

  constructor(parts: ConnectionParts<Host>) {
    this.#parts = parts;
    parts.link.listen({
      onMessage: (message) => this.#receive(message),
      onBinary: () => this.close("text_only"),
      onLife: () => this.#liveness?.heard(),
      onClosing: (code) => {
        // The one cause that the transport finds by itself.
        if (code === closeCodes.message_too_big) {
          this.#cause = "message_too_big";
          parts.counts.add("message_too_big");
        }
        this.#leave();
      },
      onEnd: parts.onEnd,
    });
  }

  /** Null until it is let in. */
  get client(): Client | null {
    return this.#client;
  }

  get isClosing(): boolean {
    return this.#parts.link.isClosing;
  }

  /** Lets it in: the first frame is queued, then it is known to the host, then what came early is handled. */
  open(opening: Opening): void {
    const { host, link, dispatcher, counts } = this.#parts;
    const mailbox = new Mailbox({
      outlet: { write: (pieces, done) => link.write(pieces, done), close: () => this.close("slow_consumer") },
      encoding: textFrame,
      clock: host.clock,
      onRepliesDrained: () => this.#intake?.go(),
    });
    const client = new Client({ origin: opening.origin, ...opening.identity, mailbox });
    client.advertises = opening.advertises;
    client.mintTicket = opening.mintTicket;
    this.#client = client;
    this.#onLeft = opening.onLeft;
    const dialogue = new Dialogue({
      client,
      dispatcher,
      host,
      counts,
      limits: this.#parts.limits,
      hasHeartbeat: true,
      onFlood: (word) => this.close(word),
    });
    this.#intake = new Intake({
      handle: (message) => dialogue.receive(message),
      isFull: () => mailbox.isRepliesFull,
      pause: () => link.pause(),
      resume: () => link.resume(),
    });
    this.#liveness = new Liveness({
      clock: host.clock,
      ...this.#parts.limits,
      isReading: () => !link.isPaused,
      ping: () => link.ping(),
      onSilent: () => this.close("liveness_timeout"),
    });
    this.#expire(opening.identity);
    mailbox.reply(opening.ready);
    try {
      host.arrived(client, opening.resumed);
    } catch (fault) {
      host.report({ code: "internal", message: `a connection was not taken in: ${messageOf(fault)}`, cause: fault });
      this.close("internal_error");
    }
    for (const message of this.#early.splice(0)) this.#receive(message);
  }

  /** Gives the client other rights: they count from the next call and the next frame on. */
  change({ scopes, grants, rooms }: Identity): void {
    const client = this.#client;
    if (client === null) return;
    client.scopes = new Set(scopes);
    client.grants = new Set(grants);
    client.rooms = rooms === undefined ? null : new Set(rooms);
    this.#parts.host.changed(client);
  }

  /** Without effect on a connection that closes already: one cause stands, and is counted. */
  close(word: CloseWord): void {
    if (this.isClosing) return;
    this.#cause = word;
    this.#parts.counts.add(word);
    // A client that did no wrong gets what was meant for it.
    if (word === "shutting_down") this.#client?.mailbox.drain();
    this.#parts.link.closeFor(word);
  }

  #expire({ expiresAt }: Identity): void {
    const { clock } = this.#parts.host;
    if (expiresAt === undefined) return;
    this.#undoExpiry = clock.after(Math.max(0, expiresAt - clock.now()), () => this.close("token_expired"));
  }

  #receive(message: Buffer): void {
    if (this.isClosing) return;
    if (this.#intake === null) this.#hold(message);
    else this.#intake.push(message);
  }

  #hold(message: Buffer): void {
    this.#early.push(message);
    this.#earlyBytes += message.length;
    if (this.#early.length > limits.maxEarlyMessages || this.#earlyBytes > limits.maxEarlyBytes) {
      this.#early.length = 0;
      this.close("early_frames");
    }
  }

  /** Nothing reaches the client any more, and it reaches nothing. */
  #leave(): void {
    this.#early.length = 0;
    this.#intake?.clear();
    this.#liveness?.stop();
    this.#undoExpiry();
    if (this.#client === null) return;
    this.#client.mailbox.close();
    const attached = this.#parts.host.left(this.#client, this.#cause);
    this.#onLeft?.(attached, this.#cause);
    this.#onLeft = null;
  }
}
