import type {
  Client,
  Clock,
  FanOut,
  IdSource,
  JsonObject,
  Redactor,
  Report,
  RequestDelivery,
  Runner,
  Scope,
  ServerRequests,
  Session,
  SessionHost,
} from "../../core/index.ts";
import type { Observers } from "../../observers/index.ts";
import type { Caller, Held, RoomHost, SeatedSessions } from "../../rooms/index.ts";
import type { PluginControl } from "../plugin-control.ts";
import type { RouteRequest, RouteResponse } from "../plugin.ts";
import type { Audit } from "./audit.ts";
import type { LeaveCause } from "./close-codes.ts";
import type { RoomSubscriptions } from "./room-subscriptions.ts";

/** A client's answer to a server request: it has `error`, or its `result`. It gets no reply. */
export interface Response {
  /** The `srq-` id that it names. */
  readonly id: string;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** A route of a plugin that a request is for. */
export interface RouteFound {
  readonly plugin: string;
  readonly route: {
    readonly options: { readonly scope: Scope | "public" };
    readonly handler: (request: RouteRequest) => RouteResponse | Promise<RouteResponse>;
  };
  /** Aborted when the plugin takes it away. */
  readonly removed: AbortSignal;
  /** Below the plugin's own path; begins with `/`. */
  readonly path: string;
  /** What stands in it for each name, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

/** Where requests to plugins find their way. */
export interface HostRoutes {
  /**
   * The route of a request. A list: the path is a plugin's, and there for these methods only, or for none. null: it is
   * nobody's.
   * @param pathname as it stands in the URL, encoded
   */
  match(method: string, pathname: string): RouteFound | readonly string[] | null;
  /** Told of a fault of a plugin that its caller learns nothing of. */
  fault(plugin: string, message: string, cause?: unknown): void;
}

/** What the transport needs of the host, whatever its methods do. */
export interface TransportHost {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly report: Report;
  readonly redactor: Redactor;
  /** Writes down who was granted or refused what. */
  readonly audit: Audit;
  /** Random per process life: to which numbering every `seq` belongs. */
  readonly epoch: string;
  /** Routes of plugins. Absent: there are none. */
  readonly routes?: HostRoutes | undefined;
  /**
   * A connection stands: from now on it can be attached. Called in the step in which `gateway.ready` was queued.
   * @param resumed what the connection before it was attached to, and as what, in that order; each is checked as a fresh
   * attach
   */
  arrived(client: Client, resumed: readonly Held[]): void;
  /** A connection is over: it leaves its sessions, and only what it still holds. Gives what it was attached to. */
  left(client: Client, cause: LeaveCause): readonly Held[];
  /** A connection has other scopes, grants or rooms than before: what they do not cover any more does not reach it. */
  changed(client: Client): void;
  /** Whether what the call names is of the caller's own principal, which then needs no `read`. */
  owns(client: Client, method: string, params: JsonObject): boolean;
  /** A client answers a server request, or declines. Its id may be anything. */
  answered(client: Client, response: Response): void;
}

/** What the methods of the gateway work with. */
export interface GatewayHost extends TransportHost {
  readonly fanOut: FanOut;
  readonly sessions: SessionHost;
  /** Who is attached to which session, and as what. */
  readonly seated: SeatedSessions;
  readonly requests: ServerRequests;
  readonly delivery: RequestDelivery;
  readonly rooms: RoomHost;
  readonly observers: Observers;
  readonly plugins: PluginControl;
  /** Agents that sessions and members of rooms can have, by name. */
  readonly agents: ReadonlyMap<string, Runner>;
  /** Names this host to clients of several. */
  readonly gatewayId: string;
  /** Who is subscribed to which rooms. */
  readonly subscriptions: RoomSubscriptions;
  /** The session that a runtime id leads to, a hidden one as well. */
  session(runtimeId: string): Session | undefined;
  /** Whether it may answer requests of this method in a session, attached or not. */
  mayAnswer(client: Client, session: Session, method: string): boolean;
  /** A connection as one who calls on sessions. */
  callerOf(client: Client): Caller;
  /** Whether a runtime id or a stored one is that of a room's own session. */
  isHidden(id: string): boolean;
  /** Aborted when the connection has gone. */
  goneSignal(client: Client): AbortSignal;
  /** Names of the methods that are served. */
  methods(): readonly string[];
}
