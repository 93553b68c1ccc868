import { describe, expect, it } from "vitest";
import { parseAuth } from "../../../../plugins/gateway/index.ts";
import { authOf } from "../../../../plugins/gateway/gateway-options.ts";
import { parseConfig } from "../../../../plugins/index.ts";

const token = "a-secret-of-sixteen";
const entry = { token, principal: "laptop", scopes: ["read"] };
const key = { kty: "OKP", crv: "Ed25519", x: "AA" };
const jwks = { keys: [key], audience: "roomtap" };

/** The message that it is refused with. */
function problem(auth: unknown): string {
  try {
    parseAuth(auth);
  } catch (fault) {
    expect(fault).toMatchObject({ code: "invalid_config" });
    return (fault as Error).message;
  }
  return "none";
}

describe("auth of a config", () => {
  it.each<readonly [name: string, auth: unknown]>([
    ["one token", { token }],
    ["a list", { tokens: [entry, { ...entry, token: "another-secret", rooms: ["release"], grants: ["reasoning"] }] }],
    ["keys of JWTs", { jwks }],
    ["keys at a URL", { jwks: { url: "https://id.example/keys", audience: ["a", "b"], issuer: "https://id.example" } }],
    ["keys of this machine", { jwks: { url: "http://127.0.0.1:8080/keys", audience: "a", algorithms: ["ES256"] } }],
    [
      "pages and names",
      { token, allowedOrigins: ["https://a.example:8443", "*", "null"], allowedHosts: ["a.example"] },
    ],
    ["no revocation", { token, revokeOnRotation: false }],
    ["nothing of credentials", { allowedOrigins: [] }],
    ["no credential", "none"],
  ])("may be %s", (_name, auth) => {
    expect(parseAuth(auth)).toEqual(auth);
    expect(parseConfig({ rooms: [{ room_id: "r", members: [{ handle: "a" }] }], auth }).auth).toEqual(auth);
  });

  it("S51 without scopes, or with one that there is not, is refused, and both are named", () => {
    const tokens = [
      { token, principal: "a" },
      { token: "another-secret", principal: "b", scopes: ["read", "wirte"] },
    ];
    expect(problem({ tokens })).toBe(
      "auth.tokens[0].scopes: expected a list of read, write, approvals, admin; " +
        'auth.tokens[1].scopes[1]: unknown scope "wirte"; known: read, write, approvals, admin',
    );
  });

  it.each<readonly [auth: unknown, message: string]>([
    ["all", 'auth: expected "none" or an object with token, tokens or jwks'],
    [null, 'auth: expected "none" or an object with token, tokens or jwks'],
    [{ tokns: [] }, "auth.tokns: unknown key"],
    [{ token: 7 }, "auth.token: expected a text"],
    [{ token: "with blank" }, "auth.token: expected up to 4,096 visible ASCII characters"],
    [{ token, tokens: [] }, "auth: expected either token or tokens"],
    [{ tokens: [{ ...entry, token: "" }] }, "auth.tokens[0].token: expected a token"],
    [{ tokens: [{ ...entry, scopes: [] }] }, "auth.tokens[0].scopes: expected at least one scope"],
    [{ tokens: [{ ...entry, scope: ["read"] }] }, "auth.tokens[0].scope: unknown key"],
    [{ tokens: [{ ...entry, rooms: "release" }] }, "auth.tokens[0].rooms: expected a list of ids of rooms"],
    [
      { tokens: [{ ...entry, grants: ["all"] }] },
      'auth.tokens[0].grants[0]: unknown grant "all"; known: reasoning, full',
    ],
    [{ tokens: [entry, entry] }, "auth.tokens[1].token: the same as that of tokens[0]"],
    [{ token, revokeOnRotation: "no" }, "auth.revokeOnRotation: expected true or false"],
    [
      { token, allowedOrigins: ["https://a.example/path"] },
      "auth.allowedOrigins[0]: expected scheme, host and port, *, or null",
    ],
    [{ jwks: { audience: "a" } }, "auth.jwks: expected either url or keys"],
    [{ jwks: { ...jwks, url: "https://a.example/k" } }, "auth.jwks: expected either url or keys"],
    [{ jwks: { ...jwks, keys: [{ ...key, d: "AA" }] } }, "auth.jwks: keys: expected public keys only"],
    [{ jwks: { ...jwks, keys: [{ kty: "oct", k: "AA" }] } }, "auth.jwks: keys: expected public keys only"],
    [
      { jwks: { url: "http://a.example/keys", audience: "a" } },
      "auth.jwks.url: expected an https URL, or an http one of this machine",
    ],
  ])("%j is refused: %s", (auth, message) => {
    expect(problem(auth)).toBe(message);
  });

  it("needs an audience, and takes no algorithm with a shared secret", () => {
    expect(problem({ jwks: { keys: [key] } })).toMatch(/^auth\.jwks\.audience: /);
    expect(problem({ jwks: { ...jwks, algorithms: ["HS256"] } })).toMatch(
      /^auth\.jwks\.algorithms\[0\]: unknown algorithm/,
    );
  });

  it("is never shown where a secret may stand", () => {
    for (const wrong of [
      { tokens: [{ ...entry, token: `${token} ` }] },
      { token: [token] },
      { tokens: [{ [token]: 1 }] },
    ]) {
      expect(problem(wrong).replaceAll(/\.a-secret-of-sixteen: unknown key/g, "")).not.toContain(token);
    }
  });
});

describe("the options of a gateway", () => {
  it("say once who may come", () => {
    const auth = { tokens: [{ token, principal: "a", scopes: ["read"] as const }] };
    expect(authOf({ auth })).toEqual(auth);
    expect(authOf({ token, allowedOrigins: [] })).toEqual({ token, allowedOrigins: [] });
    expect(authOf({})).toEqual({});
    expect(authOf({ auth, allowedOrigins: [], allowedHosts: [] })).toEqual(auth);
    const whole = { ...auth, allowedOrigins: [], allowedHosts: [] };
    for (const other of [
      { token },
      { allowedOrigins: [] },
      { allowedHosts: [] },
      { authenticate: () => "revoked" as const },
    ]) {
      expect(() => authOf({ auth: whole, ...other })).toThrow(/^auth and \w+: expected one of the two$/);
    }
  });

  it.each([{ tokens: [] }, { token: "" }])("refuse %j at the start: nobody could come", (auth) => {
    expect(() => authOf({ auth })).toThrow("expected at least one token, or jwks");
    expect(() => authOf({ token: "" })).toThrow("expected at least one token, or jwks");
  });
});
