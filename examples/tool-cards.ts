// The cards of a turn that calls two tools: one ends well, the other one is still open when the turn ends.
import assert from "node:assert/strict";
import { cards, createRoomtap } from "roomtap";

const lines: string[] = [];
const tap = await createRoomtap({
  db: ":memory:",
  rooms: [
    {
      room_id: "lab",
      members: [
        {
          handle: "builder",
          runner: {
            kind: "scripted",
            script: {
              steps: [
                { tool: { id: "call-1", name: "read_file", args: { path: "PLAN.md" }, result: "1. build" } },
                { tool_start: { id: "call-2", name: "run_command", args: { command: "make" } } },
                { finish: "The build runs." },
              ],
            },
          },
        },
      ],
    },
  ],
  plugins: [{ plugin: cards({ write: (line) => lines.push(line), nameOf: (id) => id.replace("m-", "") }) }],
});

await tap.room("lab").post({ text: "@builder please build" });
await tap.finish();
await tap.close();

console.log(lines.join("\n"));
const withoutTimes = lines.map((line) => line.replace(/\d+ ms/, "_ ms"));
assert.deepEqual(withoutTimes, [
  "lab @builder ▶ running (mention, attempt 1) local: @builder please build",
  'lab @builder ⚙ read_file {"path":"PLAN.md"}',
  "lab @builder ✓ read_file: ok in _ ms 1. build",
  'lab @builder ⚙ run_command {"command":"make"}',
  // Nobody reported its end: the host closes it, and says so.
  "lab @builder ✗ run_command: interrupted in _ ms",
  "lab @builder ■ completed, _ ms, 6 events",
]);
