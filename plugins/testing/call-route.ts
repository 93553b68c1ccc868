import { limits, messageOf, utf8Length } from "../../core/index.ts";
import type { PluginCaller, RouteRequest, RouteResponse } from "../plugin.ts";
import type { PluginHost } from "../host.ts";

/** What a test sends to a route. */
export interface TestRequest {
  /** A text, or what is sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Who asks; default somebody who may do everything. null: nobody who showed a credential. */
  readonly caller?: PluginCaller | null | undefined;
}

/** What came back. */
export interface TestResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body; of one that came in pieces, all of them. */
  readonly text: string;
  /** The body, read as JSON. */
  json(): unknown;
}

/** Where a request goes, and what is put into it. */
export interface RouteCall extends TestRequest {
  readonly method: string;
  /** As it stands in the URL, with its query. */
  readonly url: string;
  readonly signal: AbortSignal;
}

/** Asks a route as a server of the host would: it is found by its path, and the caller needs its scope. */
export async function callRoute(routes: PluginHost["routes"], call: RouteCall): Promise<TestResponse> {
  const { pathname, searchParams } = new URL(call.url, "http://test");
  const match = routes.match(call.method, pathname);
  // An empty list: the path is a plugin's, and no route of it.
  if (match === null || (!("route" in match) && match.length === 0)) return refusal(404, "unknown_route");
  if (!("route" in match)) return refusal(405, "method_not_allowed", { allow: match.join(", ") });
  const { scope } = match.route.options;
  const caller = call.caller ?? null;
  if (scope !== "public") {
    if (caller === null) return refusal(401, "unauthorized");
    if (!caller.scopes.includes(scope) && !caller.scopes.includes("admin")) return refusal(403, "forbidden");
  }
  const { body = "", headers = {}, method, signal } = call;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  if (utf8Length(text) > limits.maxRouteBodyBytes) return refusal(413, "body_too_large");
  const request: RouteRequest = {
    ...{ method, path: match.path, params: match.params, body: text, caller, signal },
    query: Object.fromEntries(searchParams),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
  };
  try {
    return await readResponse(await match.route.handler(request));
  } catch (fault) {
    return refusal(500, messageOf(fault));
  }
}

function refusal(status: number, error: string, headers: Readonly<Record<string, string>> = {}): TestResponse {
  const text = JSON.stringify({ error });
  return { status, headers: { ...headers, "content-type": "application/json" }, text, json: () => ({ error }) };
}

async function readResponse({ status = 200, headers = {}, json, body }: RouteResponse): Promise<TestResponse> {
  const isJson = json !== undefined;
  const text = isJson ? JSON.stringify(json) : await textOf(body);
  const type: Record<string, string> = isJson ? { "content-type": "application/json" } : {};
  return { status, headers: { ...type, ...headers }, text, json: () => JSON.parse(text) as unknown };
}

async function textOf(body: RouteResponse["body"]): Promise<string> {
  if (body === undefined || typeof body === "string") return body ?? "";
  const decoder = new TextDecoder();
  if (body instanceof Uint8Array) return decoder.decode(body);
  let text = "";
  for await (const piece of body) text += typeof piece === "string" ? piece : decoder.decode(piece, { stream: true });
  return text + decoder.decode();
}
