import { describe, expect, it } from "vitest";
import { createRedactor, manualClock } from "../../../core/index.ts";
import type { Logger } from "../../../plugins/index.ts";
import { auditTo } from "../../../plugins/gateway/index.ts";
import { openHost } from "../../support/open-host.ts";
import { principals, tokenOf } from "../../support/principals.ts";

interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A log that keeps its lines. */
function keptLog(): { readonly logger: Logger; readonly lines: Line[] } {
  const lines: Line[] = [];
  const at =
    (level: string) =>
    (message: string, fields = {}): void =>
      void lines.push({ level, message, fields });
  return { lines, logger: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") } };
}

describe("the audit trail of a host", () => {
  it("has who came and went, what was granted and what was refused", async () => {
    const { logger, lines } = keptLog();
    const auth = principals({
      laptop: { scopes: ["read", "write", "admin"], rooms: ["r1"] },
      phone: { scopes: ["read"] },
    });
    const { connect, port } = await openHost({ logger, gateway: { auth } });
    const laptop = await connect({ token: tokenOf("laptop") });
    const phone = await connect({ token: tokenOf("phone") });
    const { session_id } = await laptop.call("session.create");
    await phone.refused("session.close", { session_id: "s1" });
    await laptop.refused("groups.state", { room_id: "r2" });
    await expect(connect({ token: "wrong" })).rejects.toThrow("the socket closed before it came");
    await fetch(`http://127.0.0.1:${port}/api/auth/ws-ticket`, {
      method: "POST",
      headers: { authorization: `Bearer ${tokenOf("phone")}` },
    });
    await phone.drop();
    await laptop.settled();
    const [a, b] = [laptop.origin, phone.origin];
    const address = "127.0.0.1";
    const came = { audit: "granted", what: "connection", address, by: "gw_****cdef", resumed: false };
    expect(lines.map(({ level, message, fields }) => [level, message, fields])).toEqual([
      [
        "info",
        "connection granted",
        { ...came, client_id: a, principal: "laptop", scopes: ["read", "write", "admin"], rooms: ["r1"] },
      ],
      ["info", "connection granted", { ...came, client_id: b, principal: "phone", scopes: ["read"], rooms: null }],
      [
        "info",
        "call granted",
        { audit: "granted", what: "call", method: "session.create", client_id: a, principal: "laptop" },
      ],
      [
        "warn",
        "call refused",
        {
          ...{ audit: "refused", what: "call", method: "session.close", client_id: b, principal: "phone" },
          ...{ session_id: "s1", reason: "insufficient_scope", required_scope: "write" },
        },
      ],
      [
        "warn",
        "call refused",
        {
          ...{ audit: "refused", what: "call", method: "groups.state", client_id: a, principal: "laptop" },
          ...{ room_id: "r2", reason: "not_granted" },
        },
      ],
      ["warn", "connection refused", { audit: "refused", what: "connection", reason: "token_mismatch", address }],
      ["info", "ticket granted", { audit: "granted", what: "ticket", principal: "phone", address }],
      [
        "info",
        "connection ended",
        { audit: "ended", what: "connection", client_id: b, principal: "phone", reason: "gone" },
      ],
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/gw-(laptop|phone)-/);
    expect(session_id).toBeDefined();
  });
});

describe("a line of the trail", () => {
  it("has no secret in it, whatever was written there", () => {
    const { logger, lines } = keptLog();
    const redactor = createRedactor({ literals: ["a-secret-of-sixteen"] });
    const audit = auditTo(logger, { redactor, now: () => 0 });
    audit("granted", "call", { room_id: "a-secret-of-sixteen", token: "short" });
    expect(lines[0]?.fields).toEqual({ audit: "granted", what: "call", room_id: "[redacted]", token: "[redacted]" });
  });

  it("is left out of a flood of refusals, and counted", () => {
    const { logger, lines } = keptLog();
    const clock = manualClock();
    const audit = auditTo(logger, { redactor: createRedactor(), now: () => clock.monotonic() });
    for (let count = 0; count < 603; count++) audit("refused", "connection", { reason: "upgrade_rate" });
    audit("granted", "connection", {});
    expect(lines).toHaveLength(601);
    clock.advance(60_000);
    audit("refused", "connection", { reason: "no_credential" });
    audit("refused", "connection", { reason: "no_credential" });
    expect(lines.slice(-2).map(({ fields }) => fields["left_out"])).toEqual([3, undefined]);
  });
});
