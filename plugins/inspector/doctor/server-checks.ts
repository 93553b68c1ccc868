import type { Clock } from "../../../core/index.ts";
import { findServers } from "../local-server.ts";
import { withServer, type RemoteOptions } from "../remote.ts";
import { durationText } from "../../duration-text.ts";
import { fine, problemOf, warning, type Finding } from "./finding.ts";

/** A server says its time in whole seconds, and its answer takes some; more than this is a clock that goes wrong. */
const maxSkewMs = 5_000;
const answerMs = 5_000;

/** Asks a server for its wall time, in ms; null when it does not say. */
export type AskTime = (httpUrl: string) => Promise<number | null>;

/** The servers: the one that is named, else all of this user on this machine. */
export async function serverFindings(
  options: RemoteOptions & { readonly runtimeFolder: string },
  { clock, askTime = timeOf }: { readonly clock: Clock; readonly askTime?: AskTime },
): Promise<readonly Finding[]> {
  if (options.url !== undefined) return [await serverFinding(options, options.url, { clock, askTime })];
  const { servers, gone } = findServers(options.runtimeFolder, { removesGone: false });
  const left = gone.map(({ url, process: mark }) =>
    warning("server", `${url} (process ${mark.pid}) ended without a word`, "Look at its log; start it again."),
  );
  if (servers.length === 0) return [...left, fine("server", "no server of yours runs on this machine")];
  const findings: Finding[] = [];
  for (const { url } of servers) findings.push(await serverFinding({ ...options, url }, url, { clock, askTime }));
  return [...left, ...findings];
}

async function serverFinding(
  options: RemoteOptions,
  url: string,
  { clock, askTime }: { readonly clock: Clock; readonly askTime: AskTime },
): Promise<Finding> {
  // What stands behind the path may be a credential.
  const shown = url.split("?")[0] ?? "";
  try {
    // That it lets this caller in is all that is asked.
    await withServer(
      options,
      () => undefined,
      async () => undefined,
    );
  } catch (fault) {
    return problemOf("server", fault);
  }
  const time = await askTime(httpOf(shown));
  return judgeSkew(shown, time === null ? null : time - clock.now());
}

/** Pure. */
export function judgeSkew(url: string, skewMs: number | null): Finding {
  if (skewMs === null) return fine("server", `${url} lets in; it does not tell its time`);
  if (Math.abs(skewMs) <= maxSkewMs) return fine("server", `${url} lets in, and its clock is right`);
  const way = skewMs > 0 ? "ahead of" : "behind";
  const message = `${url} lets in; its clock is ${durationText(Math.abs(skewMs))} ${way} this one`;
  return warning("server", message, "Set both clocks by NTP: ages are shown wrong, and tokens may expire too early.");
}

/** `ws://HOST/api/ws` as `http://HOST/`. */
function httpOf(url: string): string {
  return new URL("/", url.replace(/^ws/, "http")).href;
}

/** By the header that every answer of HTTP has. */
async function timeOf(httpUrl: string): Promise<number | null> {
  try {
    const { headers } = await fetch(httpUrl, {
      method: "HEAD",
      redirect: "manual",
      signal: AbortSignal.timeout(answerMs),
    });
    const time = Date.parse(headers.get("date") ?? "");
    return Number.isNaN(time) ? null : time;
  } catch {
    // It lets in over WebSocket and answers nothing else.
    return null;
  }
}
