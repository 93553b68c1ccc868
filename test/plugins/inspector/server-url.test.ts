import { describe, expect, it } from "vitest";
import { leadsTo, parseServerUrl } from "../../../plugins/inspector/server-url.ts";

describe("the URL of a server", () => {
  it.each(["ws://h:1/api/ws", "wss://h/api/ws", "wss://h/behind/a/proxy/api/ws", "ws://h:1/api/ws?token=t"])(
    "may be %s",
    (text) => {
      expect(parseServerUrl(text, "--url").href).toBe(text);
    },
  );

  it.each([
    ["h", "--url", "--url: Invalid URL"],
    ["", "--url", "--url: Invalid URL"],
    ["http://h/api/ws", "ROOMTAP_URL", "ROOMTAP_URL: expected a URL of ws: or wss:, got http:"],
    ["ws://h:1", "--url", "--url: expected the path /api/ws, as in ws://h:1/api/ws, got /"],
    ["ws://h:1/?token=secret", "--url", "--url: expected the path /api/ws, as in ws://h:1/api/ws, got /"],
    ["ws://h:1/api/ws/", "--url", "--url: expected the path /api/ws, as in ws://h:1/api/ws, got /api/ws/"],
  ])("may not be %j, which is named by %s", (text, name, message) => {
    const refusal = expect.objectContaining({ code: "invalid_params", message }) as Error;
    expect(() => parseServerUrl(text, name)).toThrow(refusal);
  });
});

describe("the server that a URL leads to", () => {
  it.each([
    ["ws://127.0.0.1:4173/api/ws", "ws://127.0.0.1:4173/api/ws", true],
    ["ws://localhost:4173/api/ws", "ws://127.0.0.1:4173/api/ws", true],
    ["ws://localhost:4173/api/ws", "ws://[::1]:4173/api/ws", true],
    ["ws://127.0.0.1:4173/api/ws", "ws://localhost:4173/api/ws", true],
    ["ws://[::1]:4173/api/ws", "ws://127.0.0.1:4173/api/ws", false],
    ["ws://localhost:4174/api/ws", "ws://127.0.0.1:4173/api/ws", false],
    ["ws://localhost:4173/api/ws", "ws://0.0.0.0:4173/api/ws", false],
    ["ws://localhost:4173/api/ws", "ws://127.0.0.1.example:4173/api/ws", false],
    ["wss://localhost:4173/api/ws", "ws://127.0.0.1:4173/api/ws", false],
    ["ws://localhost:4173/x/api/ws", "ws://127.0.0.1:4173/api/ws", false],
    ["ws://127.0.0.1:4173/api/ws?token=t", "ws://127.0.0.1:4173/api/ws", false],
    ["ws://127.0.0.1:4173/api/ws", "no URL", false],
  ])("%s: the one at %s: %s", (given, listening, expected) => {
    expect(leadsTo(new URL(given), listening)).toBe(expected);
  });
});
