import { MessageChannel, Worker } from "node:worker_threads";
import { hostDefaults, limits, messageOf, RoomtapError, Signal, workerBounds, type Clock } from "../../core/index.ts";
import { builtFile } from "../built-file.ts";
import type { PluginAbout } from "../instance.ts";
import type { Logger } from "../plugin.ts";
import { Line, type Served } from "./line.ts";
import { guestSide, hostSide, type GuestSide, type HostSide } from "./messages.ts";
import { OutputLines } from "./output-lines.ts";

/** Why a worker ended. */
export interface ThreadEnd {
  readonly message: string;
  readonly cause?: unknown;
}

/** Whose guest it is: where it logs to, what it is served, and who is told of its end. */
export interface GuestOwner {
  readonly id: string;
  readonly logger: Logger;
  readonly served: Served<HostSide>;
  readonly onGone: (end: ThreadEnd) => void;
}

const unknownEnd: ThreadEnd = { message: "nobody knows why" };

/** How long a thread that was ended may take to be gone; one that sits in a call of the system takes longer. */
const goneMs = 2_000;

/** A thread has the host's flags, but not those of a host that is a text for `--eval`: with them no file can be its main. */
function threadFlags(flags: readonly string[]): { readonly execArgv?: string[] } {
  return flags.some((flag) => flag.startsWith("--input-type")) ? { execArgv: [] } : {};
}

/** One thread with a guest in it, from its start to its end. */
export class GuestThread {
  readonly line: Line<HostSide, GuestSide>;
  readonly #file: string;
  readonly #clock: Clock;
  readonly #worker: Worker;
  readonly #output: OutputLines;
  readonly #gone = new Signal();
  #end: ThreadEnd | null = null;
  /** What its open calls are told; null: that it was lost. */
  #parting: Error | null = null;
  #isGone = false;
  #isAsked = false;
  #stopWatch: () => void;
  #subject: string;
  #onGone: (end: ThreadEnd) => void = () => undefined;

  constructor(file: string, clock: Clock) {
    this.#file = file;
    this.#clock = clock;
    this.#subject = `plugin at ${file}`;
    this.#output = new OutputLines(clock);
    // Its environment is a copy of the host's, as any code of the host would find it.
    const worker = new Worker(builtFile("worker/guest.js"), {
      name: "roomtap-plugin",
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: workerBounds.heapMb },
      ...threadFlags(process.execArgv),
    });
    this.#worker = worker;
    this.#output.read(worker.stdout, "stdout");
    this.#output.read(worker.stderr, "stderr");
    worker.on("error", (fault) => (this.#end ??= endOf(fault)));
    worker.on("messageerror", (fault) => (this.#end ??= endOf(fault)));
    worker.once("exit", (status) => this.#onExit(status));
    const { port1, port2 } = new MessageChannel();
    this.line = new Line({
      ...{ port: port1, mine: hostSide, theirs: guestSide, maxCallBytes: Infinity },
      onBroken: (why) => void this.end(`it sent ${why}`),
    });
    worker.postMessage({ port: port2 }, [port2]);
    this.#stopWatch = clock.after(workerBounds.blockedMs, () => this.#look());
  }

  /** Whether it is not there any more. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Whose it is, once that is known. `onGone` is told before its open calls are. */
  serve({ id, logger, served, onGone }: GuestOwner): void {
    this.#subject = `plugin ${id}`;
    this.#output.logTo(logger);
    this.line.serve(served);
    this.#onGone = onGone;
    if (this.#isGone) onGone(this.#end ?? unknownEnd);
  }

  /** Has it read the plugin's file. @throws RoomtapError `invalid_plugin`, `plugin_lost` */
  load(): Promise<PluginAbout> {
    return this.inTime("reading its file", this.line.call("load", { file: this.#file }));
  }

  /** What `run` gives; a guest that takes longer than `hostDefaults.setupMs` is ended, and `run` rejects. */
  async inTime<Result>(what: string, run: Promise<Result>): Promise<Result> {
    const ms = hostDefaults.setupMs;
    const stopTimer = this.#clock.after(ms, () => void this.end(`${what} took longer than ${ms} ms`));
    try {
      return await run;
    } finally {
      stopTimer();
    }
  }

  /**
   * Ends it, whatever it does. Resolves when it is gone.
   * @param parting what its open calls are told; default `plugin_lost` with the reason
   */
  async end(message: string, parting: Error | null = null): Promise<void> {
    this.#end ??= { message };
    this.#parting ??= parting;
    const stopTimer = this.#clock.after(goneMs, () => this.#leave());
    void this.#worker.terminate();
    await this.#gone.fired;
    stopTimer();
  }

  #onExit(status: number): void {
    this.#end ??= { message: `it ended by itself, with status ${status}` };
    this.#leave();
  }

  #leave(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#stopWatch();
    const end = (this.#end ??= unknownEnd);
    this.#onGone(end);
    const lost = `${this.#subject}: its worker ended: ${end.message}`;
    this.line.close(this.#parting ?? new RoomtapError("plugin_lost", lost, { cause: end.cause }));
    this.#gone.fire();
  }

  /** One that owes an answer, and does not even say that it lives, is blocked. */
  #look(): void {
    const { blockedMs } = workerBounds;
    if (this.#isAsked) return void this.end(`its thread is blocked for ${blockedMs} ms`);
    this.#stopWatch = this.#clock.after(blockedMs, () => this.#look());
    if (this.line.waiting === 0) return;
    this.#isAsked = true;
    const heard = (): void => void (this.#isAsked = false);
    void this.line.call("ping", undefined).then(heard, heard);
  }
}

function endOf(fault: unknown): ThreadEnd {
  const { code } = Object(fault) as { readonly code?: unknown };
  if (code === "ERR_WORKER_OUT_OF_MEMORY") {
    return { message: `it needed more than ${workerBounds.heapMb} MB of memory`, cause: fault };
  }
  const text = messageOf(fault).slice(0, limits.maxLogLineUnits);
  return { message: `its code failed where nobody waits for it: ${text}`, cause: fault };
}
