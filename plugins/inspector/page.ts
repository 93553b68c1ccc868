import { readFile } from "node:fs/promises";
import { builtFile } from "../built-file.ts";
import { definePlugin, type Plugin, type RouteResponse } from "../plugin.ts";

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
};

/** The page fetches nothing from anywhere else, and stands in nobody's frame. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/**
 * The built-in `inspector`: the page at `/` that shows rooms live, answers approvals, and tells why a turn failed. It serves
 * files and nothing else: all it shows comes to it over the gateway, with the rights of whoever signs in. It needs the grant
 * `routes`.
 */
export function inspectorPage(): Plugin<undefined> {
  return definePlugin({
    id: "inspector",
    version: "1.0.0",
    manifest: {
      apiVersion: 1,
      hooks: ["*"],
      permissions: { payload: "meta", routes: ["/", "/assets/:file"] },
      isolation: "inline",
      disclosure: "Serves the inspector's page. It reads no events.",
    },
    setup(context) {
      const page = { scope: "public", at: "server" } as const;
      context.routes.add("GET", "/", () => fileResponse("index.html", "no-cache"), page);
      context.routes.add(
        "GET",
        "/assets/:file",
        // Names of assets change with what is in them.
        ({ params: { file = "" } }) => fileResponse(`assets/${file}`, "public, max-age=31536000, immutable"),
        page,
      );
    },
  });
}

async function fileResponse(name: string, caching: string): Promise<RouteResponse> {
  const ending = /^(?:assets\/)?[\w-]+\.(html|js|css)$/.exec(name)?.[1];
  const type = ending === undefined ? undefined : types[ending];
  if (type === undefined) return notFound;
  try {
    const body = await readFile(builtFile(`inspector/page/${name}`));
    const headers = { "content-type": type, "cache-control": caching, "content-security-policy": policy };
    return { headers: { ...headers, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" }, body };
  } catch (fault) {
    if (fault instanceof Error && "code" in fault && fault.code === "ENOENT") return notFound;
    throw fault;
  }
}

const notFound: RouteResponse = { status: 404, headers: { "content-type": "text/plain" }, body: "not found\n" };
