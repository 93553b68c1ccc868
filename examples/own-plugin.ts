// A plugin of your own: it checks its config, counts tool calls, and is undone by the host in reverse order.
import assert from "node:assert/strict";
import { createRoomtap, definePlugin, RoomtapError, type StandardSchema } from "roomtap";

interface Config {
  readonly unit: string;
}

// Any library that speaks Standard Schema will do: zod, valibot, arktype. This one is made by hand.
const configSchema: StandardSchema<Config> = {
  "~standard": {
    version: 1,
    vendor: "example",
    validate: (value) =>
      typeof value === "object" && value !== null && "unit" in value && typeof value.unit === "string"
        ? { value: { unit: value.unit } }
        : { issues: [{ message: "expected a text", path: ["unit"] }] },
  },
};

const said: string[] = [];
const toolCounter = definePlugin({
  id: "tool-counter",
  version: "1.0.0",
  config: configSchema,
  setup(context, { unit }) {
    const counts = new Map<string, number>();
    context.defer(() => said.push(...[...counts].map(([name, count]) => `${name}: ${count} ${unit}`)));
    context.on("tool.*", (event) => {
      // A gap would tell what this handler lost; the pattern's other kinds are told apart by their type.
      if (event.kind !== "tool.started") return;
      counts.set(event.payload.name, (counts.get(event.payload.name) ?? 0) + 1);
    });
  },
});

const tool = { tool: { id: "c", name: "search" } };
const rooms = [
  { room_id: "shop", members: [{ handle: "clerk", runner: { kind: "scripted", script: { steps: [tool] } } as const }] },
];
const tap = await createRoomtap({
  db: ":memory:",
  rooms,
  plugins: [{ plugin: toolCounter, config: { unit: "calls" } }],
});
await tap.room("shop").post({ text: "@clerk find it" });
await tap.finish();
await tap.close();
console.log(said.join("\n"));
assert.deepEqual(said, ["search: 1 calls"]);

const wrong = createRoomtap({ db: ":memory:", rooms, plugins: [{ plugin: toolCounter, config: {} }] });
await assert.rejects(wrong, (fault) => {
  assert.ok(fault instanceof RoomtapError);
  assert.equal(fault.code, "invalid_config");
  assert.equal(fault.message, "plugin tool-counter: config.unit: expected a text");
  return true;
});
