import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf, RoomtapError, type Runner } from "../../core/index.ts";
import type { ModuleConfig } from "./config.ts";

/**
 * Checks that a module is there, without running anything of it.
 * @param where the config stands, for the message, e.g. `rooms[0].members[1].runner`
 * @throws RoomtapError `invalid_config`
 */
export function checkModule({ path }: ModuleConfig, where: string): void {
  const file = resolve(path);
  if (!existsSync(file)) throw wrong(where, `expected the file of a module, found nothing at ${file}`);
}

/**
 * The runner that a module exports by default, or that its default export makes of `options`. A module is run once in a
 * process: where its default export is a runner, everybody who loads it has that one.
 * @param where the config stands, for the message
 * @throws RoomtapError `invalid_config`, naming the path, what was expected and what was found
 */
export async function loadModuleRunner(config: ModuleConfig, where: string): Promise<Runner> {
  checkModule(config, where);
  const file = resolve(config.path);
  let exported: unknown;
  try {
    const module = (await import(pathToFileURL(file).href)) as { readonly default?: unknown };
    exported = module.default;
  } catch (fault) {
    throw wrong(where, `expected a module that loads, but ${file} failed: ${messageOf(fault)}`, fault);
  }
  const made = typeof exported === "function" ? await call(exported, config, where) : exported;
  const problem = runnerProblem(made);
  if (problem !== undefined) {
    const whose = typeof exported === "function" ? "what the default export gives" : "the default export";
    const expected = "a runner with kind, run and close, or a function that gives one";
    throw wrong(where, `expected ${whose} of ${file} to be ${expected}, found ${problem}`);
  }
  return asModule(made as Runner, config);
}

async function call(make: unknown, { path, options }: ModuleConfig, where: string): Promise<unknown> {
  try {
    return await (make as (options: unknown) => unknown)(options);
  } catch (fault) {
    throw wrong(where, `expected a runner of ${resolve(path)}, but its function threw: ${messageOf(fault)}`, fault);
  }
}

function runnerProblem(value: unknown): string | undefined {
  if (value === undefined || value === null) return "nothing";
  if (typeof value !== "object") return `a ${typeof value}`;
  const hasKind = typeof Reflect.get(value, "kind") === "string";
  const missing = ["run", "close"].filter((method) => typeof Reflect.get(value, method) !== "function");
  const lacks = [...(hasKind ? [] : ["kind"]), ...missing];
  if (lacks.length > 0) return `an object without ${lacks.join(", ")}`;
  const steer: unknown = Reflect.get(value, "steer");
  return steer === undefined || typeof steer === "function" ? undefined : `a steer that is a ${typeof steer}`;
}

/** Named as its config is, so that a roster stays the same wherever its runners live. */
function asModule(runner: Runner, { rerun = runner.rerun }: ModuleConfig): Runner {
  return {
    kind: "module",
    rerun,
    run: (turn) => runner.run(turn),
    ...(runner.steer !== undefined && { steer: runner.steer.bind(runner) }),
    close: () => runner.close(),
  };
}

function wrong(where: string, problem: string, cause?: unknown): RoomtapError {
  return new RoomtapError("invalid_config", `${where}.path: ${problem}`, { cause });
}
