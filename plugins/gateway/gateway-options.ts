import { gatewayDefaults, RoomtapError } from "../../core/index.ts";
import { parseAuth, type AuthOptions } from "./auth-config.ts";
import type { Authenticate } from "./credentials.ts";
import type { GateLimits } from "./gates.ts";
import type { ReceptionLimits } from "./reception.ts";
import type { TicketLimits } from "./tickets.ts";

/** Bounds of a gateway; each has a default. */
export interface GatewayLimits extends ReceptionLimits, GateLimits, TicketLimits {}

/** How a gateway is set up; every bound of `gatewayDefaults` can be set as well. */
export interface GatewayOptions extends Partial<GatewayLimits> {
  /** Who may connect, as a config says it. Default: whoever has a token that is made at the start. */
  readonly auth?: AuthOptions | undefined;
  /** Short for `auth: { token }`. */
  readonly token?: string | undefined;
  /** Says who a token stands for, in place of `auth` and `token`. Tickets are the gateway's own. */
  readonly authenticate?: Authenticate | undefined;
  /** Names, besides that of the bind, under which the gateway may be asked for, unless `auth` says it. Default: none. */
  readonly allowedHosts?: readonly string[] | undefined;
  /**
   * Origins whose pages may connect, unless `auth` says it: scheme, host and port. Default: the server's own. A bind that
   * other machines can reach has to name them, if only as an empty list.
   */
  readonly allowedOrigins?: readonly string[] | undefined;
}

/** The same options, with the host's own word on who may connect where they have none. */
export function withAuth(options: GatewayOptions, auth: AuthOptions | undefined): GatewayOptions {
  const hasWord = options.auth !== undefined || options.token !== undefined || options.authenticate !== undefined;
  return hasWord ? options : { ...options, auth };
}

/**
 * Who may connect, by all that is said of it.
 * @throws RoomtapError `invalid_config` for what is wrong in it, or stands in two places
 */
export function authOf(options: GatewayOptions): AuthOptions {
  const { auth, token, authenticate, allowedHosts, allowedOrigins } = options;
  const beside = Object.entries({ token, authenticate, allowedHosts, allowedOrigins });
  const given = beside.filter(([, value]) => value !== undefined);
  if (auth === undefined) {
    return withToken(parseAuth(Object.fromEntries(given.filter(([name]) => name !== "authenticate")), []));
  }
  const parsed = parseAuth(auth);
  // Who comes stands in one place; pages and names in either.
  const said = parsed === "none" ? {} : parsed;
  const twice = given.find(
    ([name]) => name === "token" || name === "authenticate" || said[name as keyof typeof said] !== undefined,
  );
  if (twice !== undefined) throw new RoomtapError("invalid_config", `auth and ${twice[0]}: expected one of the two`);
  return withToken(parsed);
}

/** @throws RoomtapError `invalid_config` for credentials that are named and are none: nobody could come */
function withToken(auth: AuthOptions): AuthOptions {
  if (auth === "none" || auth.jwks || (auth.token !== "" && auth.tokens?.length !== 0)) return auth;
  throw new RoomtapError("invalid_config", "expected at least one token, or jwks");
}

/** The bounds, each checked: a gateway with a wrong one does not start. @throws RoomtapError `invalid_config` */
export function boundsOf(options: GatewayOptions): GatewayLimits {
  const bounds: Record<string, number> = {};
  for (const [name, byDefault] of Object.entries(gatewayDefaults)) {
    const value = options[name as keyof typeof gatewayDefaults] ?? byDefault;
    const least = name === "pingIntervalMs" ? 0 : 1;
    if (!(value >= least)) {
      throw new RoomtapError("invalid_config", `${name}: expected a number of at least ${least}, got ${value}`);
    }
    bounds[name] = value;
  }
  return bounds as unknown as GatewayLimits;
}
