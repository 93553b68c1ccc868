import { describe, expect, it } from "vitest";
import { presentedCredential, weaknessOf, type UpgradeHead } from "../../../plugins/gateway/credentials.ts";

function shown(head: { query?: string; authorization?: string; protocols?: string; proxy?: true }): unknown {
  const { query = "", authorization, protocols, proxy } = head;
  const read: UpgradeHead = {
    authorization,
    protocols,
    query: new URLSearchParams(query),
    allowsQueryToken: proxy !== true,
  };
  return presentedCredential(read);
}

const token = (value: string): unknown => ({ kind: "token", value });
const ticket = (value: string): unknown => ({ kind: "ticket", value });

describe("the credential of an upgrade", () => {
  it.each([
    [{}, "no_credential"],
    [{ authorization: "Bearer abc" }, token("abc")],
    [{ authorization: "bearer  abc " }, token("abc")],
    [{ authorization: "Basic abc" }, "no_credential"],
    [{ authorization: "Bearer " }, "no_credential"],
    [{ query: "token=abc" }, token("abc")],
    [{ query: "token=abc", proxy: true }, "no_credential"],
    [{ authorization: "Bearer abc", proxy: true }, token("abc")],
    [{ query: "ticket=t1", proxy: true }, ticket("t1")],
    [{ protocols: "hermes-gateway-v1, hermes-gateway-ticket.t1" }, ticket("t1")],
    [{ protocols: "hermes-gateway-ticket.t1,hermes-gateway-v1" }, ticket("t1")],
    [{ protocols: "hermes-gateway-ticket.t1" }, "ticket_invalid"],
    [{ protocols: "hermes-gateway-v1, hermes-gateway-ticket.t1, hermes-gateway-ticket.t2" }, "ticket_invalid"],
    [{ protocols: "hermes-gateway-v1", query: "token=abc" }, token("abc")],
    [{ authorization: "Bearer abc", query: "token=abc" }, "credential_ambiguous"],
    [{ authorization: "Bearer abc", query: "token=abc", proxy: true }, "credential_ambiguous"],
    [{ authorization: "Bearer abc", query: "ticket=t1" }, "credential_ambiguous"],
    [{ query: "token=a&token=b" }, "credential_ambiguous"],
    [{ query: "ticket=a&token=b" }, "credential_ambiguous"],
    [{ query: "token=abc&resume=r1" }, token("abc")],
  ] as const)("of %o is %o", (head, expected) => {
    expect(shown(head)).toEqual(expected);
  });
});

describe("a token", () => {
  it.each([
    ["x".repeat(15) + "y", null],
    ["0123456789abcde", "it has fewer than 16 characters"],
    ["a".repeat(16), "it is one character, repeated"],
    [" Change-Me ", "it is a common word"],
    ["$(openssl rand -hex 32)", "it is a place-holder that nobody filled in"],
    ["<paste your token here>", "it is a place-holder that nobody filled in"],
  ])("%s is weak because: %s", (value, why) => {
    expect(weaknessOf(value)).toBe(why);
  });
});
