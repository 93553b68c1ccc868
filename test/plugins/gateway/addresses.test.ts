import { describe, expect, it } from "vitest";
import { isLoopback, judgeApproach, peerAddress } from "../../../plugins/gateway/addresses.ts";

describe("loopback", () => {
  it.each([
    ["127.0.0.1", true],
    ["127.255.0.9", true],
    ["::1", true],
    ["[::1]", true],
    ["0:0:0:0:0:0:0:1", true],
    ["::ffff:127.0.0.1", true],
    ["::ffff:7f00:1", true],
    ["LOCALHOST", true],
    ["0.0.0.0", false],
    ["::", false],
    ["10.0.0.1", false],
    ["192.168.1.1", false],
    ["::ffff:10.0.0.1", false],
    ["127.0.0.1.example", false],
    ["localhost.example", false],
    ["127.1", false],
    ["", false],
    ["::1%lo", true],
    ["not an address", false],
  ])("is %s: %s", (host, expected) => {
    expect(isLoopback(host)).toBe(expected);
  });

  it("counts a mapped address as the one it is", () => {
    expect(["::ffff:10.0.0.1", "::1", undefined].map(peerAddress)).toEqual(["10.0.0.1", "::1", "unknown"]);
  });
});

describe("who may come at all", () => {
  const local = { boundHost: "127.0.0.1", localAddress: "127.0.0.1", isEncrypted: false };
  const open = { boundHost: "0.0.0.0", localAddress: "10.0.0.5", isEncrypted: false };
  const page = "https://page.example";

  it.each([
    [local, "127.0.0.1:8080", undefined, [], undefined, null],
    [local, "localhost:8080", undefined, [], undefined, null],
    [local, "[::1]:8080", undefined, [], undefined, null],
    [local, undefined, undefined, [], undefined, "host_not_allowed"],
    [local, "", undefined, [], undefined, "host_not_allowed"],
    [local, "rebind.example", undefined, [], undefined, "host_not_allowed"],
    [local, "10.0.0.5", undefined, [], undefined, "host_not_allowed"],
    [local, "a@127.0.0.1", undefined, [], undefined, "host_not_allowed"],
    [local, "127.0.0.1/x", undefined, [], undefined, "host_not_allowed"],
    [local, "named.example", undefined, ["named.example"], undefined, null],
    [open, "10.0.0.5:8080", undefined, [], [], null],
    [open, "rebind.example", undefined, [], [], "host_not_allowed"],
    [open, "page.example", undefined, [], [page], null],
    [open, "127.0.0.1", undefined, [], [], "host_not_allowed"],
    [local, "127.0.0.1:8080", "http://127.0.0.1:8080", [], undefined, null],
    [local, "127.0.0.1:80", "http://127.0.0.1", [], undefined, null],
    [local, "127.0.0.1:8080", "http://127.0.0.1:8081", [], undefined, "origin_not_allowed"],
    [local, "127.0.0.1:8080", "https://127.0.0.1:8080", [], undefined, "origin_not_allowed"],
    [local, "127.0.0.1:8080", "null", [], undefined, "origin_not_allowed"],
    [local, "127.0.0.1:8080", "null", [], ["null"], null],
    [local, "127.0.0.1:8080", "null", [], ["*"], null],
    [local, "127.0.0.1:8080", page, [], ["*"], null],
    [local, "127.0.0.1:8080", page, [], [`${page}:443`], null],
    [local, "127.0.0.1:8080", page, [], ["http://page.example"], "origin_not_allowed"],
    [local, "127.0.0.1:8080", page, [], [], "origin_not_allowed"],
    [local, "127.0.0.1:8080", "no origin", [], [page], "origin_not_allowed"],
    [{ ...open, isEncrypted: true }, "10.0.0.5", "https://10.0.0.5", [], undefined, null],
  ] as const)(
    "%o asked for %s from %s, with %o and %o: %s",
    (where, host, origin, allowedHosts, allowedOrigins, verdict) => {
      expect(judgeApproach({ ...where, host, origin }, { allowedHosts, allowedOrigins })).toBe(verdict);
    },
  );
});
