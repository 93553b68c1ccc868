import { createServer, type RequestListener } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type JWK, type JWTPayload } from "jose";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { manualClock, Signal } from "../../../../core/index.ts";
import { openGateway, type OpenGateway, type OpenGatewayOptions } from "../../../support/open-gateway.ts";
import { RawSocket } from "../../../support/raw-socket.ts";

/** Undefined: the claim is left out. */
type Claims = { readonly [name: string]: string | number | undefined };
type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;

const now = 1_700_000_000;
const keys = {} as { mine: KeyPair; foreign: KeyPair; jwk: JWK & { kty: string } };

beforeAll(async () => {
  keys.mine = await generateKeyPair("EdDSA", { extractable: true });
  keys.foreign = await generateKeyPair("EdDSA", { extractable: true });
  keys.jwk = { ...(await exportJWK(keys.mine.publicKey)), kty: "OKP", kid: "k1" };
});

/** A JWT that is good for a minute, unless something else is said. */
function signed(claims: Claims = {}, key = keys.mine.privateKey): Promise<string> {
  const whole = { sub: "ada", aud: "roomtap", exp: now + 60, scope: "read write email", ...claims };
  return new SignJWT(whole as JWTPayload).setProtectedHeader({ alg: "EdDSA", kid: "k1" }).sign(key);
}

/** Where the key set is fetched, as `answer` gives it. */
async function keyServer(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  onTestFinished(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
}

async function open(
  options: OpenGatewayOptions = {},
): Promise<OpenGateway & { readonly clock: ReturnType<typeof manualClock> }> {
  const clock = manualClock(now * 1_000);
  const auth = { jwks: { keys: [keys.jwk], audience: "roomtap", issuer: undefined } };
  return { ...(await openGateway({ clock, pingIntervalMs: 0, auth, ...options })), clock };
}

/** A socket that shows it as a bearer. */
function show({ port }: { readonly port: number }, jwt: string): RawSocket {
  return new RawSocket(`ws://127.0.0.1:${port}/api/ws`, { headers: { authorization: `Bearer ${jwt}` } });
}

describe("a JWT", () => {
  it("lets in its subject, with the scopes that are known, until it runs out", async () => {
    const gateway = await open();
    const socket = show(gateway, await signed());
    await socket.next();
    const [client] = gateway.host.clients;
    expect(client).toMatchObject({
      principal: "ada",
      scopes: new Set(["read", "write"]),
      grants: new Set(),
      rooms: null,
    });
    gateway.clock.advance(59_999);
    expect(gateway.gateway.connections).toBe(1);
    gateway.clock.advance(1);
    expect(await socket.closed).toEqual({ code: 4401, reason: "token_expired" });
  });

  it.each<readonly [what: string, jwt: () => Promise<string> | string, word: string]>([
    ["that has run out", () => signed({ exp: now }), "token_expired"],
    ["without an end", () => signed({ exp: undefined }), "token_mismatch"],
    ["for somebody else", () => signed({ aud: "other" }), "token_mismatch"],
    ["for nobody", () => signed({ aud: undefined }), "token_mismatch"],
    ["of nobody", () => signed({ sub: undefined }), "token_mismatch"],
    ["of a name of two lines", () => signed({ sub: "a\nb" }), "token_mismatch"],
    ["of a name that is too long", () => signed({ sub: "a".repeat(257) }), "token_mismatch"],
    ["that is not good yet", () => signed({ nbf: now + 10 }), "token_mismatch"],
    ["of a foreign key", () => signed({}, keys.foreign.privateKey), "token_mismatch"],
    [
      "without a signature",
      () => new UnsecuredJWT({ sub: "ada", aud: "roomtap", exp: now + 60 }).encode(),
      "token_mismatch",
    ],
    [
      "signed with the public key as a secret",
      () =>
        new SignJWT({ sub: "ada", aud: "roomtap", exp: now + 60 })
          .setProtectedHeader({ alg: "HS256", kid: "k1" })
          .sign(new TextEncoder().encode(keys.jwk.x)),
      "token_mismatch",
    ],
    ["that is none", () => "a.b.c", "token_mismatch"],
    ["of another shape", () => "nothing-like-it", "token_mismatch"],
  ])("%s is refused", async (_what, jwt, word) => {
    const gateway = await open();
    const socket = show(gateway, await jwt());
    expect(await socket.closed).toEqual({ code: 4401, reason: word });
    expect([socket.frames, gateway.host.notices]).toEqual([[], []]);
  });

  it("of a name as long as it may be lets in, and one without a scope may nothing", async () => {
    const gateway = await open();
    await show(gateway, await signed({ sub: "a".repeat(256), scope: undefined })).next();
    expect(gateway.host.clients[0]?.scopes).toEqual(new Set());
  });

  it("is taken by its issuer and algorithm alone", async () => {
    const jwks = { keys: [keys.jwk], audience: ["other", "roomtap"], issuer: "https://id.example" };
    const gateway = await open({ auth: { jwks } });
    await show(gateway, await signed({ iss: "https://id.example" })).next();
    expect((await show(gateway, await signed({ iss: "https://evil.example" })).closed).reason).toBe("token_mismatch");
    const strict = await open({ auth: { jwks: { ...jwks, algorithms: ["RS256"] } } });
    expect((await show(strict, await signed({ iss: "https://id.example" })).closed).reason).toBe("token_mismatch");
  });

  it("has the rooms and grants of its key set", async () => {
    const jwks = { keys: [keys.jwk], audience: "roomtap", rooms: ["release"], grants: ["reasoning"] as const };
    const gateway = await open({ auth: { jwks } });
    await show(gateway, await signed()).next();
    const [client] = gateway.host.clients;
    expect([client?.rooms, client?.grants]).toEqual([new Set(["release"]), new Set(["reasoning"])]);
  });

  it("makes a ticket whose connection ends with it", async () => {
    const gateway = await open();
    const headers = { authorization: `Bearer ${await signed()}` };
    const ask = { method: "POST", headers };
    const response = await fetch(`http://127.0.0.1:${gateway.port}/api/auth/ws-ticket`, ask);
    const { ticket } = (await response.json()) as { ticket: string };
    const socket = new RawSocket(`ws://127.0.0.1:${gateway.port}/api/ws?ticket=${ticket}`);
    await socket.next();
    gateway.clock.advance(60_000);
    expect(await socket.closed).toEqual({ code: 4401, reason: "token_expired" });
  });
});

describe("a key set", () => {
  it("is fetched where the config says", async () => {
    const url = await keyServer((_request, response) => response.end(JSON.stringify({ keys: [keys.jwk] })));
    const gateway = await open({ auth: { jwks: { url, audience: "roomtap" } } });
    expect(await show(gateway, await signed()).next()).toMatchObject({ params: { type: "gateway.ready" } });
    const foreign = show(gateway, await signed({}, keys.foreign.privateKey));
    expect((await foreign.closed).reason).toBe("token_mismatch");
  });

  it("that is out of reach is the server's fault, and told to its operator", async () => {
    const url = await keyServer((_request, response) => response.writeHead(500).end());
    const gateway = await open({ auth: { jwks: { url, audience: "roomtap" } } });
    const jwt = await signed();
    expect(await show(gateway, jwt).closed).toEqual({ code: 1011, reason: "internal_error" });
    expect(gateway.host.notices.map(({ code }) => code)).toEqual(["internal"]);
    expect(JSON.stringify(gateway.host.notices)).not.toContain(jwt);
  });

  it("that has changed ends those who came by the one before, and a renewed JWT goes on", async () => {
    const gateway = await open();
    const first = show(gateway, await signed());
    const { params } = (await first.next()) as unknown as {
      params: { payload: { resume_token: string; origin: string } };
    };
    const { resume_token, origin } = params.payload;
    const renewed = `Bearer ${await signed({ exp: now + 120 })}`;
    const url = `ws://127.0.0.1:${gateway.port}/api/ws?resume=${resume_token}`;
    const second = new RawSocket(url, { headers: { authorization: renewed } });
    expect(await second.next()).toMatchObject({ params: { payload: { origin, resumed: true } } });
    const jwks = { keys: [keys.jwk], audience: "roomtap" };
    expect(gateway.gateway.reload({ jwks })).toBe(0);
    expect(gateway.gateway.reload({ jwks: { ...jwks, audience: "else" } })).toBe(1);
    expect(await second.closed).toEqual({ code: 4401, reason: "credentials_rotated" });
  });

  it("that goes while a JWT is looked at lets nobody in", async () => {
    const asked = new Signal();
    let answer: () => void = () => undefined;
    const url = await keyServer((_request, response) => {
      answer = () => void response.end(JSON.stringify({ keys: [keys.jwk] }));
      asked.fire();
    });
    const auth = { token: "a-token-of-sixteen", jwks: { url, audience: "roomtap" } };
    const gateway = await open({ auth });
    const socket = show(gateway, await signed());
    await asked.fired;
    expect(gateway.gateway.reload({ jwks: null })).toBe(0);
    answer();
    expect(await socket.closed).toEqual({ code: 4401, reason: "credentials_rotated" });
    expect(socket.frames).toEqual([]);
  });

  it("may go, when there are tokens", async () => {
    const gateway = await open({
      auth: { token: "a-token-of-sixteen", jwks: { keys: [keys.jwk], audience: "roomtap" } },
    });
    const socket = show(gateway, await signed());
    await socket.next();
    await show(gateway, "a-token-of-sixteen").next();
    expect(gateway.gateway.reload({ jwks: null })).toBe(1);
    expect((await socket.closed).reason).toBe("credentials_rotated");
    expect((await show(gateway, await signed()).closed).reason).toBe("token_mismatch");
  });
});
