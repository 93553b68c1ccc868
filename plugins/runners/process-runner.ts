import { resolve } from "node:path";
import { messageOf, type FailureReason, type Runner, type Turn, type TurnEnd } from "../../core/index.ts";
import { parseRunnerConfig, type RunnerConfig } from "./config.ts";
import { checkModule } from "./module-runner.ts";
import type { ProcessOptions } from "./process-options.ts";
import { RunnerChild, type ChildTurnEnd } from "./runner-child.ts";

/**
 * A runner that has the runner of a config work in a child process. The child starts with the first turn, is shared by all
 * turns and started anew after it is lost. What the runner emits and asks is put to the turn here, like that of any other.
 *
 * | what happened | end of the turn |
 * | --- | --- |
 * | the runner told an end | that one |
 * | the turn was asked to stop, and the child did not listen | `cancelled`; the child is killed |
 * | the child could not be started, or has no runner | `failed`, `member_unavailable` |
 * | the child ended, was killed, or wrote what is no message | `failed`, `runner_lost` |
 * | the runner was closed before | `failed`, `not_admitted` |
 *
 * In the child `turn.emit` says what can be known there: `late_frame` behind the turn's end, `invalid_frame` for what is no
 * frame or longer than `maxLineBytes`, else `written`; the host decides the rest, and counts all. It returns when the frame
 * has left the child: while the host is behind, the runner waits in it.
 *
 * @throws RoomtapError `invalid_config` for a config that is none, or whose module is not there
 */
export function createProcessRunner(config: RunnerConfig, options: ProcessOptions): Runner {
  const given = placed(parseRunnerConfig(config));
  if (given.kind === "module") checkModule(given, "runner");
  const name = nameOf(config);
  const children = new Set<RunnerChild>();
  const childOf = new WeakMap<Turn, RunnerChild>();
  let current: RunnerChild | undefined;
  let closed = false;
  const childFor = (session: string): RunnerChild => {
    if (current?.admits(session)) return current;
    current?.retire();
    const child = new RunnerChild(given, name, options);
    children.add(child);
    void child.gone.then(() => children.delete(child));
    current = child;
    return child;
  };
  return {
    kind: given.kind,
    rerun: given.kind === "module" ? given.rerun : undefined,
    async run(turn) {
      if (turn.signal.aborted) return { status: "cancelled" };
      if (closed) return failed("not_admitted", "the runner is closed");
      let child: RunnerChild;
      try {
        child = childFor(turn.session);
      } catch (fault) {
        return failed("member_unavailable", `${name} could not be started: ${messageOf(fault)}`);
      }
      childOf.set(turn, child);
      return turnEndOf(await child.run(turn), name);
    },
    // Agents of that protocol take none, wherever they are started from.
    ...(given.kind !== "acp" && {
      steer: (turn, correction) => childOf.get(turn)?.steer(turn, correction) ?? false,
    }),
    async close() {
      closed = true;
      await Promise.all([...children].map((child) => child.close()));
    },
  } satisfies Runner;
}

/** The child may have another working directory. */
function placed(config: RunnerConfig): RunnerConfig {
  return config.kind === "module" ? { ...config, path: resolve(config.path) } : config;
}

function nameOf(config: RunnerConfig): string {
  switch (config.kind) {
    case "acp":
      return config.command;
    case "module":
      return config.path;
    case "scripted":
      return "the scripted runner";
  }
}

function turnEndOf(end: ChildTurnEnd, name: string): TurnEnd {
  switch (end.kind) {
    case "ended":
      return end.end;
    case "stopped":
      return { status: "cancelled" };
    case "not_started":
      return failed("member_unavailable", `${name} ${end.problem}`);
    case "lost":
      return failed("runner_lost", `${name} ${end.problem}`);
  }
}

function failed(reason_code: FailureReason, error: string): TurnEnd {
  return { status: "failed", reason_code, error };
}
