import {
  RoomtapError,
  Steps,
  visibilities,
  type LiveSession,
  type Refused,
  type Scope,
  type SessionHost,
  type Visibility,
} from "../core/index.ts";
import type { SeatedSessions } from "./seated-sessions.ts";
import type { Revoked, RosterEntry, Sitter } from "./session-seats.ts";
import { denial, type Caller } from "./sharing.ts";

/** Who calls in process is trusted, but is nobody's operator. */
const processScopes: ReadonlySet<Scope> = new Set<Scope>(["read", "write", "approvals"]);

/** The principal of sessions that the host makes for itself: that of a gateway's one token. */
const hostPrincipal = "local";

/** How a session is made or found in process. */
export interface SharedSessionOptions {
  /** The owner. Absent: the host itself, which is trusted with every session. */
  readonly clientId?: string | undefined;
  /** Whose client it is. Default: the client id. */
  readonly principal?: string | undefined;
  /** Stored id. Default: a new one. */
  readonly sessionId?: string | undefined;
  /** Of a new session by default `private`; of one that is there unchanged. */
  readonly visibility?: string | undefined;
  readonly title?: string | undefined;
}

/**
 * Sharing of sessions, as a program that embeds a host uses it. Sessions are named by their stored ids; a client id is any
 * text, and that of a connection names that connection where one is meant to go. What the wire refuses by a number is
 * thrown here: `RoomtapError.code` is the `reason` of the wire.
 */
export class SessionSharing {
  readonly #sessions: SessionHost;
  readonly #seated: SeatedSessions;
  /** Of calls that make sessions: two that name one id make one. */
  readonly #steps = new Steps();

  constructor(parts: { readonly sessions: SessionHost; readonly seated: SeatedSessions }) {
    this.#sessions = parts.sessions;
    this.#seated = parts.seated;
  }

  /**
   * A new session, or the live or stored one of that id, opened. The client is attached as its owner.
   * @throws RoomtapError `invalid_visibility` before anything is made; `not_owner`, or `observer_rebind` of a client that is
   * attached; `agent_mismatch`; `agent_unavailable`, `too_many_sessions`, and what the store throws
   */
  createSession(agentId: string, options: SharedSessionOptions = {}): Promise<LiveSession> {
    const visibility = options.visibility === undefined ? undefined : visibilityOf(options.visibility);
    const sitter = options.clientId === undefined ? null : sitterOf(options.clientId, options.principal);
    return this.#steps.run(async () => {
      const { sessionId } = options;
      const record = sessionId === undefined ? undefined : await this.#sessions.record(sessionId);
      if (sessionId === undefined || record === undefined) return this.#make(agentId, options, visibility, sitter);
      if (sitter !== null && sitter.principal !== record.owner.principal) throw this.#notOwner(sessionId, sitter);
      if (record.agent_id !== agentId) {
        const message = `session ${sessionId} belongs to the agent ${record.agent_id}`;
        throw new RoomtapError("agent_mismatch", message);
      }
      const live = orThrow(await this.#sessions.resume(sessionId, null), sessionId);
      if (sitter !== null) this.#seated.seatOwner(live, sitter)();
      if (visibility !== undefined) (await this.#seated.setVisibility(live, visibility)).begin();
      return live;
    });
  }

  /**
   * Attaches an observer. It never moves ownership, and takes the stream from nobody.
   * @throws RoomtapError `unknown_session`, `invalid_role`, `owner_role`, `is_owner`, `session_private`, `session_read_only`,
   * `already_bound`, `observers_full`: the first that holds
   */
  attach(sessionId: string, clientId: string, role = "viewer", principal?: string): void {
    const live = this.#live(sessionId);
    const caller: Caller = { ...sitterOf(clientId, principal), scopes: processScopes };
    const { change } = orThrow(this.#seated.attach(live, caller, role), sessionId);
    if (change !== "already") this.#seated.tell(live, "attach");
  }

  /** Takes an observer out. Without effect on anybody else, and on an unknown session. */
  detach(sessionId: string, clientId: string): void {
    const live = this.#sessions.byStoredId(sessionId);
    if (live === undefined) return;
    if (this.#seated.sendAway(live, clientId, { isBarred: false })) this.#seated.tell(live, "detach");
  }

  /** Who is attached: the owner first, then observers in order of attaching. @throws RoomtapError `unknown_session` */
  observers(sessionId: string): readonly Pick<RosterEntry, "client_id" | "role">[] {
    return this.#seated.roster(this.#live(sessionId)).map(({ client_id, role }) => ({ client_id, role }));
  }

  /** The owner's leave closes the session, and resolves when it is closed; an observer's detaches it. */
  async leave(sessionId: string, clientId: string, principal?: string): Promise<void> {
    const live = this.#sessions.byStoredId(sessionId);
    if (live === undefined) return;
    const isOwner = this.#seated.standing(live.session, sitterOf(clientId, principal)) === "owner";
    if (isOwner) await this.#sessions.close(live, "owner_left");
    else if (this.#seated.detach(live, clientId)) this.#seated.tell(live, "detach");
  }

  /**
   * Opens a session to others, or closes it to them; enforced when it resolves. Gives the observers that lost a role.
   * @throws RoomtapError `unknown_session`, `invalid_visibility`, and what the store throws; nothing has changed then
   */
  async setVisibility(sessionId: string, visibility: string): Promise<readonly Revoked[]> {
    const live = this.#live(sessionId);
    const { result, begin } = await this.#seated.setVisibility(live, visibilityOf(visibility));
    begin();
    return result.revoked;
  }

  async #make(
    agentId: string,
    { sessionId, title }: SharedSessionOptions,
    visibility: Visibility | undefined,
    sitter: Sitter | null,
  ): Promise<LiveSession> {
    const owner = sitter ?? { client_id: null, principal: hostPrincipal };
    const given = { agent_id: agentId, session_id: sessionId, title, visibility, owner, inProcess: true };
    const live = orThrow(await this.#sessions.create(given), sessionId);
    if (sitter !== null) this.#seated.seatOwner(live, sitter);
    return live;
  }

  #live(sessionId: string): LiveSession {
    const live = this.#sessions.byStoredId(sessionId);
    if (live === undefined) throw errorOf(denial("unknown_session"), sessionId);
    return live;
  }

  #notOwner(sessionId: string, sitter: Sitter): RoomtapError {
    const live = this.#sessions.byStoredId(sessionId);
    const isAttached = live !== undefined && this.#seated.standing(live.session, sitter) !== "none";
    return errorOf(denial(isAttached ? "observer_rebind" : "not_owner"), sessionId);
  }
}

/** @throws RoomtapError `invalid_visibility` */
export function visibilityOf(word: string): Visibility {
  const visibility = visibilities.find((each) => each === word);
  if (visibility !== undefined) return visibility;
  throw new RoomtapError("invalid_visibility", `visibility: expected one of ${visibilities.join(", ")}`);
}

/** @throws RoomtapError `invalid_params` for an empty id */
function sitterOf(clientId: string, principal = clientId): Sitter {
  if (clientId !== "" && principal !== "") return { client_id: clientId, principal };
  throw new RoomtapError("invalid_params", "a client id and a principal are no empty texts");
}

function orThrow<Given extends object>(given: Given, sessionId: string | undefined): Exclude<Given, Refused> {
  if ("refused" in given) throw errorOf(given as unknown as Refused, sessionId ?? "");
  return given as Exclude<Given, Refused>;
}

function errorOf({ refused, message, data }: Refused, sessionId: string): RoomtapError {
  const named = sessionId === "" ? message : `session ${sessionId}: ${message}`;
  return new RoomtapError(refused, named, data === undefined ? {} : { data });
}
