import { messageOf, RoomtapError, workerBounds } from "../../core/index.ts";
import type { InstanceParts, PluginInstance } from "../instance.ts";
import { GuestThread, type ThreadEnd } from "./guest-thread.ts";
import { hostAnswers } from "./host-answers.ts";
import { judgeEnd } from "./restarts.ts";
import { Seats } from "./seats.ts";

/** A guest that keeps a deadline of its own has answered so long behind it. */
const answerGraceMs = 250;

/** `starting`: whoever loads it waits for it, and is told of its end. */
type Phase = "starting" | "running" | "restarting" | "over";

/**
 * A plugin in a worker. When the thread ends by itself or has to be ended, the plugin is set up again in a new one, after
 * a while; what it registered stays meanwhile. After too many ends it is given up.
 */
export class WorkerInstance implements PluginInstance {
  readonly #file: string;
  readonly #parts: InstanceParts;
  readonly #seats = new Seats();
  #guest: GuestThread;
  #phase: Phase = "starting";
  #isReady = false;
  /** The setup of the guest has begun: there may be something to undo. */
  #isBegun = false;
  /** Monotonic ms. */
  #ends: readonly number[] = [];
  #stopTimer: () => void = () => undefined;
  #unloading: Promise<void> | null = null;

  /** @param guest has read the file */
  constructor(file: string, guest: GuestThread, parts: InstanceParts) {
    this.#file = file;
    this.#parts = parts;
    this.#guest = guest;
    this.#serve(guest);
  }

  check(): Promise<void> {
    return this.#check(this.#guest);
  }

  async setup(): Promise<void> {
    await this.#setUp(this.#guest);
    // An unloading that began meanwhile has the last word.
    if (this.#phase === "starting") this.#phase = "running";
  }

  async ready(): Promise<void> {
    this.#isReady = true;
    if (this.#phase === "running") await this.#makeReady(this.#guest);
  }

  async drain(deadlineMs: number): Promise<void> {
    if (this.#phase !== "running") return;
    await this.#within(deadlineMs + answerGraceMs, this.#guest.line.call("drain", { deadlineMs }));
  }

  unload(): Promise<void> {
    return (this.#unloading ??= this.#unload());
  }

  #serve(guest: GuestThread): void {
    const { id, services } = this.#parts;
    guest.serve({
      ...{ id, logger: services.logger, served: hostAnswers(this.#parts, this.#seats, guest) },
      onGone: (end) => this.#onGone(guest, end),
    });
  }

  async #check(guest: GuestThread): Promise<void> {
    const { id, config } = this.#parts;
    try {
      await guest.line.call("check", { config });
    } catch (fault) {
      if (!(fault instanceof RoomtapError) || fault.code !== "invalid_params") throw fault;
      // It did not even get there.
      throw new RoomtapError("invalid_config", `plugin ${id}: config: ${fault.message}`, { cause: fault });
    }
  }

  async #setUp(guest: GuestThread): Promise<void> {
    const { permit, stepMs } = this.#parts;
    this.#isBegun = true;
    await guest.line.call("setup", { permit, stepMs });
    this.#seats.endEmpty();
  }

  async #makeReady(guest: GuestThread): Promise<void> {
    // Its hooks' failures come as faults; when it ends over them, that is told as its end.
    await guest.line.call("ready", undefined).catch(() => undefined);
  }

  #onGone(guest: GuestThread, { message, cause }: ThreadEnd): void {
    const { clock, services, onFault, onRestart, onGivenUp } = this.#parts;
    this.#seats.leave(guest);
    services.renew();
    if (this.#phase === "starting" || this.#phase === "over") return;
    onFault(`its worker ended: ${message}`, cause);
    const { maxEnds, endsWithinMs } = workerBounds;
    const verdict = judgeEnd(this.#ends, clock.monotonic(), workerBounds);
    this.#ends = verdict.ends;
    if (!verdict.again) {
      this.#phase = "over";
      onGivenUp(`its worker ended ${maxEnds} times within ${endsWithinMs / 60_000} minutes, and is started no more`);
      return;
    }
    if (this.#phase === "running") onRestart(false);
    this.#phase = "restarting";
    this.#stopTimer = clock.after(verdict.delayMs, () => void this.#restart());
  }

  /** Never rejects: what goes wrong is the end of the new guest. */
  async #restart(): Promise<void> {
    const { id, clock, onRestart } = this.#parts;
    const guest = new GuestThread(this.#file, clock);
    this.#guest = guest;
    this.#isBegun = false;
    this.#serve(guest);
    try {
      const about = await guest.load();
      if (about.id !== id) throw new RoomtapError("invalid_plugin", `its file holds ${about.id} now`);
      // The first time its host sees to that.
      await guest.inTime("its check", this.#check(guest));
      await guest.inTime("its setup", this.#setUp(guest));
    } catch (fault) {
      return guest.end(`it could not be set up again: ${messageOf(fault)}`);
    }
    if (this.#phase !== "restarting") return;
    this.#phase = "running";
    onRestart(true);
    if (this.#isReady) await this.#makeReady(guest);
  }

  async #unload(): Promise<void> {
    const { id } = this.#parts;
    this.#phase = "over";
    this.#stopTimer();
    const guest = this.#guest;
    if (this.#isBegun && !guest.isGone) await this.#undo(guest);
    this.#seats.endAll();
    await guest.end("it was unloaded", new RoomtapError("closed", `plugin ${id} is unloaded`));
  }

  /** Has the guest undo what it registered. One that is blocked is asked no further. */
  async #undo({ line }: GuestThread): Promise<void> {
    const { stepMs, onFault } = this.#parts;
    if (!(await this.#within(stepMs, line.call("ping", undefined)))) {
      return onFault(`its thread is blocked, and is ended without its unloading`);
    }
    const { unloadMs } = workerBounds;
    if (await this.#within(unloadMs, line.call("unload", undefined))) return;
    onFault(`its unloading takes longer than ${unloadMs} ms, and is waited for no longer`);
  }

  /** Whether it settled in time. Never rejects: a guest that was lost has nothing left to do. */
  #within(ms: number, call: Promise<unknown>): Promise<boolean> {
    return new Promise((resolve) => {
      const stopTimer = this.#parts.clock.after(ms, () => resolve(false));
      const settled = (): void => (stopTimer(), resolve(true));
      void call.then(settled, settled);
    });
  }
}
