import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reasonCodes, startCauses, turnStatuses } from "../../core/index.ts";
import { settledPayloadSchema, startedPayloadSchema } from "../../rooms/index.ts";
import { isPayload } from "../../rooms/row-guard.ts";

const schemas = { "turn.started": startedPayloadSchema, "turn.settled": settledPayloadSchema } as const;

const id = fc.constantFrom("m-a", "msg-1", "constructor");
const count = fc.nat(1_000);
const author = fc.record(
  { kind: fc.constantFrom("person", "agent"), id, display_name: fc.string() },
  { requiredKeys: ["kind", "id"] },
);
const item = fc.oneof(
  fc.record(
    { message_id: id, author, text: fc.string(), attachments: fc.array(fc.string(), { maxLength: 2 }) },
    { requiredKeys: ["message_id", "author", "text"] },
  ),
  fc.record({ message_id: id, row_seq: fc.integer({ min: 1 }) }),
  fc.record({ row_seq: fc.integer({ min: 1 }) }),
);
const started = fc.record({
  input: fc.array(item, { minLength: 1, maxLength: 3 }),
  cause: fc.constantFrom(...startCauses),
  origin: fc.option(fc.string()),
  seen_through_seq: count,
  roster_digest: fc.string(),
  discussion: fc.record({ message_id: id, round: count, slot: count }),
});
const settled = fc.record({
  status: fc.constantFrom(...turnStatuses),
  reason_code: fc.option(fc.constantFrom(...Object.values(reasonCodes).flat())),
  text: fc.string(),
  truncated: fc.boolean(),
  error: fc.option(fc.string()),
  usage: fc.option(
    fc.dictionary(fc.constantFrom("input_tokens", "cost"), fc.double({ noNaN: true, max: 1e6, min: 0 })),
  ),
  activity_count: fc.option(fc.integer({ min: 1, max: 1_000 })),
  duration_ms: fc.option(count),
});
const valid = fc.oneof(
  fc.tuple(fc.constant("turn.started" as const), started),
  fc.tuple(fc.constant("turn.settled" as const), settled),
);

/** Replaces, removes or adds one value somewhere in the payload: what damage and newer versions do. */
const damaged = fc
  .tuple(valid, fc.nat(40), fc.oneof(fc.constant("gone"), fc.jsonValue(), fc.constant(-1)))
  .map(([[kind, payload], place, value]) => {
    const copy = JSON.parse(JSON.stringify(payload)) as object;
    let left = place;
    const walk = (node: object): boolean => {
      for (const [key, inner] of Object.entries(node)) {
        if (left-- === 0) {
          if (value === "gone") Reflect.deleteProperty(node, key);
          else Reflect.set(node, key, value);
          return true;
        }
        if (typeof inner === "object" && inner !== null && walk(inner as object)) return true;
      }
      if (left-- === 0) Reflect.set(node, "extra", value);
      return left < 0;
    };
    walk(copy);
    return [kind, JSON.parse(JSON.stringify(copy)) as unknown] as const;
  });

describe("isPayload", () => {
  it("takes every payload that the schema takes", () => {
    fc.assert(
      fc.property(valid, ([kind, payload]) => {
        const stored: unknown = JSON.parse(JSON.stringify(payload));
        expect(schemas[kind].safeParse(stored).success).toBe(true);
        expect(isPayload(kind, stored)).toBe(true);
      }),
    );
  });

  it("takes nothing that the schema refuses or would change", () => {
    fc.assert(
      fc.property(damaged, ([kind, payload]) => {
        if (!isPayload(kind, payload)) return;
        expect(schemas[kind].parse(payload)).toEqual(payload);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ["turn.paused", "{}"],
    ["turn.settled", '{"__proto__":{"status":"completed"}}'],
    ["turn.started", "[1,2,3,4,5,6]"],
    ["turn.started", "null"],
  ])("refuses %s %s", (kind, text) => {
    expect(isPayload(kind, JSON.parse(text))).toBe(false);
  });

  it("leaves a usage with a key `__proto__` to the schema", () => {
    const usage = '{"__proto__":1}';
    const rest = '"status":"completed","reason_code":null,"text":"","truncated":false,"error":null';
    const payload: unknown = JSON.parse(`{"usage":${usage},${rest},"activity_count":1,"duration_ms":1}`);
    expect(isPayload("turn.settled", payload)).toBe(false);
  });
});
