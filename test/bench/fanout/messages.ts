/** What the gateway of the bench asks for. */
export const token = "bench-token-0123456789";

/** How a socket of the bench is opened. `plain`: without a handshake. */
export type Dialect = "gateway" | "socketio" | "plain";

/** What the bench asks of the process that holds the clients. */
export type Order =
  | {
      readonly order: "open";
      readonly group: string;
      readonly dialect: Dialect;
      readonly port: number;
      readonly count: number;
    }
  /** From now on the group tells each time that it received `step` messages more, all its sockets together. */
  | { readonly order: "count"; readonly group: string; readonly step: number }
  /** Sockets of the group read nothing, or read again. */
  | { readonly order: "pause" | "resume" | "end"; readonly group: string };

/** What that process tells. */
export type News =
  | { readonly news: "opened"; readonly group: string }
  | {
      readonly news: "received";
      readonly group: string;
      readonly total: number;
      readonly least: number;
      readonly most: number;
    }
  /** A close frame came. */
  | { readonly news: "closed"; readonly group: string; readonly code: number };
