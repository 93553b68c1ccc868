/**
 * The program of a runner's child. It loads the one runner that the host names, runs the turns that the host hands it, and
 * relays what they emit and ask. It ends when it is told to, when its host is gone, and with whatever its runner does.
 */
import { Socket } from "node:net";
import { Worker } from "node:worker_threads";
import {
  cutUtf8,
  limits,
  messageOf,
  parseTurnEnd,
  systemClock,
  type Correction,
  type Runner,
  type TurnEnd,
} from "../../core/index.ts";
import { HostLink } from "./child-link.ts";
import { parseToChild, type ToChild } from "./child-messages.ts";
import { childPipes } from "./child-pipes.ts";
import { ChildQuestions, ChildTurn } from "./child-turn.ts";
import { LineReader } from "./line-reader.ts";
import { openLocalRunner } from "./local-runner.ts";
import { watchGroups } from "./process-group.ts";

/**
 * What is handed on of a text and of an error, in bytes: more than the host keeps of them, so that a secret at its cut is
 * whole when it is masked.
 */
const maxTextBytes = limits.maxAnswerBytes + 32_768;
const maxErrorBytes = 65_536;

type Load = Extract<ToChild, { type: "load" }>;

/** A child once it has its runner. */
class RunnerHost {
  readonly #runner: Runner;
  readonly #link: HostLink;
  readonly #questions: ChildQuestions;
  readonly #turns = new Map<number, ChildTurn>();

  constructor(runner: Runner, link: HostLink) {
    this.#runner = runner;
    this.#link = link;
    this.#questions = new ChildQuestions(link);
  }

  hear(message: Exclude<ToChild, Load>): void {
    switch (message.type) {
      case "run":
        return void this.#run(message.key, new ChildTurn(message.key, message.turn, this.#link, this.#questions));
      case "stop":
        return this.#turns.get(message.key)?.stop(message.reason);
      case "answer":
        return this.#questions.answer(message.ask, message.answered);
      case "steer":
        return void this.#steer(message.key, message.steer, message.correction);
      case "close":
        return void this.#close();
    }
  }

  async #run(key: number, childTurn: ChildTurn): Promise<void> {
    this.#turns.set(key, childTurn);
    let end: TurnEnd;
    try {
      end = boundedEnd(parseTurnEnd(await this.#runner.run(childTurn.turn), (text) => text));
    } catch (fault) {
      end = boundedEnd({ status: "failed", reason_code: "runner_error", error: messageOf(fault) });
    }
    childTurn.end();
    this.#turns.delete(key);
    this.#link.send({ type: "end", key, end });
  }

  async #steer(key: number, steer: number, correction: Correction): Promise<void> {
    const turn = this.#turns.get(key)?.turn;
    try {
      const taken = turn !== undefined && ((await this.#runner.steer?.(turn, correction)) ?? false);
      this.#link.send({ type: "steered", steer, taken: Boolean(taken) });
    } catch (fault) {
      const problem = cutUtf8(messageOf(fault), maxErrorBytes);
      this.#link.send({ type: "steered", steer, taken: false, problem });
    }
  }

  async #close(): Promise<void> {
    try {
      await this.#runner.close();
    } catch (fault) {
      process.stderr.write(`the runner could not be closed: ${messageOf(fault)}\n`);
    }
    process.exit(0);
  }
}

function boundedEnd(end: TurnEnd): TurnEnd {
  if (end.status === "completed" && end.text !== undefined) return { ...end, text: cutUtf8(end.text, maxTextBytes) };
  if (end.status === "failed" && end.error !== undefined) return { ...end, error: cutUtf8(end.error, maxErrorBytes) };
  return end;
}

/** Resolves when the child is watched: nothing of the runner runs before. */
function startWatchdog(): Promise<Worker> {
  const worker = new Worker(new URL("./child-watchdog.js", import.meta.url));
  worker.unref();
  return new Promise((resolve, reject) => {
    worker.once("message", () => resolve(worker));
    worker.once("error", reject);
  });
}

async function load({ config, max_line_bytes }: Load, watchdog: Worker): Promise<RunnerHost> {
  const link = new HostLink(max_line_bytes);
  watchGroups((pids) => {
    watchdog.postMessage(pids);
    link.send({ type: "groups", pids: [...pids] });
  });
  const report = ({ code, message, subject }: { code: string; message: string; subject?: string }): void =>
    void link.send({ type: "notice", code, message, subject });
  try {
    const runner = await openLocalRunner(config, { clock: systemClock, report });
    link.send({ type: "ready" });
    return new RunnerHost(runner, link);
  } catch (fault) {
    link.send({ type: "broken", problem: cutUtf8(messageOf(fault), maxErrorBytes) });
    return process.exit(1);
  }
}

const watchdog = await startWatchdog();
let loaded: Promise<RunnerHost> | undefined;
const lines = new LineReader();
const heard = new Socket({ fd: childPipes.heard, readable: true, writable: false });
// The watchdog ends the child when its host is gone.
heard.on("error", () => undefined);
heard.on("data", (chunk: Buffer) => {
  for (const line of lines.push(chunk)) hear(line ?? "");
});

/** Messages of a host of this version are right; of another one nothing can be done. */
function hear(line: string): void {
  const parsed = parseToChild(line);
  if (!parsed.ok) throw new Error(`a message of the host cannot be read: ${parsed.problem}`);
  const { message } = parsed;
  if (message.type === "load") loaded ??= load(message, watchdog);
  else void loaded?.then((host) => host.hear(message));
}
