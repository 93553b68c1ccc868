// The board of a room: what each member did and asked, from events alone; an approval is answered by the plugin's command.
import assert from "node:assert/strict";
import { boardLines, createRoomtap, crew, emptyBoard, reduceEvent, type ActivityEvent, type Board } from "roomtap";

const steps = [
  { delta: "Let me look." },
  { tool: { id: "call-1", name: "read_file", args: { path: "PLAN.md" }, result: "1. build" } },
  { tool: { id: "call-2", name: "deploy", outcome: "unknown" } },
  { ask: { method: "approval", params: { command: "make clean" } } },
  { finish: "The build runs." },
];
let board: Board = emptyBoard("lab");
const tap = await createRoomtap({
  db: ":memory:",
  rooms: [{ room_id: "lab", members: [{ handle: "builder", runner: { kind: "scripted", script: { steps } } }] }],
  plugins: [{ plugin: crew({ keepTurns: 2 }), grants: ["answer"] }],
});
// One's own board: each event gives the next one.
tap.observe({
  id: "own-board",
  grants: ["approvals"],
  handler: (event: ActivityEvent) => void (board = reduceEvent(board, event)),
});

await tap.room("lab").post({ text: "@builder please build" });
await tap.quiet();
const [request] = tap.requests.open();
assert.ok(request);
const caller = { principal: "ada", scopes: ["read", "approvals"], rooms: null, grants: [] } as const;
const signal = new AbortController().signal;
const answered = await tap.plugins.run("crew", "answer", { args: [request.id, "deny"], caller, signal });
await tap.finish();
await tap.close();

console.log(boardLines(board).join("\n"));
assert.equal((answered as { readonly status: string }).status, "ok");
const withoutTimes = boardLines(board).map((line) => line.replace(/in \d+ ms/g, "in _ ms"));
assert.deepEqual(withoutTimes, [
  "#lab: 1 member, 0 open requests",
  "· @m-builder idle",
  "  ■ completed [mention, in _ ms, 2 tool calls]: @builder please build",
  '    ✓ read_file: ok in _ ms {"path":"PLAN.md"} → 1. build',
  // Nobody said how it ended: that is no success.
  "    · deploy: unknown in _ ms",
  `    ✗ approval deny (plugin:crew: ada by crew) ${request.id}`,
  "    │ The build runs.",
]);
