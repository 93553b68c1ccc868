// A plugin of your own: its manifest, a config, batches of events, counts that are kept, and what every plugin must survive.
import assert from "node:assert/strict";
import { createRoomtap, definePlugin, type EventFor, type StandardSchema } from "roomtap";
import { conformanceChecks, openTestHost } from "roomtap/testing";

interface Config {
  readonly unit: string;
}

// Any library that speaks Standard Schema will do: zod, valibot, arktype. This one is made by hand.
const hasUnit = (value: unknown): value is Config =>
  typeof value === "object" && value !== null && "unit" in value && typeof value.unit === "string";
const validate: StandardSchema<Config>["~standard"]["validate"] = (value) =>
  hasUnit(value) ? { value } : { issues: [{ message: "expected a text", path: ["unit"] }] };

const toolCounter = definePlugin<Config>({
  id: "tool-counter",
  version: "1.0.0",
  manifest: { apiVersion: 1, hooks: ["tool.started"], permissions: { payload: "meta" } },
  config: { "~standard": { version: 1, vendor: "example", validate } },
  async setup(ctx, { unit }) {
    const counts = new Map((await ctx.storage.get("counts")) as readonly [string, number][] | undefined);
    // In one call what has come since the last one, 100 events at most. A gap among them would tell what was lost.
    const handler = (events: readonly EventFor<"tool.started">[]): void => {
      for (const { name } of events.flatMap((event) => (event.kind === "gap" ? [] : [event.payload])))
        if (counts.size < 500 || counts.has(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
    };
    ctx.on("tool.started", handler, { batch: 100 });
    ctx.onDrain(() => ctx.storage.set("counts", [...counts]));
    ctx.commands.add({
      name: "counts",
      summary: "calls by tool",
      run: () => [...counts].map(([name, n]) => `${name}: ${n} ${unit}`),
    });
  },
});
const entry = { plugin: toolCounter, config: { unit: "calls" } };

// In a host of its own, where a test plays the turns.
await using host = await openTestHost(entry);
host.turn().tool("search").ok().tool("search").fails().settled();
await host.settled();
await host.reload();
assert.deepEqual(await host.command("counts"), ["search: 2 calls"]);
assert.deepEqual(await host.storage.get("counts"), [["search", 2]]);
for (const check of conformanceChecks(entry)) await check.run();

// In a room.
const runner = { kind: "scripted", script: { steps: [{ tool: { id: "c", name: "search" } }] } } as const;
const rooms = [{ room_id: "shop", members: [{ handle: "clerk", runner }] }];
const tap = await createRoomtap({ db: ":memory:", rooms, plugins: [entry] });
await tap.room("shop").post({ text: "@clerk find it" });
await tap.finish();
const [info] = tap.plugins.list();
console.log(info?.id, info?.state, info?.permit.payload, info?.permit.hooks);
assert.deepEqual([info?.state, info?.handlers[0]?.published], ["running", 1]);
await tap.close();

const wrong = createRoomtap({ db: ":memory:", rooms, plugins: [{ plugin: toolCounter, config: {} }] });
await assert.rejects(wrong, { code: "invalid_config", message: "plugin tool-counter: config.unit: expected a text" });
