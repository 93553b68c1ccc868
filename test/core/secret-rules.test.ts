import { describe, expect, it } from "vitest";
import { isSecretKey } from "../../core/secret-rules.ts";
import { createRedactor, secretsOfEnvironment } from "../../core/index.ts";

describe("secrets by name", () => {
  it.each([
    "authorization",
    "Proxy-Authorization",
    "apiKey",
    "X-API-KEY",
    "api_key",
    "db_password",
    "token",
    "accessToken",
    "client_secret",
    "Set-Cookie",
    "cookies",
    "session_cookies",
    "secrets",
    "AWS_SECRET_ACCESS_KEY",
    "secretAccessKey",
    "OPENAI_KEY",
    "secret_key",
    "secret-key",
    "private_key",
    "privateKey",
    "access_key",
    "encryption_key",
    "passwd",
    "passwords",
    "passphrase",
    "password_hash",
    "passwordHash",
    "refreshToken",
  ])("are values under the key %s", (key) => {
    expect(isSecretKey(key)).toBe(true);
  });

  it.each([
    ["max_tokens", "total_tokens", "tokens", "tokenizer", "token_count"],
    ["key", "keys", "KEY", "keyboard", "monkey", "primary_key", "PRIMARY_KEY", "foreign_key", "public_key"],
    ["PUBLIC_KEY", "MY_CACHE_KEY", "sort_key", "cacheKey", "key_id", "idempotency_key"],
    ["passwords_changed", "password_length", "author", "secretary", "cookie_count", "cwd", "pwd"],
  ])("are not values under the key %s and such", (...keys) => {
    expect(keys.filter(isSecretKey)).toEqual([]);
  });

  it("are the values of an environment whose names say so, as far as they can be masked", () => {
    const environment = {
      OPENAI_API_KEY: "abcdefghij",
      db_password: "hunter2hunter2",
      MY_TOKEN: "short",
      UNSET_SECRET: undefined,
      HOME: "/home/somebody",
    };
    expect(secretsOfEnvironment(environment)).toEqual(["abcdefghij", "hunter2hunter2"]);
  });
});

describe("a rule", () => {
  it.each([
    [{ prefixes: [""], chars: "a", min: 1, max: 2 }],
    [{ prefixes: ["x"], chars: "a", min: 3, max: 2 }],
    [{ prefixes: ["x"], chars: "a", min: -1, max: 2 }],
  ])("is refused when it is none: %j", (rule) => {
    expect(() => createRedactor({ rules: [rule] })).toThrow(expect.objectContaining({ code: "invalid_params" }));
  });

  it("masks from its least to its greatest length, and shows what is behind", () => {
    const redactor = createRedactor({ rules: [{ prefixes: ["pin-"], chars: "0-9", min: 2, max: 4 }] });
    expect(["pin-1", "pin-12", "pin-1234", "pin-12345", "spin-12"].map((text) => redactor.text(text))).toEqual([
      "pin-1",
      "[redacted]",
      "[redacted]",
      "[redacted]5",
      "spin-12",
    ]);
  });
});
