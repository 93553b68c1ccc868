import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gatewayTable } from "../../plugins/index.ts";
import { runCommand } from "../support/command.ts";

const names = gatewayTable.list().map(({ name }) => name);

/** All references in a document, whatever stands around them. */
function references(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) =>
    key === "$ref" && typeof part === "string" ? [part] : references(part),
  );
}

describe("schema", () => {
  it("prints JSON Schema for the params and the result of every method", async () => {
    const { status, stdout, stderr } = await runCommand(["schema"]);
    expect([status, stderr]).toEqual([0, ""]);
    const document = JSON.parse(stdout) as { $schema: string; $defs: Record<string, z.core.JSONSchema.JSONSchema> };
    expect(document.$schema).toBe("https://json-schema.org/draft/2020-12/schema");
    expect(Object.keys(document.$defs)).toEqual(names.flatMap((name) => [`${name}.params`, `${name}.result`]));
    expect(references(document)).toEqual([]);
    const submit = z.fromJSONSchema(document.$defs["prompt.submit.params"] ?? {});
    expect(submit.safeParse({ session_id: "s-1", text: "hello", later: true }).success).toBe(true);
    expect(submit.safeParse({ session_id: "s-1", text: 1 }).success).toBe(false);
    expect(submit.safeParse({ text: "hello" }).success).toBe(false);
    // Each of them is one that a reader of JSON Schema can take.
    for (const schema of Object.values(document.$defs)) expect(() => z.fromJSONSchema(schema)).not.toThrow();
  });

  it("prints an OpenRPC document with every method, its scope and its errors", async () => {
    const { status, stdout } = await runCommand(["schema", "--openrpc"]);
    expect(status).toBe(0);
    const document = JSON.parse(stdout) as {
      openrpc: string;
      info: object;
      methods: { name: string; params: { name: string; required: boolean }[]; errors: object[] }[];
    };
    expect(document.openrpc).toBe("1.3.2");
    expect(document.info).toMatchObject({
      title: "roomtap gateway",
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    });
    expect(document.methods.map(({ name }) => name)).toEqual(names);
    const submit = document.methods.find(({ name }) => name === "prompt.submit");
    expect(submit).toMatchObject({ paramStructure: "by-name", "x-scope": "write" });
    expect(submit?.params.filter(({ required }) => required).map(({ name }) => name)).toEqual(["session_id", "text"]);
    expect(submit?.errors).toContainEqual({ code: 4090, message: "queue_full", data: { reason: "queue_full" } });
  });
});
