import { describe, expect, it } from "vitest";
import { limits, manualClock, type Session } from "../../../core/index.ts";
import type { Authenticate } from "../../../plugins/gateway/index.ts";
import { openGateway, type OpenGateway } from "../../support/open-gateway.ts";
import { RawSocket } from "../../support/raw-socket.ts";
import { until } from "../../support/turns-of-loop.ts";

interface Ready {
  readonly origin: string;
  readonly resume_token: string;
  readonly resumed: boolean;
}

/** The principal is the token. */
const byToken: Authenticate = ({ value }) => ({ principal: value, generation: "g1", scopes: ["admin"], grants: [] });

/** A connection, with what its first frame says. */
async function connect(open: OpenGateway, query = ""): Promise<{ socket: RawSocket; ready: Ready }> {
  const socket = new RawSocket(open.url + query);
  const { params } = (await socket.next()) as unknown as { params: { payload: Ready } };
  return { socket, ready: params.payload };
}

/** A session, with the newest connection attached to it. */
function attachedSession({ host }: OpenGateway): Session {
  const session = host.tap.sessions.open("s1", { roomPlumbing: false });
  const client = host.clients.at(-1);
  if (client === undefined) throw new Error("nobody has come");
  host.fanOut.attach(client, session, { after: session.seq });
  return session;
}

async function drop(socket: RawSocket): Promise<void> {
  socket.ws.terminate();
  await socket.closed;
}

describe("a resume token", () => {
  it("W22 that was used gives a new id", async () => {
    const open = await openGateway();
    const first = await connect(open);
    const second = await connect(open, `&resume=${first.ready.resume_token}`);
    const third = await connect(open, `&resume=${first.ready.resume_token}`);
    expect(second.ready).toMatchObject({ origin: first.ready.origin, resumed: true });
    expect(third.ready.resumed).toBe(false);
    expect(third.ready.origin).not.toBe(first.ready.origin);
    expect(await third.socket.call("gateway.ping")).toMatchObject({ result: { ok: true } });
  });

  it.each([
    [limits.resumeTokenMs - 1, true],
    [limits.resumeTokenMs, true],
    [limits.resumeTokenMs + 1_000, false],
  ])("W22 is valid %i ms after the drop: %s", async (ms, resumed) => {
    const clock = manualClock();
    const open = await openGateway({ clock, pingIntervalMs: 0 });
    const first = await connect(open);
    clock.advance(1_000_000);
    await drop(first.socket);
    await gone(open);
    clock.advance(ms);
    const second = await connect(open, `&resume=${first.ready.resume_token}`);
    expect(second.ready.resumed).toBe(resumed);
    expect(second.ready.origin === first.ready.origin).toBe(resumed);
    expect(await second.socket.call("gateway.ping")).toMatchObject({ result: { ok: true } });
  });

  it("W22 of another principal gives a new id, and stays its owner's", async () => {
    const open = await openGateway({ authenticate: byToken });
    const first = await connect(open);
    const stranger = new RawSocket(`ws://127.0.0.1:${open.port}/api/ws?token=other&resume=${first.ready.resume_token}`);
    expect(await stranger.next()).toMatchObject({ params: { payload: { resumed: false } } });
    expect(await stranger.call("gateway.ping")).toMatchObject({ result: { ok: true } });
    const second = await connect(open, `&resume=${first.ready.resume_token}`);
    expect(second.ready).toMatchObject({ origin: first.ready.origin, resumed: true });
  });

  it("that nobody gave out is no error", async () => {
    const open = await openGateway();
    expect((await connect(open, "&resume=")).ready.resumed).toBe(false);
    expect((await connect(open, "&resume=__proto__")).ready.resumed).toBe(false);
  });

  it("brings back what was attached, and what was advertised", async () => {
    const open = await openGateway();
    const { host } = open;
    const first = await connect(open);
    await first.socket.call("client.capabilities", { server_requests: true });
    const session = attachedSession(open);
    await drop(first.socket);
    await gone(open);
    expect(host.fanOut.attached(session)).toEqual([]);
    const second = await connect(open, `&resume=${first.ready.resume_token}`);
    expect(host.fanOut.attached(session)).toEqual(host.clients);
    expect(host.clients[0]?.advertises).toBe(true);
    emit(open, session);
    expect(await second.socket.next()).toMatchObject({ params: { session_id: session.runtimeId, seq: 1 } });
  });

  it("W23 of a connection that is half open takes its place", async () => {
    const clock = manualClock();
    const open = await openGateway({ clock, pingIntervalMs: 0, maxConnections: 1 });
    const { host, gateway } = open;
    const first = await connect(open);
    const session = attachedSession(open);
    first.socket.ws.pause();
    const second = await connect(open, `&resume=${first.ready.resume_token}`);
    expect(second.ready).toMatchObject({ origin: first.ready.origin, resumed: true });
    clock.advance(limits.closeGraceMs);
    first.socket.ws.resume();
    expect(await first.socket.closed).toEqual({ code: 4409, reason: "replaced" });
    expect(host.fanOut.attached(session)).toEqual(host.clients);
    expect([host.clients.length, gateway.connections, gateway.count("replaced")]).toEqual([1, 1, 1]);
    emit(open, session);
    clock.tick();
    expect(await second.socket.next()).toMatchObject({ params: { session_id: session.runtimeId, seq: 1 } });
  });
});

/** Resolves when the server has noticed that everybody has gone. */
function gone({ host }: OpenGateway): Promise<void> {
  return until(() => host.clients.length === 0);
}

function emit({ host }: OpenGateway, session: Session): void {
  const params = { type: "notice", session_id: session.runtimeId, payload: { message: "hello" } };
  host.tap.seam.writeJson({ jsonrpc: "2.0", method: "event", params });
}
