import { CallError, LinkError } from "./errors.ts";
import { byteLength, tooLarge } from "./link.ts";
import { clientLimits } from "./options.ts";
import { retryAfterMs } from "./patient-call.ts";
import type { Json } from "./wire.ts";

/** A post that is to be carried out once, whatever happens to the connection. */
interface Post {
  readonly method: string;
  /** Holds the idempotency key: the same at each attempt. */
  readonly params: () => Json;
  readonly bytes: number;
  readonly succeed: (result: unknown) => void;
  readonly fail: (error: unknown) => void;
}

/** What an outbox needs of its client. */
export interface OutboxParts {
  readonly call: (method: string, params: Json) => Promise<unknown>;
  /** Calls `run` after so many ms, unless the client ends. */
  readonly after: (delayMs: number, run: () => void) => void;
}

/**
 * Posts in the order in which they were made, one on its way at a time. One whose reply was lost is sent again, with the same
 * key and before all later ones, so that nothing is done twice and nothing overtakes.
 */
export class Outbox {
  readonly #parts: OutboxParts;
  #posts: Post[] = [];
  #bytes = 0;
  #isOpen = false;
  #isSending = false;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  get waiting(): number {
    return this.#posts.length;
  }

  /**
   * Resolves with the reply. Rejects with the server's refusal, or when the post cannot be taken: the outbox is full, the
   * message too large, the client has ended.
   * @param params read at each attempt: the key must be the same each time, the address may have changed
   */
  add(method: string, params: () => Json): Promise<unknown> {
    const bytes = byteLength(JSON.stringify(params()));
    // What stands around the params in the message is short.
    if (bytes > clientLimits.maxMessageBytes - 128) return Promise.reject(tooLarge(method, bytes));
    const isFull = this.#posts.length >= clientLimits.maxWaitingPosts;
    if (isFull || this.#bytes + bytes > clientLimits.maxWaitingPostBytes) {
      return Promise.reject(new LinkError("outbox_full", `${this.#posts.length} posts wait for a connection already`));
    }
    return new Promise((succeed, fail) => {
      this.#posts.push({ method, params, bytes, succeed, fail });
      this.#bytes += bytes;
      this.#send();
    });
  }

  /** A connection stands, and what it replays has been handed out: posts leave. */
  open(): void {
    this.#isOpen = true;
    this.#send();
  }

  /** The connection is gone: posts wait. */
  pause(): void {
    this.#isOpen = false;
  }

  /** The first post caused the end of its connection: it is never sent again. */
  dropFirst(error: Error): void {
    const [first] = this.#posts;
    if (first === undefined) return;
    this.#remove(first);
    first.fail(error);
  }

  /** Nothing more leaves. */
  end(error: Error): void {
    this.#isOpen = false;
    const posts = this.#posts;
    this.#posts = [];
    this.#bytes = 0;
    for (const { fail } of posts) fail(error);
  }

  #send(): void {
    const [post] = this.#posts;
    if (!this.#isOpen || this.#isSending || post === undefined) return;
    this.#isSending = true;
    this.#parts.call(post.method, post.params()).then(
      (result) => this.#settled(post, () => post.succeed(result)),
      (error: unknown) => this.#failed(post, error),
    );
  }

  #failed(post: Post, error: unknown): void {
    if (error instanceof CallError) {
      const waitMs = retryAfterMs(error);
      if (waitMs === null) return this.#settled(post, () => post.fail(error));
      // The server is busy: it stays the first, and the others stay behind it.
      return this.#parts.after(waitMs, () => this.#again());
    }
    if (error instanceof LinkError && error.reason === "payload_too_large") {
      return this.#settled(post, () => post.fail(error));
    }
    // The reply was lost: it goes out again by the next connection, or by this one when it only took too long.
    this.#again();
  }

  #again(): void {
    this.#isSending = false;
    this.#send();
  }

  #settled(post: Post, tell: () => void): void {
    this.#remove(post);
    tell();
    this.#again();
  }

  #remove(post: Post): void {
    if (!this.#posts.includes(post)) return;
    this.#posts = this.#posts.filter((other) => other !== post);
    this.#bytes -= post.bytes;
  }
}
