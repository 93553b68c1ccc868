/** The server answered a call with an error. `reason` is the word that tells what it is; the message is for people. */
export class CallError extends Error {
  readonly method: string;
  /** The JSON-RPC number; a client that does not know `reason` goes by it. */
  readonly code: number;
  readonly reason: string;
  /** What the error said beside its reason. */
  readonly data: { readonly [key: string]: unknown };

  constructor(method: string, error: { readonly code: number; readonly message: string; readonly data: object }) {
    super(`${method}: ${error.message}`);
    this.name = "CallError";
    this.method = method;
    this.code = error.code;
    this.data = { ...error.data };
    const { reason } = this.data;
    this.reason = typeof reason === "string" ? reason : "unknown";
  }
}

/**
 * What keeps a call from the server, or its reply from the caller. After `dropped` and `call_timeout` nobody here knows
 * whether the call was carried out; after the others it was not.
 */
export type LinkReason =
  /** No connection stands: not yet, not any more, or not just now. */
  | "not_connected"
  /** The connection ended before the reply. */
  | "dropped"
  | "call_timeout"
  /** The socket could not be opened. */
  | "unreachable"
  | "handshake_timeout"
  /** What came first was no `gateway.ready`. */
  | "bad_handshake"
  /** Nothing was heard for too long. */
  | "silent"
  /** The server closed, for the reason that `closeReason` and `closeCode` tell. */
  | "closed_by_server"
  /** The message is larger than a server takes. */
  | "payload_too_large"
  /** Too many posts wait for a connection. */
  | "outbox_full"
  /** `close()` was called here. */
  | "closed";

/** Something about the connection, and not about what a call asked for. */
export class LinkError extends Error {
  readonly reason: LinkReason;
  /** Of the close frame; null when there was none. */
  readonly closeCode: number | null;
  readonly closeReason: string;
  /** False when the same attempt would end the same way: the credential is wrong, or another connection took over. */
  readonly mayRetry: boolean;

  constructor(
    reason: LinkReason,
    message: string,
    about: { readonly closeCode?: number | null; readonly closeReason?: string; readonly mayRetry?: boolean } = {},
  ) {
    super(message);
    this.name = "LinkError";
    this.reason = reason;
    this.closeCode = about.closeCode ?? null;
    this.closeReason = about.closeReason ?? "";
    this.mayRetry = about.mayRetry ?? true;
  }
}
