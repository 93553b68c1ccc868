import { messageOf, RoomtapError, utf8Length, type Client, type JsonObject } from "../../core/index.ts";
import { missingScope } from "../../rooms/index.ts";
import { whoIs } from "./audit.ts";
import type { TransportHost } from "./host.ts";
import type { RpcCall } from "./parse.ts";
import { unseenRoom } from "./room-access.ts";
import { isFault, rpcErrorOf, type RpcError } from "./rpc-errors.ts";
import { AtReply, type Method, type RpcTable } from "./rpc-table.ts";

/** What a call is answered with: the JSON of its result, or an error. */
export type Answer = { readonly ok: true; readonly json: string } | { readonly ok: false; readonly error: RpcError };

/** What a call has asked to be run behind its reply: when it went well, and in any case. */
interface Later {
  readonly reply: (() => void)[];
  readonly call: (() => void)[];
}

/** Carries calls out: known method, scope, whether the room is there for the caller, params, handler, in this order. */
export class Dispatcher<Host extends TransportHost> {
  readonly #table: RpcTable<Host>;
  readonly #host: Host;

  constructor(table: RpcTable<Host>, host: Host) {
    this.#table = table;
    this.#host = host;
  }

  /** Whether calls of the method by one connection wait for each other. */
  isPaced(method: string): boolean {
    return this.#table.method(method)?.paced === true;
  }

  /**
   * Carries a call out and queues its answer, once. What the call causes is begun in the same step, behind the answer.
   * Never rejects.
   */
  async call(client: Client, call: RpcCall, queue: (answer: Answer) => void): Promise<void> {
    const later: Later = { reply: [], call: [] };
    let answer: Answer;
    try {
      const method = this.#allowed(client, call.method, call.params ?? {});
      const made = this.#invoke(method, call, client, later);
      // What is there at once is answered at once: whoever reads the client's messages sees how many replies wait.
      const given = made instanceof Promise ? await made : made;
      if (made instanceof Promise) this.#checkAgain(client, call);
      answer = { ok: true, json: jsonOf(method, given instanceof AtReply ? given.make() : given) };
    } catch (fault) {
      answer = { ok: false, error: this.errorOf(call.method, fault) };
    }
    queue(answer);
    for (const run of answer.ok ? [...later.reply, ...later.call] : later.call) this.#begin(call.method, run);
  }

  /** What the caller is told of a fault. One of roomtap's own is reported. */
  errorOf(method: string, fault: unknown): RpcError {
    const error = rpcErrorOf(method, fault, this.#host.redactor);
    if (isFault(error)) this.#report(method, fault);
    return error;
  }

  #allowed(client: Client, name: string, params: JsonObject): Method<Host> {
    const method = this.#table.method(name);
    if (method === undefined) throw new RoomtapError("unknown_method", "there is no such method");
    const rule = this.#table.scope(name, method.scopeCase(params, { client, host: this.#host }));
    const isOwner = rule === "read_or_owner" && !client.holds("read") && this.#host.owns(client, name, params);
    const required = missingScope(rule, { scopes: client.scopes, isOwner });
    if (required === null) {
      const unseen = unseenRoom(client, name, params);
      if (unseen === null) return method;
      // The caller is not told that it is a matter of rights; who runs this is.
      const about = { method: name, ...whoIs(client), room_id: params["room_id"], reason: "not_granted" };
      this.#host.audit("refused", "call", about);
      throw unseen;
    }
    throw new RoomtapError("insufficient_scope", `this needs the scope ${required}`, {
      data: { required_scope: required },
    });
  }

  /** What was only asked for is not told to who lost the right to it meanwhile; what was done is answered. */
  #checkAgain(client: Client, { method, params }: RpcCall): void {
    const rule = this.#table.scope(method);
    if (rule === "read" || rule === "read_or_owner") this.#allowed(client, method, params ?? {});
  }

  #invoke(method: Method<Host>, { params }: RpcCall, client: Client, later: Later): unknown {
    if (params === null) throw new RoomtapError("invalid_params", "params is no object", { data: { path: "" } });
    return method.invoke(params, {
      client,
      host: this.#host,
      afterReply: (run) => void later.reply.push(run),
      afterCall: (run) => void later.call.push(run),
    });
  }

  #begin(method: string, run: () => void): void {
    try {
      run();
    } catch (fault) {
      // The caller was told that it went well, and what failed is on record.
      this.#report(method, fault);
    }
  }

  #report(method: string, fault: unknown): void {
    this.#host.report({ code: "internal", message: `${method} failed: ${messageOf(fault)}`, cause: fault });
  }
}

function jsonOf({ name, maxResultBytes }: Method<never>, result: unknown): string {
  const json = JSON.stringify(result) ?? "null";
  // A UTF-16 unit takes one to three bytes, so most texts need no counting.
  if (json.length * 3 <= maxResultBytes || utf8Length(json) <= maxResultBytes) return json;
  throw new RoomtapError("result_too_large", `the result of ${name} is above ${maxResultBytes} bytes: ask for less`);
}
