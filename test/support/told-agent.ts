import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach } from "vitest";
import { systemClock, type Notice, type Runner, type RunnerFrame } from "../../core/index.ts";
import type { AcpOptions } from "../../plugins/runners/acp-agent.ts";
import { createAcpRunner } from "../../plugins/runners/acp-runner.ts";
import type { AcpConfig } from "../../plugins/runners/config.ts";
import { fakeTurn, type FakeTurn, type FakeTurnOptions } from "./fake-turn.ts";

export const toldAgentPath = fileURLToPath(new URL("./agents/told-agent.mjs", import.meta.url));

export interface ToldOptions {
  readonly config?: Partial<AcpConfig>;
  /** An argument of the agent: see there. */
  readonly mode?: string;
  readonly clock?: AcpOptions["clock"];
  readonly limits?: AcpOptions["limits"];
}

const opened: Runner[] = [];
afterEach(() => Promise.all(opened.splice(0).map((runner) => runner.close())));

/** A runner of the agent that does what its prompt tells it; closed after the test. */
export function openTold({ config, mode, clock = systemClock, limits }: ToldOptions = {}): {
  runner: Runner;
  notices: Notice[];
} {
  const notices: Notice[] = [];
  const args = mode === undefined ? [toldAgentPath] : [toldAgentPath, mode];
  const runner = createAcpRunner(
    { kind: "acp", command: process.execPath, args, ...config },
    { clock, report: (notice) => void notices.push(notice), ...(limits !== undefined && { limits }) },
  );
  opened.push(runner);
  return { runner, notices };
}

/** The post that makes the agent take these steps. */
export function told(...steps: object[]): string {
  return `play ${JSON.stringify(steps)}`;
}

/** A turn that makes the agent take these steps. */
export function plays(steps: object[], options: FakeTurnOptions = {}): FakeTurn {
  return fakeTurn({ post: told(...steps), ...options });
}

export function tool(fields: object): object {
  return { update: { sessionUpdate: "tool_call", ...fields } };
}

export function toolUpdate(fields: object): object {
  return { update: { sessionUpdate: "tool_call_update", ...fields } };
}

/** Asks for permission; the agent then says the option that was chosen, or `cancelled`. */
export function ask(toolCall: object): object {
  const options = [
    { optionId: "yes", kind: "allow_once", name: "Yes" },
    { optionId: "no", kind: "reject_once", name: "No" },
  ];
  return { ask: { toolCall, options } };
}

export function isText(text: string): (frame: RunnerFrame) => boolean {
  return (frame) => frame.payload?.["text"] === text;
}

/** A port for one process to connect to; `ended` settles when that is gone, and its connection with it. */
export async function watchEnd(): Promise<{ port: number; ended: Promise<"gone"> }> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const ended = once(server, "connection").then(async ([socket]: Socket[]) => {
    server.close();
    // A process that is killed may reset it.
    socket?.on("error", () => undefined).resume();
    await new Promise((closed) => socket?.once("close", closed));
    return "gone" as const;
  });
  return { port: (server.address() as AddressInfo).port, ended };
}
