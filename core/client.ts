import type { Mailbox } from "./mailbox.ts";
import type { Scope } from "./scope.ts";

/** One connection, as fan-out, requests and methods see it. */
export class Client {
  /** Opaque id, `c-` and 32 hex digits; null over stdio. It names a connection and carries no authority. */
  readonly origin: string | null;
  /** Who is connected. Bound to the connection: nothing in a call can set it. */
  readonly principal: string;
  readonly mailbox: Mailbox;
  /** Looked up for each call and each frame, so a change counts from the next one. */
  scopes: ReadonlySet<Scope>;
  /** What it may see besides: `reasoning`, `full`. */
  grants: ReadonlySet<string>;
  /** Whether it said that it takes server requests. */
  advertises = false;

  constructor(parts: {
    readonly origin: string | null;
    readonly principal: string;
    readonly mailbox: Mailbox;
    readonly scopes: Iterable<Scope>;
    readonly grants?: Iterable<string>;
  }) {
    this.origin = parts.origin;
    this.principal = parts.principal;
    this.mailbox = parts.mailbox;
    this.scopes = new Set(parts.scopes);
    this.grants = new Set(parts.grants);
  }

  /** Nothing reaches it any more. */
  get isClosed(): boolean {
    return this.mailbox.isClosed;
  }

  /** Whether it has the scope, or `admin`, which stands for all. */
  holds(scope: Scope): boolean {
    return this.scopes.has(scope) || this.scopes.has("admin");
  }
}
