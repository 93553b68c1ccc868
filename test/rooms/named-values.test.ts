import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../core/index.ts";
import { openSqliteLogReader, verifyLog, type NamedValues } from "../../rooms/index.ts";
import { connect } from "../../rooms/sqlite/database.ts";
import { openLog, ownRoom, temporaryFolder } from "../support/open-log.ts";

const plenty = { keys: 1_000, bytes: 1_000_000 };

const put = (values: NamedValues, key: string, value: string, most = plenty, namespace = "a") =>
  values.set({ namespace, key, value }, most);

async function openValues(file = join(temporaryFolder(), "test.db")): Promise<NamedValues> {
  return (await openLog(file)).values;
}

describe("named values", () => {
  it("are there after the file was opened anew, byte for byte", async () => {
    const file = join(temporaryFolder(), "test.db");
    const first = await openLog(file);
    const text = 'a\0b é 😀 "quoted"';
    await put(first.values, text, text);
    await first.close();
    const values = await openValues(file);
    expect([await values.get("a", text), await values.keys("a", "a\0")]).toEqual([text, [text]]);
    expect([await values.delete("a", text), await values.delete("a", text)]).toEqual([true, false]);
    expect([await values.get("a", text), await values.keys("a", "")]).toEqual([undefined, []]);
  });

  it("of two namespaces know nothing of each other, nor do their quotas", async () => {
    const values = await openValues();
    const one = { keys: 1, bytes: 100 };
    expect([await put(values, "k", "1", one, "a"), await put(values, "k", "2", one, "b")]).toEqual([
      "stored",
      "stored",
    ]);
    expect([await put(values, "l", "3", one, "a"), await put(values, "l", "4", one, "ab")]).toEqual(["full", "stored"]);
    await values.delete("a", "k");
    expect([await values.get("a", "k"), await values.get("b", "k"), await values.keys("b", "")]).toEqual([
      undefined,
      "2",
      ["k"],
    ]);
  });

  it.each([
    ["one below", 11, "stored"],
    ["at the bound", 10, "stored"],
    ["one above", 9, "full"],
  ])("I8 are bounded in bytes of keys and values: %s", async (_, bytes, expected) => {
    const values = await openValues();
    // "é" has two bytes: 3 for the first entry, and 7 for the second.
    await put(values, "x", "é");
    expect(await put(values, "yé", "1234", { keys: 5, bytes })).toBe(expected);
    expect(await values.get("a", "yé")).toBe(expected === "stored" ? "1234" : undefined);
  });

  it.each([
    ["one below", 4, "stored"],
    ["at the bound", 3, "stored"],
    ["one above", 2, "full"],
  ])("I8 are bounded in keys: %s", async (_, keys, expected) => {
    const values = await openValues();
    for (const key of ["x", "y"]) await put(values, key, "");
    expect(await put(values, "z", "", { keys, bytes: 100 })).toBe(expected);
  });

  it("count a key that is replaced once, with its new value, and keep the old one when that does not fit", async () => {
    const values = await openValues();
    const most = { keys: 1, bytes: 5 };
    expect(await put(values, "k", "1234", most)).toBe("stored");
    expect(await put(values, "k", "abcd", most)).toBe("stored");
    expect(await put(values, "k", "12345", most)).toBe("full");
    expect(await values.get("a", "k")).toBe("abcd");
    expect(await put(values, "k", "", most)).toBe("stored");
    await values.delete("a", "k");
    expect(await put(values, "l", "1234", most)).toBe("stored");
  });

  it("I9 of sets side by side the last one asked for stands, and the quota lets in as many as fit", async () => {
    const values = await openValues();
    await Promise.all(["1", "2", "3"].map((value) => put(values, "k", value)));
    expect(await values.get("a", "k")).toBe("3");
    const keys = Array.from({ length: 300 }, (_, index) => `k${index}`);
    const results = await Promise.all(keys.map((key) => put(values, key, "v", { keys: 100, bytes: 10_000 })));
    expect(results.map((result) => result === "stored")).toEqual(keys.map((_, index) => index < 99));
    expect(await values.keys("a", "")).toHaveLength(100);
  });

  it.each([
    ["a key of half a character", { key: "\ud83d", value: "" }],
    ["a value of half a character", { key: "k", value: "a\udc00" }],
    ["no key", { key: "", value: "v" }],
  ])("refuse %s, which would come back different", async (_, { key, value }) => {
    const values = await openValues();
    await expect(put(values, key, value)).rejects.toMatchObject({ code: "invalid_params" });
    expect(await values.keys("a", "")).toEqual([]);
  });

  it("leave a file that a reader without a host reads, and that is verified", async () => {
    const file = join(temporaryFolder(), "test.db");
    const log = await openLog(file);
    await ownRoom(log);
    await put(log.values, "k", "v");
    await log.close();
    await using reader = await openSqliteLogReader({ file, clock: systemClock });
    const verdicts: unknown[] = [];
    for await (const { room_id, problem } of verifyLog(reader, systemClock)) verdicts.push([room_id, problem]);
    expect(verdicts).toEqual([["r1", null]]);
  });

  it("have counted bytes that nobody can set", async () => {
    const file = join(temporaryFolder(), "test.db");
    await put(await openValues(file), "ké", "v");
    const other = connect(file);
    expect(other.prepare("SELECT key, bytes FROM named_values").all()).toEqual([{ key: "ké", bytes: 4 }]);
    expect(() => other.exec("UPDATE named_values SET bytes = 0")).toThrow("CHECK constraint failed");
    const plan = other
      .prepare(
        "EXPLAIN QUERY PLAN SELECT sum(bytes) FROM named_values INDEXED BY named_values_by_size WHERE namespace = 'a'",
      )
      .get();
    expect(plan).toMatchObject({ detail: expect.stringContaining("COVERING INDEX") as string });
    other.close();
  });

  it("are what a plain map with the same bounds would hold, over 10,000 random operations", async () => {
    const values = await openValues();
    const most = { keys: 6, bytes: 40 };
    const names = fc.constantFrom("a", "b");
    const keys = fc.constantFrom("k", "ka", "kaé", "z", "é", "😀", "\uffee", "k0", "k1");
    const operation = fc.oneof(
      fc.record({
        what: fc.constant("set" as const),
        name: names,
        key: keys,
        value: fc.string({ unit: "grapheme", maxLength: 12 }),
      }),
      fc.record({ what: fc.constant("delete" as const), name: names, key: keys }),
      fc.record({ what: fc.constant("get" as const), name: names, key: keys }),
      fc.record({ what: fc.constant("keys" as const), name: names, key: fc.constantFrom("", "k", "ka", "x") }),
    );
    const models = { a: new Map<string, string>(), b: new Map<string, string>() };
    type Operation = typeof operation extends fc.Arbitrary<infer Value> ? Value : never;
    const ofModel = (given: Operation): unknown => {
      const model = models[given.name];
      switch (given.what) {
        case "set": {
          const after = new Map(model).set(given.key, given.value);
          const bytes = [...after].flat().reduce((sum, text) => sum + Buffer.byteLength(text), 0);
          if (after.size > most.keys || bytes > most.bytes) return "full";
          model.set(given.key, given.value);
          return "stored";
        }
        case "delete":
          return model.delete(given.key);
        case "get":
          return model.get(given.key);
        case "keys":
          return [...model.keys()]
            .filter((key) => key.startsWith(given.key))
            .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }
    };
    const ofValues = (given: Operation): Promise<unknown> => {
      switch (given.what) {
        case "set":
          return put(values, given.key, given.value, most, given.name);
        case "delete":
          return values.delete(given.name, given.key);
        case "get":
          return values.get(given.name, given.key);
        case "keys":
          return values.keys(given.name, given.key);
      }
    };
    const runs = fc.sample(fc.array(operation, { minLength: 100, maxLength: 100 }), { numRuns: 100, seed: 65 });
    let compared = 0;
    for (const run of runs) {
      for (const given of run) {
        expect([given, await ofValues(given)]).toEqual([given, ofModel(given)]);
        compared++;
      }
    }
    expect(compared).toBe(10_000);
  });
});
