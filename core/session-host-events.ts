import type { LiveSession, SessionEnd } from "./session-driver.ts";
import type { SessionSummary } from "./session-store.ts";

/** A session in a list. */
export interface ListedSession {
  readonly record: SessionSummary;
  /** Undefined while it is not open. */
  readonly live: LiveSession | undefined;
}

/** What listeners are told. */
export interface SessionHostEvents extends Record<string, unknown> {
  readonly opened: { readonly live: LiveSession };
  /** It takes nothing any more; its turn, if one runs, is about to stop. */
  readonly closing: { readonly live: LiveSession; readonly reason: SessionEnd };
  /** Its last frame has left, and its row is stored. `runtimeId`: what it was called by; it leads nowhere now. */
  readonly closed: { readonly live: LiveSession; readonly runtimeId: string; readonly reason: SessionEnd };
  /** A turn ended and none follows. */
  readonly idle: { readonly live: LiveSession };
}
