import type { Mailbox } from "./mailbox.ts";
import type { Scope } from "./scope.ts";

/** One connection, as fan-out, requests and methods see it. */
export class Client {
  /** Opaque id, `c-` and 32 hex digits; null over stdio. It names a connection and carries no authority. */
  readonly origin: string | null;
  /** By which it is told from others in a session: the origin, and over stdio an id that nobody else has. */
  readonly id: string;
  /** Who is connected. Bound to the connection: nothing in a call can set it. */
  readonly principal: string;
  readonly mailbox: Mailbox;
  /** Looked up for each call and each frame, so a change counts from the next one. */
  scopes: ReadonlySet<Scope>;
  /** What it may see besides: `reasoning`, `full`. */
  grants: ReadonlySet<string>;
  /** Ids of the rooms that are there for it; null: all. */
  rooms: ReadonlySet<string> | null;
  /** Whether it said that it takes server requests. */
  advertises = false;
  /** Makes a ticket by which the same principal comes again, null when there are too many; where there are tickets. */
  mintTicket: (() => string | null) | null = null;

  constructor(parts: {
    readonly origin: string | null;
    /** Without an origin it has to be given. */
    readonly id?: string;
    readonly principal: string;
    readonly mailbox: Mailbox;
    readonly scopes: Iterable<Scope>;
    readonly grants?: Iterable<string>;
    readonly rooms?: Iterable<string> | undefined;
  }) {
    this.origin = parts.origin;
    this.id = parts.origin ?? parts.id ?? "stdio";
    this.principal = parts.principal;
    this.mailbox = parts.mailbox;
    this.scopes = new Set(parts.scopes);
    this.grants = new Set(parts.grants);
    this.rooms = parts.rooms === undefined ? null : new Set(parts.rooms);
  }

  /** Nothing reaches it any more. */
  get isClosed(): boolean {
    return this.mailbox.isClosed;
  }

  /** Whether it has the scope, or `admin`, which stands for all. */
  holds(scope: Scope): boolean {
    return this.scopes.has(scope) || this.scopes.has("admin");
  }

  /** Whether the room is there for it, if there is one of this id. */
  knowsRoom(roomId: string): boolean {
    return this.rooms === null || this.rooms.has(roomId);
  }
}
