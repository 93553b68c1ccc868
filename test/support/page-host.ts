import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, onTestFinished } from "vitest";
import { inspectorPage } from "../../plugins/index.ts";
import { openHost, type OpenHost, type OpenHostOptions } from "./open-host.ts";
import { rootFolder } from "./repository.ts";

/** Where pictures of the views go; git ignores it. */
const shotsFolder = join(rootFolder, "shots");

/** Of the system's browser: none of it looks for anybody outside this machine. */
const args = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

let browser: Promise<Browser> | undefined;
afterAll(async () => (await browser)?.close());

/** The browser of a test file. */
export function openBrowser(): Promise<Browser> {
  const executablePath = process.env["ROOMTAP_CHROMIUM"] ?? "/usr/bin/chromium";
  return (browser ??= chromium.launch({ executablePath, args }));
}

/** A host that serves the page, and what looks at it. */
export interface PageHost extends OpenHost {
  readonly http: string;
  /** A page that was opened by a link: signed in. */
  readonly open: (fragment?: string) => Promise<Page>;
  /** A page that nothing was given. */
  readonly visit: (fragment?: string) => Promise<Page>;
  /** Cuts every connection to the server that the page comes from, as a proxy that restarts would. */
  readonly drop: () => void;
  /** Faults of the page's own code. */
  readonly faults: readonly string[];
}

export async function openPageHost(options: OpenHostOptions = {}): Promise<PageHost> {
  const { plugins = [], ...rest } = options;
  const host = await openHost({ ...rest, plugins: [...plugins, { plugin: inspectorPage(), grants: ["routes"] }] });
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    if (!host.gateway.handle(request, response)) response.writeHead(404).end();
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  host.gateway.attach(server);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const drop = (): void => sockets.forEach((socket) => socket.destroy());
  onTestFinished(() => {
    server.close();
    drop();
  });
  const http = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const faults: string[] = [];
  const visit = async (address: string): Promise<Page> => {
    const context = await (await openBrowser()).newContext({ viewport: { width: 1_100, height: 760 } });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    page.on("pageerror", (fault) => faults.push(fault.message));
    await page.goto(address);
    return page;
  };
  return {
    ...{ ...host, http, faults, drop },
    visit: (fragment = "") => visit(`${http}/${fragment}`),
    async open(fragment) {
      const page = await visit(await host.gateway.link(http));
      await page.getByRole("status").filter({ hasText: "live" }).waitFor();
      if (fragment !== undefined) await page.goto(`${http}/${fragment}`);
      return page;
    },
  };
}

/** Keeps a picture of what the page shows, for people to look at. */
export async function shoot(page: Page, name: string): Promise<void> {
  mkdirSync(shotsFolder, { recursive: true });
  await page.screenshot({ path: join(shotsFolder, `${name}.png`), fullPage: true });
}
