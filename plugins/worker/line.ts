import type { z } from "zod";
import { estimateBytes, limits, messageOf, RoomtapError } from "../../core/index.ts";
import { faultData, faultOf } from "./fault-data.ts";
import { messageSchema, type Message, type Side } from "./messages.ts";

type Name<Part> = keyof Part & string;
type Params<Of extends Side, Method extends Name<Of["methods"]>> = z.output<Of["methods"][Method]["params"]>;
type Result<Of extends Side, Method extends Name<Of["methods"]>> = z.output<Of["methods"][Method]["result"]>;

/** Carries out what a side is asked and told. What a method throws is its answer; a note may not throw. */
export type Served<Of extends Side> = {
  readonly [Method in Name<Of["methods"]>]: (
    params: Params<Of, Method>,
    signal: AbortSignal,
  ) => Result<Of, Method> | Promise<Result<Of, Method>>;
} & {
  readonly [Note in Name<Of["notes"]>]: (params: z.output<Of["notes"][Note]>) => void;
};

/** One end of a channel; of a `MessagePort` what a line needs. */
export interface Port {
  postMessage(message: unknown): void;
  on(event: "message", listener: (message: unknown) => void): unknown;
  close(): void;
}

/** What a line is made of. */
export interface LineParts<Mine extends Side, Theirs extends Side> {
  readonly port: Port;
  /** What this side is asked. */
  readonly mine: Mine;
  /** What the other one is. */
  readonly theirs: Theirs;
  /** What one call of this side may hand over, by estimate. */
  readonly maxCallBytes: number;
  /** Told of the first message that is none, or of one call too many. The other side is not to be trusted any more. */
  readonly onBroken: (why: string) => void;
}

interface OpenCall {
  readonly result: z.ZodType;
  /** Settle it; without effect on one that was aborted. */
  readonly resolve: (value: never) => void;
  readonly reject: (fault: unknown) => void;
}

/**
 * Calls and notes over a port, both ways. They arrive in the order in which they were made. Each message is checked once,
 * when it arrives. So many calls may be open each way: one more is refused where it is made. A call that is aborted is
 * answered at once, whatever its code still does; until that answer comes it stays open, so that both ends count alike.
 */
export class Line<Mine extends Side, Theirs extends Side> {
  readonly #parts: LineParts<Mine, Theirs>;
  /** Our calls that were not answered, those that we aborted among them. */
  readonly #open = new Map<number, OpenCall>();
  /** Their calls that we have not answered. */
  readonly #serving = new Map<number, AbortController>();
  #served: Served<Mine> | null = null;
  #calls = 0;
  #closedBy: Error | null = null;
  #isBroken = false;

  constructor(parts: LineParts<Mine, Theirs>) {
    this.#parts = parts;
    parts.port.on("message", (message) => this.#receive(message));
  }

  /** Our calls that were not answered, those that we aborted among them. */
  get waiting(): number {
    return this.#open.size;
  }

  /** From now on calls of the other side are carried out; until then they are refused. */
  serve(served: Served<Mine>): void {
    this.#served = served;
  }

  /**
   * Asks the other side. When `signal` is aborted it is told so, and the promise rejects with the signal's reason.
   * @param onLate given an answer that crossed the abort: what it opened on the other side has to be ended
   * @throws RoomtapError (as a rejection) `too_many_calls`; `invalid_params` for what cannot be sent or is too large; what
   * the line was closed with; and what the other side threw
   */
  call<Method extends Name<Theirs["methods"]>>(
    method: Method,
    params: Params<Theirs, Method>,
    signal?: AbortSignal,
    onLate: (late: Result<Theirs, Method>) => void = () => undefined,
  ): Promise<Result<Theirs, Method>> {
    const { theirs, maxCallBytes } = this.#parts;
    if (this.#closedBy !== null) return Promise.reject(this.#closedBy);
    if (signal?.aborted === true) return Promise.reject(abortOf(signal));
    if (this.#open.size >= limits.maxWorkerCalls) {
      const why = `${method}: ${limits.maxWorkerCalls} calls wait for their answers, and no more can`;
      return Promise.reject(new RoomtapError("too_many_calls", why));
    }
    if (maxCallBytes < Infinity && estimateBytes(params) > maxCallBytes) {
      const why = `${method}: expected at most ${maxCallBytes} bytes in one call`;
      return Promise.reject(new RoomtapError("invalid_params", why));
    }
    const call = ++this.#calls;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#post({ type: "abort", call });
        if (signal !== undefined) reject(abortOf(signal));
      };
      const over = (): void => signal?.removeEventListener("abort", onAbort);
      this.#open.set(call, {
        result: theirs.methods[method]?.result ?? neverSchema(method),
        resolve: (value) => (over(), signal?.aborted === true ? onLate(value) : resolve(value)),
        reject: (fault) => (over(), reject(fault)),
      });
      signal?.addEventListener("abort", onAbort, { once: true });
      const problem = this.#post({ type: "call", call, method, params });
      if (problem === null) return;
      this.#open.delete(call);
      over();
      reject(new RoomtapError("invalid_params", `${method}: it cannot be handed over: ${problem}`));
    });
  }

  /** Tells the other side; nothing comes back. Without effect on a line that is closed. */
  note<Note extends Name<Theirs["notes"]>>(note: Note, params: z.output<Theirs["notes"][Note]>): void {
    this.#post({ type: "note", note, params });
  }

  /** Ends it: our calls reject with `fault`, theirs are answered with it and aborted. Safe to call twice. */
  close(fault: Error): void {
    if (this.#closedBy !== null) return;
    for (const call of this.#serving.keys()) this.#post({ type: "refusal", call, fault: faultData(fault) });
    this.#closedBy = fault;
    this.#parts.port.close();
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const { reject } of open) reject(fault);
    const serving = [...this.#serving.values()];
    this.#serving.clear();
    for (const controller of serving) controller.abort(fault);
  }

  /** What is wrong with it, when it cannot be cloned. */
  #post(message: Message): string | null {
    if (this.#closedBy !== null) return null;
    try {
      this.#parts.port.postMessage(message);
      return null;
    } catch (fault) {
      return messageOf(fault);
    }
  }

  #receive(given: unknown): void {
    if (this.#closedBy !== null || this.#isBroken) return;
    const parsed = messageSchema.safeParse(given);
    if (!parsed.success) return this.#break(`a message that is none: ${parsed.error.issues[0]?.message ?? ""}`);
    const message = parsed.data;
    switch (message.type) {
      case "call":
        return this.#serve(message);
      case "note":
        return this.#take(message);
      case "abort":
        return this.#abort(message.call);
      case "answer":
        return this.#settle(message.call, message.value);
      case "refusal": {
        const open = this.#open.get(message.call);
        this.#open.delete(message.call);
        return open?.reject(faultOf(message.fault));
      }
    }
  }

  /** Nobody waits for it: it is over here as well, and what its code gives in the end goes nowhere. */
  #abort(call: number): void {
    const controller = this.#serving.get(call);
    if (controller === undefined) return;
    controller.abort();
    this.#refuse(call, controller, new RoomtapError("closed", "it was aborted"));
  }

  #settle(call: number, value: unknown): void {
    const open = this.#open.get(call);
    if (open === undefined) return;
    this.#open.delete(call);
    const parsed = open.result.safeParse(value);
    if (parsed.success) return open.resolve(parsed.data as never);
    const why = `an answer that is none: ${parsed.error.issues[0]?.message ?? ""}`;
    open.reject(new RoomtapError("plugin_failed", why));
    this.#break(why);
  }

  #serve({ call, method, params }: Extract<Message, { type: "call" }>): void {
    const { methods } = this.#parts.mine;
    const parsed = Object.hasOwn(methods, method) ? methods[method]?.params.safeParse(params) : undefined;
    if (parsed?.success !== true) return this.#break(`a call that is none: ${method}`);
    if (this.#serving.has(call) || this.#serving.size >= limits.maxWorkerCalls) {
      return this.#break(`more than ${limits.maxWorkerCalls} calls at a time`);
    }
    const controller = new AbortController();
    this.#serving.set(call, controller);
    void this.#carryOut(method, parsed.data, controller.signal).then(
      (value) => this.#answer(call, controller, value),
      (fault: unknown) => this.#refuse(call, controller, fault),
    );
  }

  async #carryOut(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    if (this.#served === null) throw new RoomtapError("closed", "the plugin is not set up");
    // The table of methods gives the params' type, and it was just checked.
    const carryOut = this.#served[method] as (params: unknown, signal: AbortSignal) => unknown;
    return carryOut(params, signal);
  }

  #answer(call: number, controller: AbortController, value: unknown): void {
    if (this.#serving.get(call) !== controller) return;
    this.#serving.delete(call);
    const problem = this.#post({ type: "answer", call, value });
    if (problem === null) return;
    const fault = new RoomtapError("invalid_params", `what was given cannot be handed over: ${problem}`);
    this.#post({ type: "refusal", call, fault: faultData(fault) });
  }

  #refuse(call: number, controller: AbortController, fault: unknown): void {
    if (this.#serving.get(call) !== controller) return;
    this.#serving.delete(call);
    this.#post({ type: "refusal", call, fault: faultData(fault) });
  }

  #take({ note, params }: Extract<Message, { type: "note" }>): void {
    const { notes } = this.#parts.mine;
    const parsed = Object.hasOwn(notes, note) ? notes[note]?.safeParse(params) : undefined;
    if (parsed?.success !== true) return this.#break(`a note that is none: ${note}`);
    (this.#served?.[note] as ((params: unknown) => void) | undefined)?.(parsed.data);
  }

  #break(why: string): void {
    this.#isBroken = true;
    this.#parts.onBroken(why);
  }
}

function abortOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error("it was aborted", { cause: reason });
}

function neverSchema(method: string): never {
  throw new RoomtapError("internal", `no such method: ${method}`);
}
