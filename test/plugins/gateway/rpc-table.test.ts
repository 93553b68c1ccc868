import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createRedactor, errorTable, RoomtapError, type ErrorCode } from "../../../core/index.ts";
import {
  defineMethod,
  gatewayTable,
  jsonSchemaOf,
  openRpcOf,
  rpcNumber,
  RpcTable,
  type TransportHost,
} from "../../../plugins/gateway/index.ts";
import { rpcErrorOf } from "../../../plugins/gateway/rpc-errors.ts";
import { scopeTable } from "../../../rooms/index.ts";

const greet = defineMethod<
  z.ZodObject<{ name: z.ZodString; loud: z.ZodOptional<z.ZodBoolean> }>,
  z.ZodString,
  TransportHost
>({
  name: "groups.send",
  summary: "Greets.",
  params: z.object({ name: z.string(), loud: z.boolean().optional() }),
  result: z.string(),
  errors: ["unknown_room", "log_full"],
  handler: ({ name }) => `hello ${name}`,
});

describe("the table of methods", () => {
  it("has an entry in the table of scopes for each method", () => {
    const names = gatewayTable.list().map(({ name }) => name);
    expect(names.filter((name) => !Object.hasOwn(scopeTable.method, name))).toEqual([]);
  });

  it("has a number for each word that a method says it refuses with", () => {
    const unnamed = gatewayTable
      .list()
      .flatMap(({ name, errors }) => errors.filter((word) => rpcNumber(name, word).reason !== word));
    expect(unnamed).toEqual([]);
  });

  it("has no method twice", () => {
    expect(() => new RpcTable([greet, greet])).toThrow(expect.objectContaining({ code: "duplicate_id" }));
  });

  it("is told as JSON Schema", () => {
    expect(jsonSchemaOf(new RpcTable([greet]))).toEqual({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      title: "roomtap gateway",
      $defs: {
        "groups.send.params": {
          type: "object",
          properties: { name: { type: "string" }, loud: { type: "boolean" } },
          required: ["name"],
        },
        "groups.send.result": { type: "string" },
      },
    });
  });

  it("is told as an OpenRPC document", () => {
    expect(openRpcOf(new RpcTable([greet]), "1.2.3")).toEqual({
      openrpc: "1.3.2",
      info: { title: "roomtap gateway", version: "1.2.3" },
      methods: [
        {
          name: "groups.send",
          summary: "Greets.",
          paramStructure: "by-name",
          params: [
            { name: "name", required: true, schema: { type: "string" } },
            { name: "loud", required: false, schema: { type: "boolean" } },
          ],
          result: { name: "result", schema: { type: "string" } },
          errors: [
            { code: 4111, message: "unknown_room", data: { reason: "unknown_room" } },
            { code: 5112, message: "log_full", data: { reason: "log_full" } },
          ],
          "x-scope": "write",
        },
      ],
    });
  });
});

describe("the number of a word", () => {
  it.each([
    ["session.resume", "unknown_session", 4001, "unknown_session"],
    ["prompt.submit", "idempotency_conflict", 4091, "idempotency_conflict"],
    ["groups.send", "idempotency_conflict", 4111, "idempotency_conflict"],
    ["groups.create", "driver_unavailable", 4123, "driver_unavailable"],
    ["groups.approve", "invalid_choice", 4115, "invalid_choice"],
    ["approval.respond", "invalid_choice", 4007, "invalid_choice"],
    ["rooms.cancel", "unknown_turn", 4130, "unknown_turn"],
    ["rooms.state", "log_busy", 5130, "log_busy"],
    ["groups.log", "internal", 5113, "internal"],
    ["prompt.submit", "log_full", 5070, "log_full"],
    ["prompt.submit", "closed", 5035, "shutting_down"],
    ["prompt.submit", "log_read_only", 5071, "log_unavailable"],
    ["prompt.submit", "invalid_plugin", -32603, "internal"],
    ["groups.send", "invalid_params", -32602, "invalid_params"],
    ["plugins.enable", "invalid_plugin", 4141, "invalid_plugin"],
    ["plugins.enable", "plugin_failed", 4145, "plugin_failed"],
    ["plugins.run", "plugin_failed", 5140, "plugin_failed"],
    ["plugins.run", "unknown_room", 4146, "unknown_room"],
    ["plugins.run", "log_busy", 5141, "log_busy"],
    ["plugins.run", "internal", 5141, "internal"],
    ["rooms.subscribe", "insufficient_scope", 4300, "insufficient_scope"],
  ] as const)("%s %s is %i %s", (method, code, number, reason) => {
    expect(rpcNumber(method, code)).toEqual({ number, reason });
  });

  it("is one for each word wherever no method has its own", () => {
    const numbers = (Object.keys(errorTable) as ErrorCode[]).map((code) => rpcNumber("prompt.submit", code));
    expect(numbers.every(({ number, reason }) => number !== 0 && reason in errorTable)).toBe(true);
    expect(numbers.map(({ number }) => number).filter((number) => [-32000, 4000, 4009].includes(number))).toEqual([]);
  });
});

describe("what a client is told of a fault", () => {
  const redactor = createRedactor({ literals: ["tok_EXAMPLE_0123456789"] });

  it("is the message of a refusal, without secrets", () => {
    const fault = new RoomtapError("unknown_session", "no session tok_EXAMPLE_0123456789", {
      data: { stored_session_id: "s1", reason: "forged" },
    });
    expect(rpcErrorOf("session.resume", fault, redactor)).toEqual({
      code: 4001,
      message: "no session [redacted]",
      data: { stored_session_id: "s1", reason: "unknown_session" },
    });
  });

  it("is only what its code means, when the server failed", () => {
    const fault = new RoomtapError("log_unavailable", "EIO at /srv/rooms.db", { data: { path: "/srv" } });
    expect(rpcErrorOf("prompt.submit", fault, redactor)).toEqual({
      code: 5071,
      message: "The database could not be opened or used.",
      data: { reason: "log_unavailable" },
    });
  });
});
