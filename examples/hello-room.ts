// A room with one member. Somebody posts, the member answers, and what it does is on the screen while it does it.
import assert from "node:assert/strict";
import { cards, createRoomtap } from "roomtap";

const tap = await createRoomtap({
  db: ":memory:",
  rooms: [
    {
      room_id: "lobby",
      members: [
        {
          handle: "planner",
          runner: {
            kind: "scripted",
            script: { steps: [{ delta: "Hello! " }, { delta: "What shall we plan?\n" }] },
          },
        },
      ],
    },
  ],
  plugins: [{ plugin: cards({ write: (line) => console.log(line) }) }],
});

const answers: string[] = [];
tap.observe({
  id: "answers",
  kinds: ["turn.settled"],
  handler: (event) => {
    if (event.kind === "turn.settled") answers.push(event.payload.text);
  },
});

const receipt = await tap.room("lobby").post({ text: "@planner hello" });
await tap.finish();
await tap.close();

assert.deepEqual(receipt.addressed, ["m-planner"]);
assert.deepEqual(answers, ["Hello! What shall we plan?\n"]);
