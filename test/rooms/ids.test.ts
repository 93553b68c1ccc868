import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { idSchema } from "../../core/index.ts";
import { eventId, messageId, sessionId, taskId, turnId } from "../../rooms/index.ts";

const turn = {
  room_id: "r1",
  thread_id: "main",
  member_id: "m-a",
  discussion: "msg-1",
  round: 0,
  slot: 0,
  seen_through_seq: 0,
};

describe("ids", () => {
  it("R1 are digests of what they name, equal on every machine", () => {
    const text = '["turn_id","r1","main","m-a","msg-1",0,0,0]';
    expect(turnId(turn)).toBe(`t-${createHash("sha256").update(text).digest("hex").slice(0, 32)}`);
    expect(messageId("r1", { number: 1 })).toBe("msg-3d9295ab849de3416dabf7c9d422dd42");
  });

  it("have their own first letters and fit the grammar of ids", () => {
    const ids = [
      messageId("r1", { number: 1 }),
      messageId("r1", { author_id: "pat", event_id: "k1" }),
      turnId(turn),
      taskId("t-1", ["msg-1"], "digest"),
      eventId("r1", "turn.started", "k-1", 1),
      sessionId("r1", "main", "m-a"),
    ];
    expect(ids.map((id) => id.slice(0, id.indexOf("-")))).toEqual(["msg", "msg", "t", "k", "e", "s"]);
    for (const id of ids) expect(idSchema.parse(id)).toMatch(/^[a-z]{1,3}-[0-9a-f]{32}$/);
  });

  it("differ when any part of what they name differs", () => {
    const turns = [
      turn,
      { ...turn, room_id: "r2" },
      { ...turn, thread_id: "side" },
      { ...turn, member_id: "m-b" },
      { ...turn, discussion: "msg-2" },
      { ...turn, round: 1 },
      { ...turn, slot: 1 },
      { ...turn, seen_through_seq: 1 },
    ];
    expect(new Set(turns.map(turnId)).size).toBe(8);
    const events = [
      eventId("r1", "turn.started", "k-1", 1),
      eventId("r1", "turn.settled", "k-1", 1),
      eventId("r1", "turn.started", "k-1", 2),
      eventId("r1", "turn.started", "k-2", 1),
    ];
    expect(new Set(events).size).toBe(4);
  });
});
