import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { createClient, LinkError } from "../../../plugins/client/index.ts";
import { openHost } from "../../support/open-host.ts";
import { principals, tokenOf } from "../../support/principals.ts";
import { realClient } from "../../support/real-client.ts";

/** What a page's own server does for it. */
async function mint(port: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/api/auth/ws-ticket`, {
    method: "POST",
    headers: { Authorization: `Bearer ${tokenOf("page")}` },
  });
  const { ticket } = (await response.json()) as { readonly ticket: string };
  return ticket;
}

describe("a client that comes by tickets", () => {
  it("gets one for each attempt, and is the same client after a drop", async () => {
    const { port } = await openHost({ gateway: { auth: principals({ page: {} }) } });
    const tickets: string[] = [];
    const ticket = async (): Promise<string> => {
      tickets.push(await mint(port));
      return tickets.at(-1) ?? "";
    };
    const { client, drop } = await realClient({ url: `ws://127.0.0.1:${port}/api/ws` }, { token: undefined, ticket });
    const { origin } = client;
    const back = new Promise<void>((resolve) => client.onState((state) => void (state === "open" && resolve())));
    drop();
    await back;
    expect([client.origin, tickets.length, new Set(tickets).size]).toEqual([origin, 2, 2]);
    await expect(client.call("session.list", {})).resolves.toMatchObject({ sessions: [] });
  });

  it("says why when there is none to be had", async () => {
    const client = createClient({
      url: "ws://127.0.0.1:9/api/ws",
      ticket: () => Promise.reject(new Error("signed out")),
      WebSocket,
    });
    onTestFinished(() => client.close());
    const fault = await client.connect().catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(LinkError);
    expect((fault as LinkError).message).toContain("signed out");
  });
});
