import { describe, expect, it } from "vitest";
import { gatewayDefaults, limits, manualClock } from "../../../../core/index.ts";
import { openHost, type OpenHost } from "../../../support/open-host.ts";
import { principals } from "../../../support/principals.ts";
import { RawSocket } from "../../../support/raw-socket.ts";

const page = "https://page.example";
const options = { allowedOrigins: [page] };

/** How an upgrade with this ticket goes, from a page of this origin: `ready`, or the word that it is closed with. */
async function upgrade({ port }: OpenHost, ticket: string, origin?: string): Promise<string> {
  const headers = origin === undefined ? {} : { origin };
  const socket = new RawSocket(`ws://127.0.0.1:${port}/api/ws?ticket=${ticket}`, { headers });
  const ended = socket.closed.then(({ reason }) => reason);
  return Promise.race([socket.next().then(() => "ready"), ended]).catch(() => ended);
}

async function nextTicket(host: OpenHost, origin?: string): Promise<string> {
  const { gateway, port } = host;
  const headers = origin === undefined ? {} : { origin };
  const socket = new RawSocket(`ws://127.0.0.1:${port}/api/ws?token=${gateway.token}`, { headers });
  await socket.next();
  socket.ws.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "gateway.ticket" }));
  const { result } = (await socket.next()) as { result?: { ticket: string; expires_in: number } };
  expect(result?.expires_in).toBe(300);
  return result?.ticket ?? "";
}

describe("a ticket of a connection that stands", () => {
  it("lets its principal in again, once", async () => {
    const host = await openHost();
    const ticket = await nextTicket(host);
    expect(await upgrade(host, ticket)).toBe("ready");
    expect(await upgrade(host, ticket)).toBe("ticket_invalid");
  });

  it("is good for the page alone that the connection was made by", async () => {
    const host = await openHost({ gateway: options });
    const ticket = await nextTicket(host, page);
    expect(await upgrade(host, ticket)).toBe("ticket_invalid");
    expect(await upgrade(host, ticket, page)).toBe("ready");
  });

  it.each([
    [limits.resumeTokenMs, "ready"],
    [limits.resumeTokenMs + 1, "ticket_invalid"],
  ])("after %i ms gives %s", async (ms, word) => {
    const clock = manualClock();
    const host = await openHost({ clock });
    const ticket = await nextTicket(host);
    clock.advance(ms);
    expect(await upgrade(host, ticket)).toBe(word);
  });

  it("is refused when too many wait to be used", async () => {
    const host = await openHost();
    const client = await host.connect();
    for (let count = 0; count < gatewayDefaults.maxTicketsPerPrincipal; count++) await client.call("gateway.ticket");
    const { error } = await client.ask("gateway.ticket", {});
    expect(error?.data.reason).toBe("rate_limited");
  });
});

describe("a link", () => {
  it("opens a page once, signed in by a ticket in its fragment", async () => {
    const host = await openHost();
    const { hash, origin, pathname } = new URL(await host.gateway.link(`http://127.0.0.1:${host.port}`));
    expect([origin, pathname]).toEqual([`http://127.0.0.1:${host.port}`, "/"]);
    const ticket = /^#ticket=(\S+)$/.exec(hash)?.[1] ?? "";
    expect(await upgrade(host, ticket, origin)).toBe("ready");
    expect(await upgrade(host, ticket, origin)).toBe("ticket_invalid");
  });

  it.each([
    [gatewayDefaults.linkMs, "ready"],
    [gatewayDefaults.linkMs + 1, "ticket_invalid"],
  ])("after %i ms gives %s", async (ms, word) => {
    const clock = manualClock();
    const host = await openHost({ clock });
    const link = await host.gateway.link("http://h");
    // Others that are made meanwhile, and run out before it, do not keep it.
    await (await host.connect()).call("gateway.ticket");
    clock.advance(ms);
    expect(await upgrade(host, link.slice("http://h/#ticket=".length))).toBe(word);
  });

  it("is the link alone where several tokens let in", async () => {
    const host = await openHost({ gateway: { auth: principals({ laptop: {}, phone: {} }) } });
    expect(await host.gateway.link("http://h")).toBe("http://h/");
  });
});
