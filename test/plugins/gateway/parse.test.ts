import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseMessage } from "../../../plugins/gateway/parse.ts";

describe("parseMessage", () => {
  it.each([
    ["", { kind: "nothing" }],
    [" \r\n\t ", { kind: "nothing" }],
    ['{"id":1,"method":"m"}', { kind: "call", id: 1, method: "m", params: {} }],
    ['\n{"id":"1","method":"m","params":{"a":[1]}}\n', { kind: "call", id: "1", method: "m", params: { a: [1] } }],
    ['{"method":"m","params":[1]}', { kind: "call", id: undefined, method: "m", params: null }],
    ['{"id":"srq-1","result":null}', { kind: "response", response: { id: "srq-1", result: null } }],
    [
      '{"id":"srq-1","error":{"code":-32601}}',
      { kind: "response", response: { id: "srq-1", error: { code: -32601 } } },
    ],
    ['{"id":"srq-1","result":1,"error":null}', { kind: "response", response: { id: "srq-1", error: null } }],
    ['{"id":1,"result":1}', { kind: "stray" }],
    ['{"result":1}', { kind: "stray" }],
    ["{} {}", { kind: "refused", id: null, code: "parse_error" }],
    ['{"id":1,"method":"m"}{"id":2,"method":"m"}', { kind: "refused", id: null, code: "parse_error" }],
    ["{}", { kind: "refused", id: null, code: "invalid_request" }],
    ["null", { kind: "refused", id: null, code: "invalid_request" }],
    ['"text"', { kind: "refused", id: null, code: "invalid_request" }],
    ['{"id":1,"method":null}', { kind: "refused", id: 1, code: "invalid_request" }],
  ])("reads %s", (text, expected) => {
    expect(parseMessage(text)).toMatchObject(expected);
  });

  it("counts no brackets in strings", () => {
    const text = JSON.stringify({ id: 1, method: '"\\[{'.repeat(100), params: { a: '[\\"['.repeat(100) } });
    expect(parseMessage(text)).toMatchObject({ kind: "call", id: 1 });
  });

  it("reads every call that JSON can say, as it was said", () => {
    const id = fc.oneof(fc.string(), fc.maxSafeInteger(), fc.constant(null));
    const params = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(id, fc.string(), params, (callId, method, values) => {
        const text = JSON.stringify({ jsonrpc: "2.0", id: callId, method, params: values });
        expect(JSON.stringify(parseMessage(text))).toBe(
          JSON.stringify({ kind: "call", id: callId, method, params: values }),
        );
      }),
    );
  });

  it("throws at nothing", () => {
    const pieces = fc.array(
      fc.oneof(fc.string(), fc.constantFrom("{", "}", "[", "]", '"', "\\", ":", ",", "id", "1e999")),
    );
    fc.assert(
      fc.property(pieces, (parts) => {
        expect(["nothing", "call", "response", "stray", "refused"]).toContain(parseMessage(parts.join("")).kind);
      }),
    );
  });
});
