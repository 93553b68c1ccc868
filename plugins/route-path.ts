/** Paths of routes: segments, of which those behind a colon are names, and a star at the end for the rest. */
export const routePath = /^\/$|^(?:\/(?::[a-z_][a-z0-9_]*|[A-Za-z0-9._~-]+))*(?:\/\*)?$/;

/**
 * What is wrong with a path of the server as a plugin may serve it, in words; null when nothing is. What stands below
 * `/plugins` is each plugin's own, below `/api` the gateway's, and nobody answers for all there is.
 */
export function serverPathProblem(path: string): string | null {
  const [, first = ""] = path.split("/");
  const isTaken = first === "plugins" || first === "api";
  const isAnybody = first === "*" || first.startsWith(":");
  return isTaken || isAnybody ? "expected one that begins with a name of its own, other than /plugins and /api" : null;
}
