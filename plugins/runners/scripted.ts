import type { Clock, JsonObject, Runner, ToolOutcome, TranscriptEntry, Turn, TurnEnd } from "../../core/index.ts";
import { afterLeadingMentions } from "../../rooms/index.ts";
import { Playing } from "./playing.ts";
import { parseScript, type Script, type Step } from "./script.ts";
import { sleep, untilStopped } from "./waiting.ts";

/** Steps played before other work of the process gets its turn. */
const stepsPerTick = 256;

/** Deltas of which a repeated text is made, at most. */
const maxEchoDeltas = 8;

/** What a scripted runner plays. */
export interface ScriptedOptions {
  /**
   * The script of every turn; a list, whose first is that of a member's first turn in a thread, and so on (beyond them it
   * passes); or `"message"`: each turn plays the newest person's post that it was shown. Where that holds words and no
   * script, it passes in a room, and repeats them in a session of its own.
   */
  readonly script: Script | readonly Script[] | "message";
  /** What `sleep_ms` and a tool's `ms` wait on. */
  readonly clock: Clock;
}

/**
 * A runner that answers from a script. A stop ends it at once, wherever it stands: `cancelled`. `fail` ends it
 * `runner_error`, `crash` `runner_lost`. Without `finish` the text is what was streamed. What people answer to an `ask`
 * changes nothing: the script goes on. A correction is taken by a script that has steps for it. Closing ends what still
 * runs `runner_lost`.
 */
export function createScriptedRunner({ script, clock }: ScriptedOptions): Runner {
  const closing = new AbortController();
  /** Turns so far, by session: only a list of scripts needs them. */
  const played = new Map<string, number>();
  const playing = new WeakMap<Turn, Playing>();
  const choose = (turn: Turn): ReturnType<typeof parseScript> | undefined => {
    if (script === "message") return scriptOfPost(turn.unseen) ?? echoOf(turn);
    if (!isList(script)) return { ok: true, script };
    const index = played.get(turn.session) ?? 0;
    played.set(turn.session, index + 1);
    const next = script[index];
    return next === undefined ? undefined : { ok: true, script: next };
  };
  return {
    kind: "scripted",
    async run(turn) {
      if (turn.signal.aborted) return { status: "cancelled" };
      if (closing.signal.aborted)
        return { status: "failed", reason_code: "not_admitted", error: "the runner is closed" };
      const chosen = choose(turn);
      if (chosen === undefined) return { status: "passed" };
      if (!chosen.ok) return { status: "failed", reason_code: "invalid_script", error: chosen.problem };
      const stop = AbortSignal.any([turn.signal, closing.signal]);
      const play = new Playing(chosen.script, stop);
      playing.set(turn, play);
      const end = await perform(play, turn, clock);
      if (end !== "stopped") return end;
      if (turn.signal.aborted) return { status: "cancelled" };
      return { status: "failed", reason_code: "runner_lost", error: "the runner was closed" };
    },
    steer: (turn, { kind }) => playing.get(turn)?.correct(kind) ?? false,
    async close() {
      closing.abort("closed");
    },
  };
}

function isList(script: Script | readonly Script[]): script is readonly Script[] {
  return Array.isArray(script);
}

/**
 * The script in the newest person's post: what follows the leading mentions, when that is JSON with `steps`.
 * undefined when the post holds none.
 */
export function scriptOfPost(shown: readonly TranscriptEntry[]): ReturnType<typeof parseScript> | undefined {
  const post = shown.findLast((entry) => entry.author.kind === "person");
  if (post === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(afterLeadingMentions(post.text));
  } catch {
    // Words, as people write them.
    return undefined;
  }
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, "steps")) return undefined;
  return parseScript(value);
}

/** In a session of its own an agent that is spoken to in words repeats them, in some pieces. */
function echoOf({ coordinates, unseen }: Turn): ReturnType<typeof parseScript> | undefined {
  const words = unseen.at(-1)?.text.match(/\S+\s*|\s+/g) ?? [];
  if (coordinates !== null || words.length === 0) return undefined;
  const each = Math.ceil(words.length / maxEchoDeltas);
  const pieces = Array.from({ length: Math.ceil(words.length / each) }, (_, index) =>
    words.slice(index * each, (index + 1) * each).join(""),
  );
  return { ok: true, script: { steps: pieces.map((delta) => ({ delta })) } };
}

async function perform(play: Playing, turn: Turn, clock: Clock): Promise<TurnEnd | "stopped"> {
  let played = 0;
  for (let step = play.next(); step !== undefined; step = play.next()) {
    if (play.isStopped) return "stopped";
    const end = endOf(step);
    if (end !== undefined) {
      play.finish();
      return end;
    }
    const wait = act(step, turn, play.waits, clock);
    if (wait !== undefined) await wait;
    if (++played % stepsPerTick === 0) await new Promise<void>((go) => clock.defer(go));
  }
  play.finish();
  return play.isStopped ? "stopped" : { status: "completed" };
}

/** How a step ends the turn, if it does. */
function endOf(step: Step): TurnEnd | undefined {
  if ("finish" in step) return { status: "completed", text: step.finish };
  if ("pass" in step) return { status: "passed" };
  if ("fail" in step) return { status: "failed", reason_code: "runner_error", error: step.fail };
  if ("crash" in step) return { status: "failed", reason_code: "runner_lost", error: "the script crashed" };
  return undefined;
}

/** Plays a step that does not end the turn; gives a promise when there is something to wait for. */
function act(step: Step, turn: Turn, stop: AbortSignal, clock: Clock): Promise<unknown> | undefined {
  if ("delta" in step) turn.emit({ type: "message.delta", payload: { text: step.delta } });
  else if ("reasoning" in step) turn.emit({ type: "reasoning.delta", payload: { text: step.reasoning } });
  else if ("frame" in step) turn.emit(step.frame);
  else if ("tool_start" in step) startTool(turn, step.tool_start);
  else if ("tool_complete" in step) endTool(turn, step.tool_complete);
  else if ("tool" in step) {
    const { tool } = step;
    startTool(turn, tool);
    if (tool.ms === undefined) endTool(turn, tool);
    else return sleep(clock, tool.ms, stop).then(() => (stop.aborted ? undefined : endTool(turn, tool)));
  } else if ("sleep_ms" in step) return sleep(clock, step.sleep_ms, stop);
  else if ("ask" in step) return untilStopped(turn.ask(step.ask), stop);
  return undefined;
}

function startTool(turn: Turn, { id, name, args }: { id: string; name: string; args?: unknown }): void {
  turn.emit({ type: "tool.start", payload: { tool_id: id, name, ...given({ args }) } });
}

interface ToolEnd {
  readonly id: string;
  readonly name?: string;
  readonly result?: unknown;
  readonly outcome?: ToolOutcome | undefined;
}

// An end without a name takes the one that its start gave.
function endTool(turn: Turn, { id, name, result, outcome = "ok" }: ToolEnd): void {
  turn.emit({ type: "tool.complete", payload: { tool_id: id, ...given({ name }), outcome, ...given({ result }) } });
}

/** The fields that have a value. */
function given(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
