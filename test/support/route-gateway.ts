import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { onTestFinished } from "vitest";
import type { RouteRequest, RouteResponse } from "../../plugins/index.ts";
import type { RouteRegistration } from "../../plugins/services.ts";
import { openGateway, type OpenGateway, type OpenGatewayOptions } from "./open-gateway.ts";
import { principals, tokenOf } from "./principals.ts";

export const people = principals({
  admin: { scopes: ["admin"] },
  reader: { scopes: ["read"], rooms: ["desk"], grants: ["reasoning"] },
});

type Handler = RouteRegistration["handler"];

/** A gateway with routes of the plugin `p`. */
export interface RouteGateway extends OpenGateway {
  /** Registers a route; gives its undo. */
  readonly route: (
    line: string,
    handler: (request: RouteRequest) => RouteResponse | Promise<RouteResponse>,
    options?: Partial<RouteRegistration["options"]>,
  ) => () => void;
  /** Asks, as the admin unless something else is said. */
  readonly ask: (path: string, init?: AskInit) => Promise<Response>;
}

export interface AskInit extends Omit<RequestInit, "headers"> {
  readonly as?: "admin" | "reader" | "nobody" | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

export async function routeGateway(options: OpenGatewayOptions = {}): Promise<RouteGateway> {
  const open = await openGateway({ auth: people, ...options });
  const { host, port } = open;
  return {
    ...open,
    route: (line, handler, { scope = "admin", at = "plugin" } = {}) => {
      const [method = "", path = ""] = line.split(" ");
      return host.table.add("p", { method, path, handler: handler as Handler, options: { scope, at } });
    },
    ask: (path, { as = "admin", headers = {}, ...init } = {}) =>
      fetch(`http://127.0.0.1:${port}${path}`, {
        ...init,
        headers: { ...(as === "nobody" ? {} : { authorization: `Bearer ${tokenOf(as)}` }), ...headers },
      }),
  };
}

/** What a refusal says. */
export async function refusalOf(response: Response): Promise<readonly [status: number, error: string]> {
  const { error, message } = (await response.json()) as { error: string; message: string };
  if (typeof message !== "string" || message === "") throw new Error("it has no message");
  return [response.status, error];
}

/** A request that is made by hand: for what `fetch` does not do. */
export interface HandMade {
  readonly request: ClientRequest;
  readonly response: Promise<IncomingMessage>;
}

export function handMade(
  { port }: { readonly port: number },
  path: string,
  {
    method = "GET",
    headers = {},
  }: { readonly method?: string; readonly headers?: Readonly<Record<string, string | string[]>> } = {},
): HandMade {
  const request = httpRequest({ host: "127.0.0.1", port, path, method, headers, agent: false });
  onTestFinished(() => void request.destroy());
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    request.once("response", resolve).once("error", reject);
  });
  response.catch(() => undefined);
  return { request, response };
}

/** The next piece of a body, once it comes. */
export async function pieceOf(response: IncomingMessage): Promise<string> {
  for (;;) {
    const piece = response.read() as Buffer | null;
    if (piece !== null) return piece.toString();
    await new Promise((resolve) => response.once("readable", resolve));
  }
}
