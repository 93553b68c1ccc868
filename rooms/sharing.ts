import {
  limits,
  refuse,
  type ErrorCode,
  type JsonObject,
  type Refused,
  type Scope,
  type Visibility,
} from "../core/index.ts";

/*
 * Who may do what in a session, decided without effects. Each question is asked in this order, and all of it must be
 * answered with yes: scope (the table of scopes), whether the session can be seen, what the caller is in it.
 */

/** What a client can be in a session. */
export const roles = ["owner", "member", "viewer"] as const;
/** A word of `roles`. */
export type Role = (typeof roles)[number];
/** What somebody can attach as. */
export type ObserverRole = Exclude<Role, "owner">;

/** What a client is in a session: `owner` with every connection of the owner's principal, `none` without being attached. */
export type Standing = Role | "none";

/** Somebody who calls. In process the client id may be any text, and the principal is the client id itself by default. */
export interface Caller {
  readonly client_id: string;
  readonly principal: string;
  readonly scopes: ReadonlySet<Scope>;
}

/** A caller in view of one session. */
export interface Stance {
  readonly standing: Standing;
  readonly visibility: Visibility;
  readonly scopes: ReadonlySet<Scope>;
  /** Its principal was sent away, and the visibility was not set anew since. */
  readonly isBarred: boolean;
}

/**
 * What is done with a session: `watch` what happens, `send` (steer, interrupt, lock and answer as well), `join` as its owner,
 * `manage` (its visibility, its end, who is attached), `retitle`.
 */
export type Use = "watch" | "send" | "join" | "manage" | "retitle";

const useTable: Readonly<Record<Use, Readonly<Record<Standing, ErrorCode | null>>>> = {
  watch: { owner: null, member: null, viewer: null, none: "not_attached" },
  send: { owner: null, member: null, viewer: "viewer_cannot_send", none: "not_attached" },
  join: { owner: null, member: "observer_rebind", viewer: "observer_rebind", none: "not_attached" },
  manage: { owner: null, member: "not_owner", viewer: "not_owner", none: "not_owner" },
  retitle: { owner: null, member: "not_owner", viewer: "not_owner", none: "not_owner" },
};

/** What an `admin` that is not attached may do to a session of somebody else. */
const adminUses: ReadonlySet<Use> = new Set(["manage"]);

const messages: Partial<Record<ErrorCode, string>> = {
  unknown_session: "there is no such session, or it is not open",
  invalid_role: "a role is one of member and viewer",
  owner_role: "nobody attaches as the owner",
  is_owner: "the owner's connections resume or activate their session",
  session_private: "the session is private",
  session_read_only: "the session takes viewers only",
  already_bound: "the client owns, or is a member of, another session",
  observers_full: `the session has ${limits.maxObservers} observers`,
  observer_rebind: "who observes a session cannot take it over",
  viewer_cannot_send: "a viewer changes nothing",
  not_owner: "only the session's owner may do this",
  not_attached: "the client is not attached to the session",
};

const advice: Partial<Record<ErrorCode, JsonObject>> = {
  observer_rebind: { next_step: "do_not_retry", next_action: "start_new_session" },
  not_attached: { next_action: "session.attach" },
};

/** A refusal with its message, and what a client is advised to do. */
export function denial(code: ErrorCode): Refused {
  return refuse(code, messages[code] ?? code, advice[code]);
}

/** Whether the session can be found by name and in lists. */
export function maySee({ standing, visibility, scopes, isBarred }: Stance): boolean {
  if (standing !== "none" || scopes.has("admin")) return true;
  return !isBarred && visibility !== "private" && scopes.has("read");
}

/** Why a session may not be used so; null: it may. The scope of the method was asked before. */
export function judgeUse(use: Use, stance: Stance): Refused | null {
  if (!maySee(stance)) return denial("unknown_session");
  const code = useTable[use][stance.standing];
  if (code === null) return null;
  const isAdmins = stance.standing === "none" && stance.scopes.has("admin") && adminUses.has(use);
  return isAdmins ? null : denial(code);
}

/** Whether frames of the session may reach it at all: an observer needs `read` for each of them. */
export function mayWatch({ standing, scopes }: Pick<Stance, "standing" | "scopes">): boolean {
  return standing === "owner" || (standing !== "none" && (scopes.has("read") || scopes.has("admin")));
}

/** Why a request of the session may not be answered by it; null: it may, and it may be asked. @param scope of the request */
export function judgeAnswer(stance: Stance, scope: Scope): Refused | null {
  const refused = judgeUse("send", stance);
  if (refused !== null) return refused;
  const { scopes } = stance;
  const lacks = scopes.has("admin") ? null : !scopes.has(scope) ? scope : mayWatch(stance) ? null : "read";
  return lacks === null ? null : lacksScope(lacks);
}

/** Somebody who wants to attach to a session. */
export interface AttachRequest extends Stance {
  /** The word that was given. */
  readonly role: string;
  /** Whether the client owns, or is a member of, another session. */
  readonly isBound: boolean;
  /** How many are attached. */
  readonly observers: number;
  /** Whether a private session is not even told to be there. */
  readonly concealPrivate: boolean;
}

/** Why somebody may not attach, the first that holds. */
const attachRules: readonly (readonly [code: ErrorCode, holds: (request: AttachRequest) => boolean])[] = [
  ["unknown_session", ({ standing, isBarred }) => standing === "none" && isBarred],
  ["unknown_session", (request) => request.concealPrivate && request.visibility === "private" && !maySee(request)],
  ["invalid_role", ({ role }) => !roles.some((each) => each === role)],
  ["owner_role", ({ role }) => role === "owner"],
  ["is_owner", ({ standing }) => standing === "owner"],
  ["session_private", ({ visibility }) => visibility === "private"],
  ["session_read_only", ({ visibility, role }) => visibility === "read_only" && role !== "viewer"],
  ["already_bound", ({ isBound, standing, role }) => isBound && standing !== role],
  ["observers_full", ({ observers, standing }) => standing === "none" && observers >= limits.maxObservers],
];

/** The role that it attaches as, or why it may not. To attach again as what it is changes nothing. */
export function judgeAttach(request: AttachRequest): ObserverRole | Refused {
  const rule = attachRules.find(([, holds]) => holds(request));
  if (rule !== undefined) return denial(rule[0]);
  return request.role === "member" ? "member" : "viewer";
}

const rolesLeft: Readonly<Record<Visibility, Readonly<Record<ObserverRole, ObserverRole | null>>>> = {
  private: { member: null, viewer: null },
  read_only: { member: "viewer", viewer: "viewer" },
  shared: { member: "member", viewer: "viewer" },
};

/** What an attached observer is under a new visibility; null: it is sent away. Nobody is ever promoted. */
export function roleUnder(visibility: Visibility, role: ObserverRole): ObserverRole | null {
  return rolesLeft[visibility][role];
}

/** The refusal of a connection that lacks a scope. */
export function lacksScope(scope: Scope): Refused {
  return refuse("insufficient_scope", `this needs the scope ${scope}`, { required_scope: scope });
}
