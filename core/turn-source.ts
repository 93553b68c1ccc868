/** Why the host made a turn that nobody typed. `room`: a later round of a room. */
export const hostTurns = ["room", "tick", "notification", "delegation", "goal", "other"] as const;
/** A word of `hostTurns`. */
export type HostTurn = (typeof hostTurns)[number];

/** Who claimed a turn. It names a connection, not a person, and carries no authority. */
export type TurnSource =
  | { readonly kind: "connection"; readonly socket_id: string }
  | { readonly kind: "auto_continue" }
  | { readonly kind: "host"; readonly sub: HostTurn }
  /** Claimed over stdio, or in process without a connection. */
  | { readonly kind: "unknown" };

/** What every event of a session says of the turn that runs there, from its claim to its last frame. */
export interface TurnMark {
  /** Absent when nobody is named. */
  readonly origin?: string;
  readonly turn: { readonly id: string; readonly source: TurnSource };
}

/** The mark of a turn, one frozen object for all its frames. */
export function turnMark(turnId: string, source: TurnSource): TurnMark {
  const origin = originOf(source);
  const turn = Object.freeze({ id: turnId, source: Object.freeze(source) });
  return Object.freeze(origin === null ? { turn } : { origin, turn });
}

/** The word by which frames and rows name who claimed a turn; null when nobody is named. */
export function originOf(source: TurnSource): string | null {
  switch (source.kind) {
    case "connection":
      return source.socket_id;
    case "unknown":
      return null;
    default:
      return source.kind;
  }
}

/** The source that a row's `origin` stands for. A turn that no post of a room caused is the room's. */
export function sourceOf(origin: string | null): TurnSource {
  if (origin === null) return { kind: "unknown" };
  if (origin === "auto_continue") return { kind: "auto_continue" };
  return origin === "host" ? { kind: "host", sub: "room" } : { kind: "connection", socket_id: origin };
}
