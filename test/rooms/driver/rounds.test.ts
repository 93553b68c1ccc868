import { describe, expect, it } from "vitest";
import type { Runner, Turn, TurnEnd } from "../../../core/index.ts";
import type { RoomDefinition } from "../../../rooms/index.ts";
import { HeldRunner, member, roomOf, runnerOf, says, TestHost } from "../../support/open-room.ts";

/** A room with the default bounds. */
const talk = (members: readonly (readonly [string, Runner])[]): RoomDefinition => ({
  room_id: "r1",
  members: members.map(([handle, runner]) => member(handle, runner)),
  policy: {},
});

/** Says one text after the other, and passes when there is none left. */
function script(texts: readonly string[], turns: Turn[] = []): Runner {
  let next = 0;
  return runnerOf((turn): TurnEnd => {
    turns.push(turn);
    const text = texts[next++];
    return text === undefined ? { status: "passed" } : { status: "completed", text };
  });
}

const passes = script([]);

describe("a discussion", () => {
  it("R24 asks whom a reply names in the next round, and shows it both texts", async () => {
    const turns: Turn[] = [];
    const test = await TestHost.open({
      rooms: [
        talk([
          ["a", script(["ask @b"])],
          ["b", script(["here"], turns)],
        ]),
      ],
    });
    await test.room.post({ text: "@a well?" });
    await test.quiet();
    const rows = await test.rows();
    const starts = rows.flatMap((row) => (row.kind === "turn.started" ? [row] : []));
    expect(
      starts.map(({ member_id, payload }) => [member_id, payload.cause, payload.origin, payload.discussion.round]),
    ).toEqual([
      ["m-a", "mention", null, 0],
      ["m-b", "mention", "host", 1],
      ["m-a", "mention", "host", 1],
    ]);
    expect(turns.map(({ unseen }) => unseen.map(({ text }) => text))).toEqual([["@a well?", "ask @b"]]);
  });

  it.each([
    ["max_rounds", ["a", "b"], 6],
    ["max_messages", ["a", "b", "c", "d", "e", "f"], 10],
  ] as const)("R25 ends by %s, however much there is to say", async (reason, handles, texts) => {
    const test = await TestHost.open({ rooms: [{ ...roomOf(says("more"), handles), policy: {} }] });
    await test.room.post({ text: "go" });
    await test.quiet();
    const rows = await test.rows();
    expect(rows.filter((row) => row.kind === "turn.settled" && row.payload.status === "completed")).toHaveLength(texts);
    expect((await test.room.state()).threads).toMatchObject([{ thread_id: "main", status: "bounded", reason }]);
  });

  it("R26 is settled by a silent round, and nobody has said anything", async () => {
    const fails = runnerOf(() => ({ status: "failed", reason_code: "provider_unavailable" }));
    const test = await TestHost.open({
      rooms: [
        talk([
          ["a", passes],
          ["b", fails],
        ]),
      ],
    });
    await test.room.post({ text: "go" });
    await test.quiet();
    expect((await test.room.state()).threads).toMatchObject([{ status: "settled", reason: "silent_round", owed: [] }]);
    expect(await test.told()).toEqual([
      "started m-a message",
      "settled m-a passed",
      "started m-b message",
      "settled m-b provider_unavailable",
    ]);
    expect((await test.rows()).flatMap((row) => (row.kind === "turn.settled" ? [row.payload.text] : []))).toEqual([
      "",
      "",
    ]);
  });

  it("R28 gives a member that was named and says nothing two more turns, and names it at the end", async () => {
    const asks = Array.from({ length: 5 }, () => "@b please");
    const test = await TestHost.open({
      rooms: [
        talk([
          ["a", script(asks)],
          ["b", passes],
        ]),
      ],
    });
    await test.room.post({ text: "@a go" });
    await test.quiet();
    const { threads } = await test.room.state();
    expect(threads).toMatchObject([{ status: "bounded", reason: "max_owed_passes", owed: ["m-b"] }]);
    const rows = await test.rows();
    const ofB = rows.flatMap((row) => (row.kind === "turn.started" && row.member_id === "m-b" ? [row.payload] : []));
    // Rounds from 3 on are the owed passes.
    expect(ofB.map(({ discussion }) => discussion.round).filter((round) => round >= 3)).toEqual([3, 4]);
    expect(rows.filter((row) => row.kind === "turn.settled" && row.payload.status === "passed")).toHaveLength(
      ofB.length,
    );
  });

  it("R29 ends a turn that a newer post overtook as superseded, with its text", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)] });
    await test.room.post({ text: "one" });
    const first = await held.turn(0);
    await test.room.post({ text: "two" });
    first.say("to one");
    (await held.turn(1)).say("to two");
    await test.quiet();
    const ends = (await test.rows()).flatMap((row) => (row.kind === "turn.settled" ? [row.payload] : []));
    expect(ends.map(({ status, reason_code, text }) => [status, reason_code, text])).toEqual([
      ["superseded", "newer_message", "to one"],
      ["completed", null, "to two"],
    ]);
  });

  it("R29 is not touched by a post in another thread", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)] });
    await test.room.post({ text: "one" });
    const first = await held.turn(0);
    await test.room.post({ text: "two", thread_id: "side" });
    first.say("to one");
    (await held.turn(1)).say("to two");
    await test.quiet();
    expect(await test.told()).toEqual([
      "started m-a message",
      "settled m-a completed",
      "started m-a queued",
      "settled m-a completed",
    ]);
  });

  it("R30 lets a superseded text name nobody, and shows it to nobody", async () => {
    const held = new HeldRunner();
    const turns: Turn[] = [];
    const test = await TestHost.open({
      rooms: [
        talk([
          ["a", held],
          ["c", script([], turns)],
        ]),
      ],
    });
    await test.room.post({ text: "@a one" });
    const first = await held.turn(0);
    await test.room.post({ text: "@a two" });
    first.say("I would ask @c");
    const second = await held.turn(1);
    second.say("done");
    await test.quiet();
    expect(turns).toEqual([]);
    await test.room.post({ text: "@c three" });
    await test.quiet();
    const shown = [second.turn, ...turns].flatMap(({ unseen, earlier }) =>
      [...unseen, ...earlier].map(({ text }) => text),
    );
    expect(shown).toContain("@a two");
    expect(shown).not.toContain("I would ask @c");
  });

  it("R32 passes a paused member over, and hears it when it is resumed", async () => {
    const test = await TestHost.open({ rooms: [roomOf(says("hi"), ["a", "b"])] });
    expect(await test.room.pause(["m-a"])).toEqual(["m-a"]);
    await test.room.post({ text: "@a @b go" });
    await test.quiet();
    expect(await test.told()).toEqual(["started m-b mention", "settled m-b completed"]);
    const state = await test.room.state();
    expect(state.threads).toMatchObject([{ status: "waiting", reason: "paused", owed: ["m-a"] }]);
    expect(state.members[0]).toMatchObject({ member_id: "m-a", paused: true });
    expect(await test.room.resume(["m-a"])).toEqual([]);
    await test.quiet();
    expect((await test.told()).slice(2)).toEqual(["started m-a queued", "settled m-a completed"]);
  });

  it("R32 starts nobody whose pause was stored, also when the start was looked for before", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held, ["a", "b"])] });
    const [, paused] = await Promise.all([test.room.post({ text: "@b go" }), test.room.pause(["m-b"])]);
    expect(paused).toEqual(["m-b"]);
    const started = (await test.rows()).length;
    await test.pass(100);
    expect((await test.rows()).length).toBe(started);
    for (const turn of held.turns) turn.say("done");
  });

  it("R32 refuses to pause somebody who is no member", async () => {
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))] });
    await expect(test.room.pause(["m-z"])).rejects.toMatchObject({ code: "unknown_member" });
    expect((await test.room.state()).members[0]).toMatchObject({ paused: false });
  });
});
