import { describe, expect, it } from "vitest";
import type { Scope } from "../../../core/index.ts";
import { consumersCommand } from "../../../plugins/inspector/commands/consumers.ts";
import { autoGateway } from "../../support/auto-gateway.ts";
import { countingClock } from "../../support/counting-clock.ts";
import { collectedOutput } from "../../support/collected-output.ts";
import { refuse, type Answers } from "../../support/fake-gateway.ts";
import { openHost } from "../../support/open-host.ts";
import { settled } from "../../support/wire-client.ts";

const stats = {
  ...{ id: "evil\u001b[2J", published: 9, delivered: 7, merged: 1, dropped: 1, dropped_by_kind: {} },
  ...{ gaps: 1, failures: { thrown: 1, rejected: 1, stalled: 2 }, depth: 4, bytes: 77, oldest_age_ms: 1_500 },
  ...{ lagging: true, running: 3, handler_ms: { p50: 0.1, p99: 0.4 } },
};

function started(changes: { readonly json?: boolean; readonly watch?: boolean } = {}, answers: Answers = {}) {
  const gateway = autoGateway({ "consumers.list": () => ({ at: 0, consumers: [stats] }), ...answers });
  const [output, stop, clock] = [collectedOutput(), new AbortController(), countingClock(0)];
  const options = {
    ...{ url: "ws://h/api/ws", token: "t", json: false, WebSocket: gateway.WebSocket, runtimeFolder: "/nowhere" },
    ...{ watch: false, intervalMs: 1_000 },
    ...changes,
  };
  return { gateway, output, stop, clock, status: consumersCommand(options, output, stop.signal, clock) };
}

describe("consumers", () => {
  it("are a table", async () => {
    const { output, status } = started();
    expect(await status).toBe(0);
    expect(output.lines).toEqual([
      "CONSUMER  DEPTH  BYTES  OLDEST  DELIVERED  MERGED  DROPPED  GAPS  FAILED    P99  STATE",
      "evil\u{fffd}[2J      4     77   1.5 s          7       1        1     1       2  <1 ms  lagging, stalled 2, running 3",
    ]);
  });

  it("are one JSON list, and one for each interval with --watch", async () => {
    const once = started({ json: true });
    expect([await once.status, once.output.lines.length, once.output.json()]).toEqual([0, 1, [stats]]);
    const { output, status, clock, stop } = started({ json: true, watch: true });
    await settled();
    clock.advance(1_000);
    await settled();
    stop.abort(130);
    expect([await status, output.lines.length, clock.pending()]).toEqual([130, 2, 0]);
  });

  it("are refused to whoever lacks the scope", async () => {
    const { status } = started(
      {},
      {
        "consumers.list": () => {
          throw refuse(4300, "insufficient_scope");
        },
      },
    );
    await expect(status).rejects.toMatchObject({ code: "insufficient_scope" });
  });
});

describe("consumers.list", () => {
  it("gives ids and counters of all consumers to admin alone, and no payload", async () => {
    const host = await openHost({
      gateway: {
        authenticate: ({ value }) => ({
          ...{ principal: "local", generation: "1", grants: [] },
          scopes: value.split(",") as Scope[],
        }),
      },
    });
    host.tap.observe({ id: "mine", handler: () => undefined });
    const admin = await host.connect({ token: "admin" });
    expect(await admin.call("consumers.list")).toMatchObject({
      at: expect.any(Number) as number,
      consumers: [{ id: "mine", published: 0, depth: 0, handler_ms: null }],
    });
    const reader = await host.connect({ token: "read,write,approvals" });
    expect(await reader.refused("consumers.list")).toEqual([4300, "insufficient_scope"]);
  });
});
