import {
  limits,
  messageOf,
  RoomtapError,
  Signal,
  type Client,
  type ErrorCode,
  type JsonObject,
} from "../../core/index.ts";
import { auditCall } from "./audit.ts";
import type { Counts } from "./counts.ts";
import type { Answer, Dispatcher } from "./dispatcher.ts";
import type { Response, TransportHost } from "./host.ts";
import { CallRate, WindowCount } from "./limits.ts";
import { pingMethod } from "./methods/gateway.ts";
import { parseMessage, tooLarge, type Parsed, type RpcCall, type RpcId } from "./parse.ts";
import { denials, errorText, type RpcError } from "./rpc-errors.ts";

/** How much one client may ask. */
export interface DialogueLimits {
  readonly callsPerSecond: number;
  readonly callBurst: number;
  readonly maxRefusedCalls: number;
  readonly maxDeniedCalls: number;
}

/** What a dialogue is made of. */
export interface DialogueParts<Host extends TransportHost> {
  readonly client: Client;
  readonly dispatcher: Dispatcher<Host>;
  readonly host: TransportHost;
  readonly counts: Counts;
  /** Null: as much as it likes, but for the calls in flight. */
  readonly limits: DialogueLimits | null;
  /** Whether `gateway.ping` is answered: not over stdio. */
  readonly hasHeartbeat: boolean;
  /** The client asks for too much, and is to be closed. */
  readonly onFlood?: (word: "frame_rate" | "denied_flood") => void;
}

interface Rates {
  readonly calls: CallRate;
  readonly refused: WindowCount;
  readonly denied: WindowCount;
}

/** One client's messages, whatever carries them: read, admitted, carried out, answered to it alone. */
export class Dialogue<Host extends TransportHost> {
  readonly #parts: DialogueParts<Host>;
  readonly #rates: Rates | null;
  /** Ids of calls that are not answered yet; those without one, and with null, are only counted. */
  readonly #openIds = new Set<RpcId>();
  #inFlight = 0;
  /** Resolves when the reply of the last paced call was written. */
  #pace: Promise<void> = Promise.resolve();
  /** Fires when nothing is in flight; null when nobody waits for that. */
  #idle: Signal | null = null;

  constructor(parts: DialogueParts<Host>) {
    this.#parts = parts;
    this.#rates = parts.limits === null ? null : ratesOf(parts.limits, parts.host.clock.monotonic());
  }

  /** @param message UTF-8; it is not turned into text when it is above the size that is read */
  receive(message: Buffer): void {
    if (message.length > limits.maxInboundBytes) this.refuseLarge(message.length);
    else this.#take(parseMessage(message.toString()));
  }

  /** Tells the client of a message above the size that is read. */
  refuseLarge(bytes: number): void {
    this.#take(tooLarge(bytes));
  }

  /** Resolves when all calls that were received are answered. */
  async idle(): Promise<void> {
    if (this.#inFlight > 0) await (this.#idle ??= new Signal()).fired;
  }

  #take(parsed: Parsed): void {
    switch (parsed.kind) {
      case "nothing":
        return;
      case "stray":
        this.#parts.counts.add("stray_response");
        return;
      case "response":
        this.#answered(parsed.response);
        return;
      case "refused":
        if (this.#admit(parsed.id)) this.#refuse(parsed.id, parsed.code, parsed.message);
        return;
      case "call":
        this.#receiveCall(parsed);
    }
  }

  #receiveCall(call: RpcCall): void {
    if (call.method === pingMethod && this.#parts.hasHeartbeat) {
      this.#reply(call.id, `{"ok":true}`);
      return;
    }
    if (!this.#admit(call.id)) return;
    if (this.#openIds.has(call.id ?? null)) {
      this.#refuse(call.id, "duplicate_id", "a call of this id is not answered yet");
      return;
    }
    if (this.#inFlight >= limits.maxCallsInFlight) {
      this.#refuseForRate(call.id, "too_many_calls", limits.busyRetryMs);
      return;
    }
    if (call.method === pingMethod) this.#refuse(call.id, "unknown_method", "there is no such method");
    else void this.#carryOut(call);
  }

  async #carryOut(call: RpcCall): Promise<void> {
    const { dispatcher, client } = this.#parts;
    const isNamed = call.id !== undefined && call.id !== null;
    if (isNamed) this.#openIds.add(call.id);
    this.#inFlight++;
    const onWritten = dispatcher.isPaced(call.method) ? await this.#nextPaced() : undefined;
    await dispatcher.call(client, call, (answer) => {
      this.#inFlight--;
      if (isNamed) this.#openIds.delete(call.id);
      this.#answer(call, answer, onWritten);
    });
    if (this.#inFlight === 0) this.#idle?.fire();
  }

  /** Waits for the paced call before; the call that is let go on says when its own reply was written. */
  async #nextPaced(): Promise<() => void> {
    const before = this.#pace;
    const written = new Signal();
    this.#pace = written.fired;
    await before;
    return written.fire;
  }

  #answer(call: RpcCall, answer: Answer, onWritten: (() => void) | undefined): void {
    auditCall(this.#parts.host.audit, this.#parts.client, call, answer);
    if (answer.ok) {
      this.#reply(call.id, answer.json, onWritten);
      return;
    }
    this.#replyError(call.id, answer.error, onWritten);
    const isDenied = denials.has(answer.error.data.reason);
    if (isDenied && this.#rates?.denied.add(this.#now()) === true) this.#parts.onFlood?.("denied_flood");
  }

  /** Whether the rate allows one more message; if not, its sender is told. */
  #admit(id: RpcId | undefined): boolean {
    const taken = this.#rates?.calls.take(this.#now()) ?? { ok: true };
    if (!taken.ok) this.#refuseForRate(id, "rate_limited", taken.retryAfterMs);
    return taken.ok;
  }

  #refuseForRate(id: RpcId | undefined, code: "rate_limited" | "too_many_calls", retryAfterMs: number): void {
    this.#refuse(id, code, "too many calls", { retry_after_ms: retryAfterMs });
    if (this.#rates?.refused.add(this.#now()) === true) this.#parts.onFlood?.("frame_rate");
  }

  #refuse(id: RpcId | undefined, code: ErrorCode, message: string, data?: JsonObject): void {
    const fault = new RoomtapError(code, message, data === undefined ? {} : { data });
    this.#replyError(id, this.#parts.dispatcher.errorOf("", fault));
  }

  #reply(id: RpcId | undefined, json: string, onWritten?: () => void): void {
    if (id !== undefined) this.#queue(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${json}}`, onWritten);
    else onWritten?.();
  }

  #replyError(id: RpcId | undefined, error: RpcError, onWritten?: () => void): void {
    this.#parts.counts.add(error.data.reason);
    if (id !== undefined) this.#queue(errorText(id, error), onWritten);
    else onWritten?.();
  }

  /** To the caller alone: if it has gone, to nobody. */
  #queue(text: string, onWritten?: () => void): void {
    const { client, counts } = this.#parts;
    if (client.isClosed) counts.add("lost_reply");
    else client.mailbox.reply(text, onWritten);
  }

  #answered(response: Response): void {
    const { host, client } = this.#parts;
    try {
      host.answered(client, response);
    } catch (fault) {
      host.report({ code: "internal", message: `an answer failed: ${messageOf(fault)}`, cause: fault });
    }
  }

  #now(): number {
    return this.#parts.host.clock.monotonic();
  }
}

function ratesOf(bounds: DialogueLimits, now: number): Rates {
  return {
    calls: new CallRate(bounds.callsPerSecond, bounds.callBurst, now),
    refused: new WindowCount(bounds.maxRefusedCalls),
    denied: new WindowCount(bounds.maxDeniedCalls),
  };
}
