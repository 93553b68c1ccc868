import { describe, expect, it } from "vitest";
import { transcriptOf, transcriptRows, type PlannedStart, type Transcript } from "../../rooms/index.ts";
import { PlanRoom } from "../support/plan-room.ts";

/** Plans the next turn, shows what its prompt is made of, and starts it. */
function nextTranscript(room: PlanRoom): Transcript {
  const start: PlannedStart | undefined = room.plan().starts[0];
  if (start === undefined) throw new TypeError("nothing to start");
  const thread = room.state.threads.find((candidate) => candidate.thread_id === start.coordinates.thread_id);
  const wanted = new Set(transcriptRows({ payload: start.payload, thread }));
  const transcript = transcriptOf({
    payload: start.payload,
    thread,
    row: (seq) => (wanted.has(seq) ? room.log.rows[seq - 1] : undefined),
    members: room.room.members,
  });
  room.start(start);
  return transcript;
}

const person = { kind: "person", id: "local" } as const;
const agentA = { kind: "agent", id: "m-a", display_name: "a" } as const;

describe("transcriptOf", () => {
  it("shows a post in full, with its attachments, and nothing before it", () => {
    const room = new PlanRoom();
    room.post("@a hi", { attachments: ["file:1"], author: { ...person, display_name: "Pat" } });
    expect(nextTranscript(room)).toEqual({
      unseen: [{ author: { ...person, display_name: "Pat" }, text: "@a hi", attachments: ["file:1"] }],
      earlier: [],
    });
  });

  it("reads posts and answers that earlier rows hold", () => {
    const room = new PlanRoom();
    room.post("@a @b hi");
    room.startAll();
    room.settle("m-a", { status: "completed", text: "hello" });
    expect(nextTranscript(room)).toEqual({
      unseen: [
        { author: person, text: "@a @b hi" },
        { author: agentA, text: "hello" },
      ],
      earlier: [],
    });
  });

  it("tells a member's own answers among what came earlier", () => {
    const room = new PlanRoom();
    room.post("@a one");
    room.run(() => "first answer");
    room.post("@a two");
    expect(nextTranscript(room)).toEqual({
      unseen: [{ author: person, text: "@a two" }],
      earlier: [
        { author: person, text: "@a one" },
        { author: agentA, text: "first answer" },
      ],
    });
  });

  it("R30 leaves a superseded text out of every later prompt", () => {
    const room = new PlanRoom();
    room.post("@a @b hi");
    room.startAll();
    room.settle("m-a", { status: "superseded", reason_code: "newer_message", text: "ask @c" });
    room.post("@a @b again");
    room.startAll();
    room.settle("m-a", { status: "completed", text: "better" });
    const { unseen, earlier } = nextTranscript(room);
    expect([...earlier, ...unseen].map((entry) => entry.text)).toEqual(["@a @b hi", "@a @b again", "better"]);
  });

  it("gives the last 24 texts of the thread before what is new", () => {
    const room = new PlanRoom();
    for (let turn = 1; turn <= 15; turn++) {
      room.post(`@a ${turn}`);
      room.run(() => `answer ${turn}`);
    }
    room.post("@a now");
    const { unseen, earlier } = nextTranscript(room);
    expect(unseen.map((entry) => entry.text)).toEqual(["@a now"]);
    expect(earlier.map((entry) => entry.text)).toEqual(
      Array.from({ length: 12 }, (_, k) => [`@a ${k + 4}`, `answer ${k + 4}`]).flat(),
    );
  });

  it("is corrupt when a row that is referred to is not there, or holds no such text", () => {
    const room = new PlanRoom();
    room.post("@a @b hi");
    room.run();
    const second = room.log.rows[2];
    if (second?.kind !== "turn.started") throw new TypeError("expected a start");
    const source = { payload: second.payload, thread: undefined, members: [] };
    expect(() => transcriptOf({ ...source, row: () => undefined })).toThrow(/row 1: .* not there/);
    expect(() => transcriptOf({ ...source, row: () => room.log.rows[3] })).toThrow(/row 1: it does not hold msg-/);
  });
});
