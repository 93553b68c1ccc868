import { z } from "zod";
import { idSchema, limits, RoomtapError, scopes, type Scope } from "../../core/index.ts";
import { isLoopback, isOrigin } from "./addresses.ts";
import { jwtAlgorithms, type JwksConfig } from "./jwt-config.ts";

/** A token, and what whoever shows it may do. */
export interface TokenConfig {
  /** 1 to 4,096 visible ASCII characters. A secret. */
  readonly token: string;
  /** Who it is. Connections of one principal are one and the same person to all sessions. */
  readonly principal: string;
  /** At least one. `admin` stands for all; nothing else implies anything. */
  readonly scopes: readonly Scope[];
  /** The rooms that are there for it. Default: all. */
  readonly rooms?: readonly string[] | undefined;
  /** What it may see besides: the reasoning of room members, whole payloads. Default: neither. */
  readonly grants?: readonly AuthGrant[] | undefined;
}

/** What a credential may be granted beside its scopes. */
export type AuthGrant = (typeof authGrants)[number];
const authGrants = ["reasoning", "full"] as const;

/** Who may connect, as a config says it. */
export interface AuthConfig {
  /** Short for one token of the principal `local`, with all scopes and grants. Not beside `tokens`. */
  readonly token?: string | undefined;
  readonly tokens?: readonly TokenConfig[] | undefined;
  /** Whose JWTs are taken beside the tokens. Null, at a reload: none any more. */
  readonly jwks?: JwksConfig | null | undefined;
  /** Pages that may connect: scheme, host and port; `*` and `null` as they stand. Default: the server's own. */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** Names, besides that of the bind, under which the gateway may be asked for. Default: none. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Whether a reload ends the connections of credentials that have gone. Default true. */
  readonly revokeOnRotation?: boolean | undefined;
}

/** `none`: whoever reaches the gateway may do everything. Only on a loopback bind. */
export type AuthOptions = "none" | AuthConfig;

const secret = z
  .string("expected a text")
  .regex(/^[\x21-\x7e]{0,4096}$/, "expected up to 4,096 visible ASCII characters");
const word = (known: readonly string[], what: string) => ({
  error: ({ input }: { readonly input?: unknown }) =>
    typeof input === "string"
      ? `unknown ${what} "${input.slice(0, 64)}"; known: ${known.join(", ")}`
      : `expected one of ${known.join(", ")}`,
});
const scopeList = z
  .array(z.enum(scopes, word(scopes, "scope")), `expected a list of ${scopes.join(", ")}`)
  .min(1, "expected at least one scope");
const roomList = z.array(idSchema, "expected a list of ids of rooms").max(limits.maxRooms).optional();
const grantList = z.array(z.enum(authGrants, word(authGrants, "grant")), "expected a list of grants").optional();

const tokenSchema = z.strictObject({
  token: secret.min(1, "expected a token"),
  principal: idSchema,
  scopes: scopeList,
  rooms: roomList,
  grants: grantList,
});

const jwksSchema = z
  .strictObject({
    url: z.string().refine(isKeyUrl, "expected an https URL, or an http one of this machine").optional(),
    keys: z
      .array(z.looseObject({ kty: z.string() }))
      .min(1)
      .optional(),
    audience: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]),
    issuer: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).optional(),
    algorithms: z
      .array(z.enum(jwtAlgorithms, word(jwtAlgorithms, "algorithm")))
      .min(1)
      .optional(),
    rooms: roomList,
    grants: grantList,
  })
  .refine(({ url, keys }) => (url === undefined) !== (keys === undefined), "expected either url or keys")
  .refine(({ keys = [] }) => keys.every((key) => !("d" in key || "k" in key)), "keys: expected public keys only");

const authSchema = z
  .strictObject({
    token: secret.optional(),
    tokens: z.array(tokenSchema, "expected a list of tokens").max(limits.maxTokens).optional(),
    jwks: jwksSchema.nullable().optional(),
    allowedOrigins: z
      .array(z.string().refine(isAllowedOrigin, "expected scheme, host and port, *, or null"), "expected a list")
      .optional(),
    allowedHosts: z.array(z.string().min(1), "expected a list of names").optional(),
    revokeOnRotation: z.boolean("expected true or false").optional(),
  })
  .refine(({ token, tokens }) => token === undefined || tokens === undefined, "expected either token or tokens");

/**
 * Who may connect, from a config. Strict: an unknown key is an error at its path. What stands where a token is expected is
 * never shown.
 * @param path where it stands, for the message
 * @throws RoomtapError `invalid_config` that names every problem with its path
 */
export function parseAuth(value: unknown, path: readonly string[] = ["auth"]): AuthOptions {
  if (value === "none") return value;
  if (typeof value !== "object" || value === null) {
    throw new RoomtapError(
      "invalid_config",
      `${path.join(".")}: expected "none" or an object with token, tokens or jwks`,
    );
  }
  const parsed = authSchema.safeParse(value);
  const problems = parsed.success ? doubles(parsed.data.tokens ?? []) : parsed.error.issues.flatMap(problemsOf);
  if (problems.length > 0) {
    const message = problems.map(({ at, text }) => `${pathText([...path, ...at])}: ${text}`).join("; ");
    throw new RoomtapError("invalid_config", message);
  }
  return parsed.data as AuthConfig;
}

/** What of it must be seen nowhere. A text of a few characters is no secret that can be masked. */
export function secretsOfAuth(auth: AuthOptions | undefined): readonly string[] {
  if (auth === undefined || auth === "none") return [];
  const given = [...(auth.token === undefined ? [] : [auth.token]), ...(auth.tokens ?? []).map(({ token }) => token)];
  return given.filter((token) => token.length >= limits.minLiteralUnits);
}

interface Problem {
  readonly at: readonly PropertyKey[];
  readonly text: string;
}

function problemsOf(issue: z.core.$ZodIssue): readonly Problem[] {
  if (issue.code !== "unrecognized_keys") return [{ at: issue.path, text: issue.message }];
  return issue.keys.map((key) => ({ at: [...issue.path, key], text: "unknown key" }));
}

/** One token cannot stand for two. */
function doubles(tokens: readonly { readonly token: string }[]): readonly Problem[] {
  return tokens.flatMap(({ token }, index) => {
    const first = tokens.findIndex((each) => each.token === token);
    return first < index ? [{ at: ["tokens", index, "token"], text: `the same as that of tokens[${first}]` }] : [];
  });
}

function pathText(path: readonly PropertyKey[]): string {
  return path.map((key, at) => (typeof key === "number" ? `[${key}]` : `${at > 0 ? "." : ""}${String(key)}`)).join("");
}

function isAllowedOrigin(origin: string): boolean {
  return origin === "*" || origin === "null" || isOrigin(origin);
}

/** Keys that come over the net in the clear could be anybody's. */
function isKeyUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}
