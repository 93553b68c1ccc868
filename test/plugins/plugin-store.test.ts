import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { limits } from "../../core/index.ts";
import { definePlugin, PluginHost, type PluginContext } from "../../plugins/index.ts";
import type { NamedValues } from "../../rooms/index.ts";
import { openBus } from "../support/bus.ts";
import { openLog, temporaryFolder } from "../support/open-log.ts";

/** The storage of plugins that are set up on these values. */
async function storagesOf(values: NamedValues | undefined, ...ids: string[]): Promise<PluginContext["storage"][]> {
  const { observers, clock, notices } = openBus();
  const host = new PluginHost({ observers, clock, report: (notice) => notices.push(notice), values });
  const storages: PluginContext["storage"][] = [];
  for (const id of ids) {
    const plugin = definePlugin({ id, version: "1.0.0", setup: ({ storage }) => void storages.push(storage) });
    await host.load({ plugin });
  }
  return storages;
}

async function openStorage(id = "p"): Promise<PluginContext["storage"]> {
  const { values } = await openLog(join(temporaryFolder(), "test.db"));
  const [storage] = await storagesOf(values, id);
  if (storage === undefined) throw new Error("setup was not called");
  return storage;
}

describe("what a plugin stores", () => {
  it("is JSON by key, and is there for the same plugin after a restart", async () => {
    const file = join(temporaryFolder(), "test.db");
    const log = await openLog(file);
    const [first] = await storagesOf(log.values, "p");
    await first?.set("seen/main", { seq: 7, names: ["é", null], nested: { ok: true } });
    await first?.set("seen/other", 0);
    await first?.set("count", null);
    await log.close();
    const [storage] = await storagesOf((await openLog(file)).values, "p");
    expect(await storage?.get("seen/main")).toEqual({ seq: 7, names: ["é", null], nested: { ok: true } });
    expect([await storage?.get("count"), await storage?.get("gone")]).toEqual([null, undefined]);
    expect([await storage?.keys(), await storage?.keys("seen/")]).toEqual([
      ["count", "seen/main", "seen/other"],
      ["seen/main", "seen/other"],
    ]);
    expect([await storage?.delete("count"), await storage?.delete("count")]).toEqual([true, false]);
  });

  it("is seen by no other plugin", async () => {
    const { values } = await openLog(join(temporaryFolder(), "test.db"));
    const [a, b] = await storagesOf(values, "a", "b");
    await a?.set("k", "of a");
    expect([await b?.get("k"), await b?.keys(), await b?.delete("k")]).toEqual([undefined, [], false]);
    await b?.set("k", "of b");
    expect(await a?.get("k")).toBe("of a");
  });

  it("I8 is 1 MiB at most, keys included; what does not fit changes nothing", async () => {
    const storage = await openStorage();
    const room = limits.maxStorageBytes - "key".length - '""'.length;
    await storage.set("key", "x".repeat(room - 1));
    await storage.set("key", "x".repeat(room));
    await expect(storage.set("key", "x".repeat(room + 1))).rejects.toMatchObject({
      code: "quota_exceeded",
      message: 'plugin p: storage: "key" does not fit into 1024 keys and 1048576 bytes',
    });
    await expect(storage.set("a", 1)).rejects.toMatchObject({ code: "quota_exceeded" });
    expect([await storage.keys(), String(await storage.get("key")).length]).toEqual([["key"], room]);
    await storage.set("key", "short");
    await storage.set("a", 1);
  });

  it("I8 is 1,024 keys at most", async () => {
    const storage = await openStorage();
    const keys = Array.from({ length: limits.maxStorageKeys }, (_, index) => `k${index}`);
    await Promise.all(keys.map((key) => storage.set(key, 1)));
    await storage.set("k0", 2);
    await expect(storage.set("one more", 1)).rejects.toMatchObject({ code: "quota_exceeded" });
    await storage.delete("k1");
    await storage.set("one more", 1);
  });

  it("is asked for one call after the other, and more than 1,024 calls or 4 MiB that wait are refused", async () => {
    let running = 0;
    let most = 0;
    const within = async <Value>(value: Value): Promise<Value> => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
      return value;
    };
    const [storage] = await storagesOf(
      {
        get: () => within(undefined),
        set: () => within("stored" as const),
        delete: () => within(true),
        keys: () => within([]),
      },
      "p",
    );
    if (storage === undefined) throw new Error("setup was not called");
    const codesOf = async (calls: readonly Promise<unknown>[]): Promise<readonly unknown[]> =>
      (await Promise.allSettled(calls)).map((each) =>
        each.status === "fulfilled" ? "done" : (each.reason as { code: unknown }).code,
      );
    const calls = Array.from({ length: limits.maxStorageCalls + 2 }, (_, index) => storage.get(`k${index}`));
    const told = await codesOf(calls);
    expect([told.indexOf("too_many_calls"), told.lastIndexOf("done")]).toEqual([1_024, 1_023]);
    const value = "x".repeat(limits.maxStorageBytes - 2);
    expect(await codesOf(Array.from({ length: 5 }, () => storage.set("k", value)))).toEqual([
      ...["done", "done", "done", "done"],
      "too_many_calls",
    ]);
    await storage.set("k", value);
    expect(most).toBe(1);
  });

  it.each([
    ["one below", limits.maxStorageKeyUnits - 1, true],
    ["at the bound", limits.maxStorageKeyUnits, true],
    ["one above", limits.maxStorageKeyUnits + 1, false],
  ])("I8 has keys of 256 characters at most: %s", async (_, length, fits) => {
    const storage = await openStorage();
    const setting = storage.set("k".repeat(length), 1);
    if (fits) await setting;
    else await expect(setting).rejects.toMatchObject({ code: "invalid_params" });
    expect(await storage.keys()).toHaveLength(fits ? 1 : 0);
  });

  it.each([
    ["no text as key", 5 as unknown as string, 1, "plugin p: storage: key: expected 1 to 256 characters, got 5"],
    ["half a character in a key", "\ud83d", 1, /^plugin p: storage: key: expected 1 to 256 characters, got /],
    ["a function", "k", () => 1, 'plugin p: storage: value of "k": expected a value that JSON has'],
    ["nothing", "k", undefined, 'plugin p: storage: value of "k": expected a value that JSON has'],
    ["a big integer", "k", 1n, /^plugin p: storage: value of "k": .*BigInt/],
  ])("refuses %s", async (_, key, value, message) => {
    const storage = await openStorage();
    await expect(storage.set(key, value)).rejects.toThrow(message);
    await expect(storage.set(key, value)).rejects.toMatchObject({ code: "invalid_params" });
    expect(await storage.keys()).toEqual([]);
  });

  it("is refused by a host that has nowhere to store", async () => {
    const [storage] = await storagesOf(undefined, "p");
    await expect(storage?.get("k")).rejects.toMatchObject({
      code: "closed",
      message: "plugin p: this host has no database to store in",
    });
  });
});
