import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Path of the example agent of the ACP TypeScript SDK 1.9.0: a real third-party agent for the demo and the tests.
 * undefined where it is not installed: it is a development dependency.
 *
 * The package's export map hides the file, so it is found from the main entry beside it. Start it with `node`.
 */
export function acpExampleAgent(): string | undefined {
  let main: string;
  try {
    main = import.meta.resolve("acp-agent");
  } catch {
    return undefined;
  }
  const path = fileURLToPath(new URL("./examples/agent.js", main));
  return existsSync(path) ? path : undefined;
}
