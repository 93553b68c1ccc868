import { RoomtapError } from "../../core/index.ts";
import type { ApprovePolicy, HostConfig } from "../config.ts";
import type { PluginEntry } from "../entry.ts";
import type { Output } from "../output.ts";
import type { RunHost } from "./command-host.ts";
import { demoConfig, demoRoomId, demoText, roundsConfig, type DemoScene } from "./demo.ts";
import { failuresOf, playRounds } from "./rounds.ts";

/** What `roomtap demo` is asked for. */
export interface DemoOptions {
  readonly runner?: "acp" | "scripted" | undefined;
  readonly scene: DemoScene;
  /** Path of the database that is kept; without one the log is as temporary as `file`. */
  readonly db?: string | undefined;
  readonly approve: ApprovePolicy;
}

/** What the command works with. */
export interface DemoParts {
  readonly runHost: RunHost;
  readonly output: Output;
  /** Path of the database to use. */
  readonly file: string;
  /** Path of the example agent's program; undefined when it is not installed. */
  readonly agent: string | undefined;
  /** What shows the events. */
  readonly shown: (config: HostConfig) => PluginEntry;
}

/**
 * Plays a scene until all has settled.
 * @throws RoomtapError `demo_failed` when a turn did, `runner_not_installed`, `invalid_params`
 */
export async function demoCommand(options: DemoOptions, parts: DemoParts): Promise<number> {
  const { runner, scene, db, approve } = options;
  if (scene === "rounds" && runner === "acp") {
    throw new RoomtapError("invalid_params", "the scene rounds is played by scripts; leave --runner acp away");
  }
  const config = scene === "rounds" ? roundsConfig() : demoConfig(runner ?? "acp", parts.agent);
  const failed: string[] = [];
  let isPlayed = false;
  const run = { config, db: parts.file, approve, plugins: [parts.shown(config)] };
  const status = await parts.runHost(run, async (host) => {
    host.observe({ id: "demo", kinds: ["turn.settled"], handler: (event) => void failed.push(...failuresOf(event)) });
    if (scene === "rounds") await playRounds(host);
    else await host.room(demoRoomId).post({ text: demoText });
    await host.finish();
    isPlayed = true;
    return 0;
  });
  if (status === 0 && failed.length > 0) {
    throw new RoomtapError("demo_failed", `a turn of the demo settled ${failed.join(", ")}`);
  }
  // Whoever stopped it in between, a reader that has left for instance, wants to hear no more of it.
  if (isPlayed && status === 0 && db !== undefined) parts.output.note(`the log is in ${db}: roomtap verify --db ${db}`);
  return status;
}
