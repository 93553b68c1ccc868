import { describe, expect, it } from "vitest";
import { createEmitter } from "../../core/index.ts";

describe("an emitter", () => {
  it("isolates a listener that throws, and one that rejects", async () => {
    const faults: unknown[] = [];
    const heard: string[] = [];
    const emitter = createEmitter<{ note: string }>((fault, name) => void faults.push([fault, name]));
    emitter.on("note", () => {
      throw new Error("thrown");
    });
    emitter.on("note", (() => Promise.reject(new Error("rejected"))) as () => void);
    emitter.on("note", (note) => void heard.push(note));
    emitter.emit("note", "a");
    await Promise.resolve();
    expect(heard).toEqual(["a"]);
    expect(faults).toEqual([
      [new Error("thrown"), "note"],
      [new Error("rejected"), "note"],
    ]);
  });

  it("undoes one registration at a time, also while it emits", () => {
    const heard: string[] = [];
    const emitter = createEmitter<{ note: string }>(() => expect.unreachable());
    const listener = (note: string): void => void heard.push(note);
    const undo = emitter.on("note", listener);
    emitter.on("note", () => undo());
    emitter.on("note", listener);
    emitter.emit("note", "a");
    emitter.emit("note", "b");
    undo();
    emitter.emit("note", "c");
    emitter.clear();
    emitter.emit("note", "d");
    expect(heard).toEqual(["a", "a", "b", "c"]);
  });
});
