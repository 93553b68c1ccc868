import { z } from "zod";
import type { JsonObject } from "../../core/index.ts";
import { rpcNumber } from "./rpc-errors.ts";
import type { Method, RpcTable } from "./rpc-table.ts";

const jsonSchemaDialect = "https://json-schema.org/draft/2020-12/schema";
const openRpcVersion = "1.3.2";

/** Params and result of each method as JSON Schema, under `$defs` as `METHOD.params` and `METHOD.result`. */
export function jsonSchemaOf<Host>(table: RpcTable<Host>): JsonObject {
  const definitions = table.list().flatMap(({ name, params, result }): [string, JsonObject][] => [
    [`${name}.params`, schemaOf(params)],
    [`${name}.result`, schemaOf(result)],
  ]);
  return { $schema: jsonSchemaDialect, title: "roomtap gateway", $defs: Object.fromEntries(definitions) };
}

/** The gateway as an OpenRPC document. `x-scope` is what a caller must hold. */
export function openRpcOf<Host>(table: RpcTable<Host>, version: string): JsonObject {
  return {
    openrpc: openRpcVersion,
    info: { title: "roomtap gateway", version },
    methods: table.list().map((method) => openRpcMethod(method, table.scope(method.name))),
  };
}

function openRpcMethod<Host>({ name, summary, params, result, errors }: Method<Host>, scope: string): JsonObject {
  const { properties, required } = schemaOf(params) as { properties?: JsonObject; required?: readonly string[] };
  return {
    name,
    summary,
    paramStructure: "by-name",
    params: Object.entries(properties ?? {}).map(([param, schema]) => ({
      name: param,
      required: required?.includes(param) ?? false,
      schema,
    })),
    result: { name: "result", schema: schemaOf(result) },
    errors: errors.map((word) => {
      const { number, reason } = rpcNumber(name, word);
      return { code: number, message: reason, data: { reason } };
    }),
    "x-scope": scope,
  };
}

function schemaOf(schema: z.ZodType): JsonObject {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return rest;
}
