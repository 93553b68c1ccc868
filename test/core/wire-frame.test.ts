import { describe, expect, it, vi } from "vitest";
import { Chunk, limits, utf8Length, WireFrame, type EventFrame, type JsonObject } from "../../core/index.ts";
import { lines } from "../support/fan-out.ts";

function event(payload: JsonObject): EventFrame {
  return { jsonrpc: "2.0", method: "event", params: { type: "tool.complete", session_id: "s-1", seq: 7, payload } };
}

/** An event that takes `bytes` on the wire. */
function eventOf(bytes: number): EventFrame {
  return event({ result: "x".repeat(bytes - JSON.stringify(event({ result: "" })).length) });
}

describe("a frame on the wire", () => {
  it("is its JSON, counted in UTF-8", () => {
    const frame = event({ text: "å\n" });
    const wireFrame = new WireFrame(frame);
    expect([wireFrame.json, wireFrame.seq]).toEqual([JSON.stringify(frame), 7]);
    expect([wireFrame.bytes, wireFrame.paramsBytes]).toEqual([
      utf8Length(JSON.stringify(frame)),
      utf8Length(JSON.stringify(frame.params)),
    ]);
  });

  it("I8 is left alone up to 8 MiB, and cut beyond", () => {
    for (const [bytes, isCut] of [
      [limits.maxWireFrameBytes - 1, false],
      [limits.maxWireFrameBytes, false],
      [limits.maxWireFrameBytes + 1, true],
    ] as const) {
      const { frame, bytes: sent } = new WireFrame(eventOf(bytes));
      expect(["truncated" in (("id" in frame ? null : frame.params.payload) ?? {}), sent === bytes]).toEqual([
        isCut,
        !isCut,
      ]);
      expect(sent).toBeLessThanOrEqual(limits.maxWireFrameBytes);
    }
  });

  it.each(["é", "字", "😀", "\u0001", '"'])("C-074 is cut also where a character takes many bytes: %j", (unit) => {
    const bytesOf = utf8Length(JSON.stringify(unit)) - 2;
    const result = unit.repeat(Math.ceil(limits.maxWireFrameBytes / bytesOf) + 1);
    const wireFrame = new WireFrame(event({ tool_id: "c1", outcome: "ok", result, summary: "short" }));
    const { frame, bytes } = wireFrame;
    expect(bytes).toBeLessThanOrEqual(limits.maxWireFrameBytes);
    expect(bytes).toBeGreaterThan(limits.maxWireFrameBytes / 2);
    expect("id" in frame ? null : frame.params.payload).toMatchObject({
      tool_id: "c1",
      outcome: "ok",
      summary: "short",
      truncated: [{ field: "result", bytes: utf8Length(result) }],
    });
  });

  it("says which texts were cut, and keeps what names the call", () => {
    const result = "€".repeat(5_000_000);
    const { frame, json, bytes } = new WireFrame(event({ tool_id: "call-1", result, summary: "short" }));
    if ("id" in frame) throw new Error("it is an event");
    const { payload, ...params } = frame.params;
    expect(params).toEqual({ type: "tool.complete", session_id: "s-1", seq: 7 });
    expect(payload).toMatchObject({
      tool_id: "call-1",
      summary: "short",
      truncated: [{ field: "result", bytes: 15_000_000 }],
    });
    expect(/^€+$/u.test(String(payload?.["result"]))).toBe(true);
    expect([bytes, bytes > limits.maxWireFrameBytes / 2]).toEqual([utf8Length(json), true]);
  });

  it("fits also when its text grows as JSON", () => {
    const { frame, bytes } = new WireFrame(event({ text: "\u0001".repeat(3_000_000), more: "\n".repeat(9_000_000) }));
    expect(bytes).toBeLessThanOrEqual(limits.maxWireFrameBytes);
    expect("id" in frame ? null : frame.params.payload?.["truncated"]).toEqual([
      { field: "text", bytes: 3_000_000 },
      { field: "more", bytes: 9_000_000 },
    ]);
  });

  it("keeps its number when its text cannot be a string", () => {
    const stringify = vi.spyOn(JSON, "stringify").mockImplementationOnce(() => {
      throw new RangeError("Invalid string length");
    });
    const { frame, seq } = new WireFrame(event({ text: "a text of which JSON makes too much" }));
    stringify.mockRestore();
    expect([seq, frame]).toEqual([7, event({ unserialisable: true })]);
  });

  it("of a request is cut in its params, and keeps its session", () => {
    const params = { session_id: "s-1", question: "x".repeat(9_000_000) };
    const { frame } = new WireFrame({ jsonrpc: "2.0", id: "srq-0123456789ab", method: "clarify", params });
    expect(frame).toMatchObject({
      id: "srq-0123456789ab",
      method: "clarify",
      params: { session_id: "s-1", truncated: [{ field: "question", bytes: 9_000_000 }] },
    });
  });
});

describe("a chunk", () => {
  it("is encoded once for all who ask", () => {
    const chunk = new Chunk(null, [new WireFrame(event({ k: 1 })), new WireFrame(event({ k: 2 }))]);
    const bytes = chunk.encoded(lines);
    expect(new TextDecoder().decode(bytes)).toBe(
      `${JSON.stringify(event({ k: 1 }))}\n${JSON.stringify(event({ k: 2 }))}\n`,
    );
    expect([chunk.encoded(lines) === bytes, chunk.bytes]).toEqual([true, bytes.length - 2]);
  });
});
