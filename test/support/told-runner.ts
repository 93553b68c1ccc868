import { fileURLToPath } from "node:url";
import { afterEach } from "vitest";
import { systemClock, type Notice, type Runner } from "../../core/index.ts";
import { createProcessRunner } from "../../plugins/runners/process-runner.ts";
import type { ModuleConfig } from "../../plugins/runners/config.ts";
import type { ProcessOptions } from "../../plugins/runners/process-options.ts";
import type { FakeTurn } from "./fake-turn.ts";

export const toldRunnerPath = fileURLToPath(new URL("./agents/told-runner.mjs", import.meta.url));

export interface ChildOptions {
  readonly config?: Partial<ModuleConfig>;
  readonly limits?: ProcessOptions["limits"];
}

/** A runner in a child that a test opened, and what was reported of it. */
export interface OpenChild {
  readonly runner: Runner;
  readonly notices: readonly Notice[];
}

const opened: Runner[] = [];
afterEach(() => Promise.all(opened.splice(0).map((runner) => runner.close())));

/** In a child, the module that does what its prompt tells it; closed after the test. */
export function openChild({ config, limits }: ChildOptions = {}): OpenChild {
  const notices: Notice[] = [];
  const runner = createProcessRunner(
    { kind: "module", path: toldRunnerPath, process: true, ...config },
    { clock: systemClock, report: (notice) => void notices.push(notice), limits },
  );
  opened.push(runner);
  return { runner, notices };
}

/** Settles once a turn has said so much, and gives it: the id of a process, most often. */
export async function said(turn: FakeTurn): Promise<string> {
  await turn.seen(({ type }) => type === "message.delta");
  return turn.text;
}

/** Whether a process is there, be it a zombie. */
export function isThere(pid: string | number): boolean {
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch {
    return false;
  }
}
