import type { JsonObject, Scope } from "../../core/index.ts";
import type { Authenticate } from "../../plugins/gateway/index.ts";
import { principals, tokenOf, type Rights } from "./principals.ts";
import { newSession, openHost, type HostClient, type OpenHost, type OpenHostOptions } from "./open-host.ts";

/** Scopes of those who come: the owner has all; others have these, where nothing else is said. */
const allScopes: readonly Scope[] = ["read", "write", "approvals", "admin"];
const usualScopes: readonly Scope[] = ["read", "write"];

/** Scopes by name. */
export type People = Readonly<Record<string, readonly Scope[]>>;

/** Whoever shows a name as token is the principal of that name; `name.2` is another connection of it. */
export function people(scopes: People): Authenticate {
  return ({ value }) => {
    const [principal = ""] = value.split(".");
    const own = scopes[principal] ?? (principal === "o" ? allScopes : usualScopes);
    return { principal, generation: principal, scopes: own, grants: [] };
  };
}

export interface SharedHostOptions extends OpenHostOptions {
  readonly scopes?: People;
  /** Instead: rights of tokens that can be reloaded, see `principals`. `o` has all scopes. */
  readonly rights?: Readonly<Record<string, Rights>>;
  /** Of the session s1. Default `shared`. */
  readonly visibility?: string;
}

/** A host on which `o` has made the session s1. Others come by their names. */
export interface SharedHost extends OpenHost {
  readonly o: HostClient;
  readonly session_id: string;
  readonly stored_session_id: string;
  /** A connection of a principal, that takes server requests if `asks`. */
  readonly as: (name: string, options?: { readonly asks?: boolean; readonly resume?: string }) => Promise<HostClient>;
  /** As `as`, attached to s1. */
  readonly observer: (name: string, role?: string, options?: { readonly asks?: boolean }) => Promise<HostClient>;
}

export async function sharedHost(options: SharedHostOptions = {}): Promise<SharedHost> {
  const { scopes = {}, rights, visibility = "shared", gateway, ...rest } = options;
  const auth = rights === undefined ? { authenticate: people(scopes) } : { auth: ownersAuth(rights) };
  const host = await openHost({ ...rest, gateway: { ...gateway, ...auth } });
  const tokenFor = (name: string): string => (rights === undefined ? name : tokenOf(name.split(".")[0] ?? ""));
  const as: SharedHost["as"] = (name, given = {}) => host.connect({ ...given, token: tokenFor(name) });
  const o = await as("o", { asks: true });
  const { session_id, stored_session_id } = await newSession(o);
  if (visibility !== "private") await o.call("session.visibility", { session_id, visibility });
  await o.settled();
  return {
    ...{ ...host, o, session_id, stored_session_id, as },
    async observer(name, role = "viewer", given) {
      const client = await as(name, given);
      await client.call("session.attach", { session_id, role });
      return client;
    },
  };
}

/** Tokens of `o`, with all scopes, and of others. */
export function ownersAuth(rights: Readonly<Record<string, Rights>>): ReturnType<typeof principals> {
  return principals({ o: { scopes: [...allScopes] }, ...rights });
}

/** The roster as `name role`, the names of connections by their origins. */
export async function roster(
  client: HostClient,
  session_id: string,
  names: Readonly<Record<string, HostClient>>,
): Promise<readonly string[]> {
  const { observers } = await client.call("session.observers", { session_id });
  return rosterWords(observers, names);
}

/** A list of observers as `name role`. */
export function rosterWords(observers: unknown, names: Readonly<Record<string, HostClient>>): readonly string[] {
  const byOrigin = new Map(Object.entries(names).map(([name, { origin }]) => [origin, name]));
  return (observers as readonly JsonObject[]).map(
    ({ client_id, role }) => `${byOrigin.get(String(client_id)) ?? String(client_id)} ${String(role)}`,
  );
}

/** All that a refusal tells, but for the text. */
export async function refusal(client: HostClient, method: string, params: JsonObject): Promise<JsonObject> {
  const { error } = await client.ask(method, params);
  return { code: error?.code, ...error?.data };
}

/** Causes of the roster's changes, as a client was told them. */
export function sharingCauses(client: HostClient): readonly unknown[] {
  return client.events("session.sharing").map(({ payload }) => payload?.["cause"]);
}
