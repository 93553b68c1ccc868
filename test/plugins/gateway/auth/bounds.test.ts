import { describe, expect, it } from "vitest";
import { manualClock } from "../../../../core/index.ts";
import { openHost } from "../../../support/open-host.ts";
import { openGateway } from "../../../support/open-gateway.ts";
import { principals, tokenOf } from "../../../support/principals.ts";
import { RawSocket } from "../../../support/raw-socket.ts";
import { turnsOfLoop, until } from "../../../support/turns-of-loop.ts";

describe("a silent connection", () => {
  it("S57 is kept for two intervals, and closed behind them", async () => {
    const clock = manualClock();
    const { gateway, connect } = await openGateway({ clock });
    const socket = await connect();
    socket.ws.pause();
    clock.advance(60_000);
    expect(gateway.connections).toBe(1);
    clock.advance(1);
    expect(gateway.connections).toBe(0);
    socket.ws.resume();
    expect(await socket.closed).toEqual({ code: 4408, reason: "liveness_timeout" });
  });

  it("S57 is kept for ever without an interval", async () => {
    const clock = manualClock();
    const { gateway, connect } = await openGateway({ clock, pingIntervalMs: 0 });
    const socket = await connect();
    socket.ws.pause();
    clock.advance(86_400_000);
    expect(gateway.connections).toBe(1);
  });

  it("S57 is kept by its pongs alone", async () => {
    const clock = manualClock();
    const { gateway, connect } = await openGateway({ clock });
    const socket = await connect();
    let pings = 0;
    socket.ws.on("ping", () => void pings++);
    for (let interval = 1; interval <= 4; interval++) {
      clock.advance(30_000);
      await until(() => pings === interval);
      // The pong is on its way: both ends are in this process.
      await turnsOfLoop(20);
    }
    clock.advance(60_000);
    expect(gateway.connections).toBe(1);
    clock.advance(1);
    expect(gateway.connections).toBe(0);
  });

  it.each([{ pingIntervalMs: -1 }, { maxSilentPings: 0 }, { pingIntervalMs: Number.NaN }, { maxTickets: 0 }])(
    "is no business of %j: that is no bound",
    async (options) => {
      await expect(openGateway(options)).rejects.toMatchObject({ code: "invalid_config" });
    },
  );
});

describe("an address", () => {
  it("S58 that shows ten wrong tokens is locked out for 300 s, with a right one too", async () => {
    const clock = manualClock();
    const { port, gateway } = await openGateway({ clock, host: "0.0.0.0", allowedOrigins: [] });
    const show = async (token: string): Promise<unknown> => {
      const socket = new RawSocket(`ws://127.0.0.1:${port}/api/ws`, { headers: { authorization: `Bearer ${token}` } });
      const ended = socket.closed.then(({ code, reason }) => `${code} ${reason}`);
      return Promise.race([socket.next().then(() => "ready"), ended]).catch(() => ended);
    };
    for (let count = 0; count < 9; count++) expect(await show("wrong")).toBe("4401 token_mismatch");
    expect(await show(gateway.token)).toBe("ready");
    expect(await show("wrong")).toBe("4401 token_mismatch");
    expect(await show(gateway.token)).toBe("4429 upgrade_rate");
    clock.advance(299_999);
    expect(await show(gateway.token)).toBe("4429 upgrade_rate");
    clock.advance(1);
    expect(await show(gateway.token)).toBe("ready");
    expect(gateway.count("upgrade_rate")).toBe(2);
  });
});

describe("a connection that is refused", () => {
  it("S58 for its scope ten times in a minute is closed, and one that stops nothing stays", async () => {
    const auth = principals({ reader: { scopes: ["read"] }, writer: {} });
    const { connect, gateway } = await openHost({ gateway: { auth } });
    const reader = await connect({ token: tokenOf("reader") });
    const call = (): Promise<unknown> => reader.refused("prompt.submit", { session_id: "s1", text: "x" });
    for (let count = 0; count < 9; count++) expect(await call()).toEqual([4300, "insufficient_scope"]);
    expect(await reader.call("gateway.ping")).toEqual({ ok: true });
    void call().catch(() => undefined);
    expect(await reader.closed).toEqual({ code: 4429, reason: "denied_flood" });
    const writer = await connect({ token: tokenOf("writer") });
    const { session_id } = await writer.call("session.create");
    for (let count = 0; count < 20; count++) {
      expect(await writer.call("session.interrupt", { session_id })).toEqual({ status: "not_interrupted" });
    }
    expect([await writer.call("gateway.ping"), gateway.count("denied_flood")]).toEqual([{ ok: true }, 1]);
  });
});

describe("connections of a principal", () => {
  it("S59 are 64, and those of another are not among them", async () => {
    const { port, gateway } = await openGateway({ auth: principals({ laptop: {}, phone: {} }) });
    const show = (name: string) => new RawSocket(`ws://127.0.0.1:${port}/api/ws?token=${tokenOf(name)}`);
    const sockets = Array.from({ length: 63 }, () => show("laptop"));
    await Promise.all(sockets.map((socket) => socket.next()));
    await show("laptop").next();
    expect(await show("laptop").closed).toEqual({ code: 4429, reason: "connection_limit" });
    await show("phone").next();
    sockets[0]?.ws.terminate();
    await until(() => gateway.connections === 64);
    await show("laptop").next();
    expect(gateway.count("connection_limit")).toBe(1);
  });
});
