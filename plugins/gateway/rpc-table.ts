import type { z } from "zod";
import { limits, RoomtapError, type Client, type ErrorCode, type JsonObject } from "../../core/index.ts";
import { scopeOf, type ScopeRule } from "../../rooms/index.ts";
import { issueText } from "../issue-text.ts";
import type { GatewayHost } from "./host.ts";

/*
 * How a method is written. A file of `methods/` holds one area and exports its methods as a list:
 *
 *   export const clarifyMethods: readonly Method[] = [
 *     defineMethod({
 *       name: "clarify.lock",
 *       summary: "Answers one question of a batch.",
 *       params: z.object({ request_id: z.string(), question_id: z.string(), answer: z.string() }),
 *       result: z.object({ status: z.enum(["ok", "already_resolved"]), remaining: z.array(z.string()) }),
 *       errors: ["unknown_question", "unknown_request"],
 *       handler: ({ request_id, question_id, answer }, { client, host }) => ...,
 *     }),
 *   ];
 *
 * - `params` is a plain `z.object`: unknown keys are dropped, a known key of the wrong type is refused before the handler
 *   is called. The handler checks nothing again.
 * - The scope does not stand here: it is the entry of the name in the table of scopes, and none means `admin`.
 * - A refusal is a thrown `RoomtapError`; `rpc-errors.ts` knows its number for this method. `data` of the error goes out
 *   beside `reason`. What else is thrown is a fault: the caller learns `internal`, the report learns the rest.
 * - What the call causes goes out behind its reply: `call.afterReply(() => turn.begin())`.
 * - A result that must be of the very moment in which the reply is queued (a snapshot that live frames follow) is returned
 *   as `atReply(() => ...)`: the function, the queueing and what was given to `afterReply` are one synchronous step.
 */

/** Who calls, and on what. */
export interface Calling<Host = GatewayHost> {
  readonly client: Client;
  readonly host: Host;
}

/** Who calls, and what a handler works with. */
export interface Call<Host = GatewayHost> extends Calling<Host> {
  /**
   * Runs `run` once the reply stands in the caller's line, in the same step; also when the caller has gone meanwhile or
   * wants no reply. Not when the call fails.
   */
  readonly afterReply: (run: () => void) => void;
  /** Runs `run` once the call is over, behind its reply and what was given to `afterReply`; also when the call fails. */
  readonly afterCall: (run: () => void) => void;
}

/** A result that is made in the step in which the reply is queued. */
export class AtReply<Result> {
  readonly make: () => Result;

  constructor(make: () => Result) {
    this.make = make;
  }
}

/** Makes the result in the step in which the reply is queued. `make` may throw as a handler may. */
export function atReply<Result>(make: () => Result): AtReply<Result> {
  return new AtReply(make);
}

/**
 * What fits a schema as far as its named fields go: what a loose object holds besides is not asked for, and everything may be
 * read-only.
 */
export type Fitting<Value> = Value extends readonly (infer Item)[]
  ? readonly Fitting<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value as string extends Key ? never : Key]: Fitting<Value[Key]> }
    : Value;

/** What a handler gives: the result, now, later, or in the step of the reply. */
export type Given<Result> = Result | AtReply<Result> | Promise<Result | AtReply<Result>>;

/** A method as its author writes it. */
export interface MethodDefinition<Params extends z.ZodObject, Result extends z.ZodType, Host> {
  readonly name: string;
  /** One sentence for the documentation. */
  readonly summary: string;
  readonly params: Params;
  /** For the documentation and the types; a result is not checked when it leaves. */
  readonly result: Result;
  /** Refusals beside those that any call can meet. */
  readonly errors?: readonly ErrorCode[];
  /** A larger reply is refused with `result_too_large`. UTF-8 bytes of the result; default 4 MiB. */
  readonly maxResultBytes?: number;
  /** Calls of one connection wait for each other: the next begins when the reply of the one before was written out. */
  readonly paced?: boolean;
  /** Which case of the method a call is: the table of scopes may have a rule for it. Of params that nobody has checked. */
  readonly scopeCase?: (params: JsonObject, calling: Calling<Host>) => string | undefined;
  readonly handler: (params: z.output<Params>, call: Call<Host>) => Given<Fitting<z.input<Result>>>;
}

/** A method as the dispatcher knows it. */
export interface Method<Host = GatewayHost> {
  readonly name: string;
  readonly summary: string;
  readonly params: z.ZodObject;
  readonly result: z.ZodType;
  readonly errors: readonly ErrorCode[];
  readonly maxResultBytes: number;
  readonly paced: boolean;
  scopeCase(params: JsonObject, calling: Calling<Host>): string | undefined;
  /** @throws RoomtapError `invalid_params` with `data.path`, before anything has happened; and what the handler throws */
  invoke(params: JsonObject, call: Call<Host>): unknown;
}

/** Gives a method its types. */
export function defineMethod<Params extends z.ZodObject, Result extends z.ZodType, Host = GatewayHost>(
  definition: MethodDefinition<Params, Result, Host>,
): Method<Host> {
  const { params: schema, handler, errors = [], maxResultBytes = limits.maxResultBytes, paced = false } = definition;
  const { name, summary, result, scopeCase = () => undefined } = definition;
  const invoke = (params: JsonObject, call: Call<Host>): unknown => handler(parseParams(schema, params), call);
  return { name, summary, params: schema, result, errors, maxResultBytes, paced, scopeCase, invoke };
}

/** The methods of a gateway by name. */
export class RpcTable<Host = GatewayHost> {
  readonly #methods = new Map<string, Method<Host>>();

  /** @throws RoomtapError `duplicate_id` when two methods have one name */
  constructor(methods: readonly Method<Host>[]) {
    for (const method of methods) {
      if (this.#methods.has(method.name)) {
        throw new RoomtapError("duplicate_id", `two methods are called ${method.name}`);
      }
      this.#methods.set(method.name, method);
    }
  }

  method(name: string): Method<Host> | undefined {
    return this.#methods.get(name);
  }

  /** All of them, by name. */
  list(): readonly Method<Host>[] {
    return [...this.#methods.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /**
   * What a caller of the method must hold.
   * @param scopeCase which case of the method the call is
   */
  scope(name: string, scopeCase?: string): ScopeRule {
    return scopeOf("method", name, scopeCase);
  }
}

function parseParams<Params extends z.ZodObject>(schema: Params, params: JsonObject): z.output<Params> {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = issue?.path.join(".") ?? "";
  const problem = issue === undefined ? "not valid" : issueText(issue);
  throw new RoomtapError("invalid_params", `${path === "" ? "params" : path}: ${problem}`, { data: { path } });
}
