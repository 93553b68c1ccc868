/** Why the server ends a connection, and the code that goes with it. A client decides by the code; the word explains. */
export const closeCodes = {
  closed: 1000,
  shutting_down: 1001,
  text_only: 1003,
  message_too_big: 1009,
  internal_error: 1011,
  slow_consumer: 1013,
  no_credential: 4401,
  token_mismatch: 4401,
  ticket_invalid: 4401,
  credential_ambiguous: 4401,
  token_expired: 4401,
  credentials_rotated: 4401,
  origin_not_allowed: 4403,
  host_not_allowed: 4403,
  liveness_timeout: 4408,
  replaced: 4409,
  revoked: 4410,
  upgrade_rate: 4429,
  connection_limit: 4429,
  early_frames: 4429,
  frame_rate: 4429,
  denied_flood: 4429,
} as const satisfies Record<string, number>;

/** A key of `closeCodes`; the reason of the close frame. */
export type CloseWord = keyof typeof closeCodes;

/** Why a client has left: the word it was closed with; `gone`: it closed the connection itself, or was lost. */
export type LeaveCause = CloseWord | "gone";
