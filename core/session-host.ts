import { Agents, type Agent, type AgentDefinition } from "./agent.ts";
import type { BusyMode } from "./busy-mode.ts";
import { refuse, type Refused } from "./called.ts";
import type { Clock, IdSource, Undo } from "./clock.ts";
import { createEmitter, type Emitter } from "./emitter.ts";
import { messageOf, type Report } from "./errors.ts";
import { IdleTimers } from "./idle-timers.ts";
import { Openings } from "./openings.ts";
import { limits } from "./options.ts";
import { LiveSession, type SessionEnd } from "./session-driver.ts";
import type { ListedSession, SessionHostEvents } from "./session-host-events.ts";
import { tailLength } from "./session-journal.ts";
import { newRecord, type NewSession } from "./session-record.ts";
import type { ApprovalRule, SessionRecord, SessionsOf, SessionStore, StoredMessage } from "./session-store.ts";
import type { Session } from "./sessions.ts";
import type { Tap } from "./tap.ts";

/** What a host of sessions is made of. */
export interface SessionHostParts {
  readonly store: SessionStore;
  readonly tap: Tap;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly report: Report;
  /** The default is the one called `default`, else the first. */
  readonly agents: readonly AgentDefinition[];
  /** What a prompt does while a turn runs. Default `interrupt`. */
  readonly busyMode?: BusyMode | undefined;
  /** How long a runner may take to end once it was asked to stop. Default 30,000. */
  readonly stopGraceMs?: number | undefined;
  /** How long a turn may run, the time in which it waits for a person not counted. Default 1,800,000. */
  readonly turnDeadlineMs?: number | undefined;
  /** Whether a client is attached: such a session is not closed for being unused. Default: none is. */
  readonly isAttached?: ((session: Session) => boolean) | undefined;
}

/** What a session is created with. */
export interface CreateSession extends Omit<NewSession, "agent_id"> {
  /** Stored id of one that is not there yet. Default: a new one. */
  readonly session_id?: string | undefined;
  /** Default: the host's default agent. */
  readonly agent_id?: string | undefined;
  /** What its transcript begins with. */
  readonly messages?: readonly StoredMessage[] | undefined;
  /** Made by the process itself, not for a client: closed after 30 minutes without a turn and with nobody attached. */
  readonly inProcess?: boolean | undefined;
}

/** What a session is opened from. */
interface Loaded {
  readonly record: SessionRecord;
  readonly agent: Agent;
  /** Of the agent. */
  readonly rules: readonly ApprovalRule[];
  /** The end of the transcript. */
  readonly tail: readonly StoredMessage[];
}

type NotOpened = Refused<"unknown_session" | "agent_unavailable" | "too_many_sessions" | "shutting_down">;

/**
 * The ordinary sessions of a process. However many ask for a stored session at once, it is opened once. At most 1,000 are
 * open, 64 of one principal: then the one unused for longest that nobody is attached to and that runs nothing is closed.
 */
export class SessionHost {
  readonly #parts: SessionHostParts;
  readonly #agents: Agents;
  readonly #events: Emitter<SessionHostEvents>;
  /** By stored id, in the order of their use. */
  readonly #live = new Map<string, LiveSession>();
  readonly #openings = new Openings<LiveSession | NotOpened>();
  readonly #closing = new Map<string, Promise<void>>();
  /** Of sessions made in process. */
  readonly #idle: IdleTimers;
  #isClosed = false;

  constructor(parts: SessionHostParts) {
    this.#parts = parts;
    this.#agents = new Agents(parts.agents);
    this.#idle = new IdleTimers(parts.clock, (live) => this.#endUnused(live));
    this.#events = createEmitter((fault, name) => {
      const message = `a listener to sessions failed at ${name}: ${messageOf(fault)}`;
      parts.report({ code: "session_listener_threw", message, cause: fault });
    });
  }

  /** The agents' ids, in the order in which they were given. */
  get agentIds(): readonly string[] {
    return this.#agents.ids;
  }

  /** Open sessions, the one unused for longest first. */
  get live(): readonly LiveSession[] {
    return [...this.#live.values()];
  }

  /** Whether it is being shut down: it opens nothing any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Calls `listener` at each `name`. Undone by what it returns. */
  on<Name extends keyof SessionHostEvents & string>(
    name: Name,
    listener: (event: SessionHostEvents[Name]) => unknown,
  ): Undo {
    return this.#events.on(name, listener);
  }

  /**
   * Makes a session, durable when it resolves.
   * @throws RoomtapError what the store throws; nothing was made then
   */
  async create(given: CreateSession): Promise<LiveSession | NotOpened> {
    const { tap, ids, clock } = this.#parts;
    const agent = this.#agents.find(given.agent_id);
    if ("refused" in agent) return agent;
    const title = given.title === undefined || given.title === null ? null : tap.clean(given.title);
    const id = given.session_id ?? `ses-${ids.hex(12)}`;
    const record = newRecord(id, { ...given, title, agent_id: agent.agent_id }, clock.now());
    const rules = await this.#parts.store.rules(agent.agent_id);
    const messages = (given.messages ?? []).map(
      (message) => tap.seam.clean(message).payload as unknown as StoredMessage,
    );
    const live = this.#admit({ record, agent, rules, tail: [] });
    if ("refused" in live) return live;
    await this.#orForget(live, live.create(messages));
    if (given.inProcess === true) this.#idle.watch(live);
    this.#events.emit("opened", { live });
    return live;
  }

  /**
   * The open session of a stored id, or of a title that is exactly this; opened if it is not. What a dead host left of it
   * is taken up.
   * @param principal the owner: sessions of others are unknown. Null: the host itself, which finds all, by stored id
   * @throws RoomtapError what the store throws
   */
  async resume(idOrTitle: string, principal: string | null): Promise<LiveSession | NotOpened> {
    const byId = await this.#open(idOrTitle, principal);
    if (principal === null || !("refused" in byId) || byId.refused !== "unknown_session") return byId;
    const titled = await this.#parts.store.titled(idOrTitle, principal);
    return titled === undefined ? byId : this.#open(titled.session_id, principal);
  }

  /** The row of a session, open or not. @throws RoomtapError what the store throws */
  async record(sessionId: string): Promise<SessionRecord | undefined> {
    return this.#live.get(sessionId)?.record ?? this.#parts.store.session(sessionId);
  }

  /** The open session of a runtime id, the present one or an alias; not that of a life that is over. */
  byRuntimeId(runtimeId: string): LiveSession | undefined {
    const session = this.#parts.tap.sessions.byRuntimeId(runtimeId);
    const live = session === undefined ? undefined : this.#live.get(session.durableId);
    return live?.answersTo(runtimeId) === true ? live : undefined;
  }

  /** The open session of a stored id. */
  byStoredId(sessionId: string): LiveSession | undefined {
    return this.#live.get(sessionId);
  }

  /** Stored sessions, the last active first. @throws RoomtapError what the store throws */
  async list(page: {
    readonly limit: number;
    readonly offset: number;
    /** Default: all. */
    readonly of?: SessionsOf | undefined;
  }): Promise<{ readonly sessions: readonly ListedSession[]; readonly next_offset: number | null }> {
    const { sessions, next_offset } = await this.#parts.store.list(page);
    return { sessions: sessions.map((record) => ({ record, live: this.#live.get(record.session_id) })), next_offset };
  }

  /** Somebody came to the session, left it or called on it: it counts as used now. */
  use(live: LiveSession): void {
    const { durableId } = live.session;
    if (this.#live.get(durableId) !== live) return;
    this.#live.delete(durableId);
    this.#live.set(durableId, live);
    // The registry forgets what was opened longest ago.
    this.#parts.tap.sessions.open(durableId, { roomPlumbing: false });
    this.#idle.use(live);
  }

  /**
   * Closes a session: at once its runtime ids lead nowhere. Resolves when its turn has ended, and everything is stored and
   * told. Safe to call twice.
   * @param graceMs how long its runner may take
   */
  close(live: LiveSession, reason: SessionEnd, graceMs?: number): Promise<void> {
    const { durableId } = live.session;
    const closing = this.#closing.get(durableId);
    if (closing !== undefined) return closing;
    if (this.#live.get(durableId) !== live) return Promise.resolve();
    this.#forget(live);
    const closed = live.close(reason, graceMs).then(() => {
      this.#closing.delete(durableId);
      const { runtimeId } = live.session;
      // Its next life has an id of its own; by the old ones nothing but what was told can be asked for.
      this.#parts.tap.sessions.renew(live.session);
      this.#events.emit("closed", { live, runtimeId, reason });
    });
    this.#closing.set(durableId, closed);
    this.#events.emit("closing", { live, reason });
    return closed;
  }

  /** Closes all sessions, side by side; from now on none is opened. Safe to call twice. */
  async shutdown(graceMs?: number): Promise<void> {
    this.#isClosed = true;
    await this.#openings.settled();
    for (const live of this.live) void this.close(live, "shutdown", graceMs);
    await Promise.all(this.#closing.values());
  }

  async #open(sessionId: string, principal: string | null): Promise<LiveSession | NotOpened> {
    // Whose it is not is told so before anything is waited for: how long that takes tells nothing.
    if (principal !== null && !this.#isClosed) {
      const record = await this.record(sessionId);
      if (record === undefined || !isOf(record, principal)) return unknown();
    }
    return this.#openings.join(sessionId, principal, async () => {
      const live = this.#live.get(sessionId);
      if (live === undefined) return this.#openStored(sessionId, principal);
      if (!isOf(live.record, principal)) return unknown();
      this.use(live);
      return live;
    });
  }

  async #openStored(sessionId: string, principal: string | null): Promise<LiveSession | NotOpened> {
    if (this.#isClosed) return refuse("shutting_down", "the host is closing");
    await this.#closing.get(sessionId);
    const { store } = this.#parts;
    const record = await store.session(sessionId);
    if (record === undefined || !isOf(record, principal)) return unknown();
    const agent = this.#agents.find(record.agent_id);
    if ("refused" in agent) return agent;
    const tail = await store.messages(sessionId, { limit: tailLength, maxBytes: limits.maxSnapshotBytes });
    const rules = await store.rules(agent.agent_id);
    const live = this.#admit({ record, agent, rules, tail: tail.messages });
    if ("refused" in live) return live;
    await this.#orForget(live, live.takeUp());
    this.#events.emit("opened", { live });
    return live;
  }

  /** Gives the session its place among the open ones. */
  #admit({ record, agent, rules, tail }: Loaded): LiveSession | NotOpened {
    if (this.#isClosed) return refuse("shutting_down", "the host is closing");
    if (!this.#makeRoom(record.owner.principal)) return refuse("too_many_sessions", "too many sessions are open");
    const { busyMode = "interrupt", tap, store } = this.#parts;
    const session = tap.sessions.open(record.session_id, { roomPlumbing: false });
    const { agent_id } = agent;
    tap.requests.rules.bind(session, { agent_id, rules, putRule: (rule) => store.putRule(rule) });
    const onIdle = (): void => {
      this.#idle.use(live);
      this.#events.emit("idle", { live });
    };
    const live = new LiveSession({ ...this.#parts, busyMode, session, record, tail, agent, onIdle });
    session.isOpen = true;
    this.#live.set(record.session_id, live);
    return live;
  }

  /** Closes what is unused for longest, where a bound is reached. False when there is nothing to close. */
  #makeRoom(principal: string): boolean {
    const own = this.live.filter(({ record }) => record.owner.principal === principal);
    if (own.length >= limits.maxLiveSessionsPerPrincipal && !this.#evict(own)) return false;
    return this.#live.size < limits.maxLiveSessions || this.#evict(this.live);
  }

  #evict(among: readonly LiveSession[]): boolean {
    const unused = among.find((live) => !live.isBusy && !this.#isAttached(live));
    if (unused === undefined) return false;
    void this.close(unused, "lru_evict");
    return true;
  }

  /** The work that makes it live; when that fails it is not. */
  async #orForget(live: LiveSession, work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (fault) {
      this.#forget(live);
      throw fault;
    }
  }

  #forget(live: LiveSession): void {
    this.#live.delete(live.session.durableId);
    live.session.isOpen = false;
    this.#idle.forget(live);
  }

  #isAttached({ session }: LiveSession): boolean {
    return this.#parts.isAttached?.(session) ?? false;
  }

  #endUnused(live: LiveSession): void {
    if (live.isBusy || this.#isAttached(live)) this.#idle.watch(live);
    else void this.close(live, "idle_timeout");
  }
}

function isOf({ owner }: SessionRecord, principal: string | null): boolean {
  return principal === null || owner.principal === principal;
}

function unknown(): Refused<"unknown_session"> {
  return refuse("unknown_session", "there is no session of this id");
}
