import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { InboxRow } from "../../rooms/index.ts";
import { changedMessages, messageOfPost, messagesOfRow, type RoomMessage } from "../../rooms/room-change.ts";
import { TestLog } from "../support/logs.ts";

const post = (name: string, owed: readonly string[] = ["m-a"]): InboxRow => ({
  room_id: "r1",
  number: 1,
  message_id: `msg-${name}`,
  thread_id: "main",
  author: { kind: "person", id: "local" },
  origin: null,
  text: name,
  attachments: [],
  owed,
  named: [],
  row_seq: null,
  after_seq: 0,
  accepted_at: 7,
});

const inbox = (...posts: readonly InboxRow[]): ReadonlyMap<string, InboxRow> =>
  new Map(posts.map((each) => [each.message_id, each]));

const said = (messages: readonly RoomMessage[]): readonly string[] =>
  messages.map(({ text, state }) => `${text} ${state}`);

describe("what is told of posts", () => {
  const started = messageOfPost(post("x"), "started");
  it.each([
    ["a new one", inbox(), inbox(post("x")), [], ["x queued"]],
    ["a new one that nobody answers", inbox(), inbox(post("x", [])), [], ["x closed"]],
    ["one that fewer are owed", inbox(post("x", ["m-a", "m-b"])), inbox(post("x")), [], []],
    ["one that was withdrawn", inbox(post("x")), inbox(post("x", [])), [], ["x closed"]],
    ["one that left", inbox(post("x")), inbox(), [], ["x started"]],
    ["one that left with its row", inbox(post("x")), inbox(), [started], ["x started"]],
    ["context that left with a row", inbox(post("x", [])), inbox(), [started], []],
    ["one that came and left", inbox(), inbox(), [started], ["x started"]],
    ["one whose first turn started", inbox(), inbox(post("x")), [started], ["x queued"]],
    ["nothing", inbox(post("x")), inbox(post("x")), [], []],
  ])("of %s is its new state", (_, before, now, carried, expected) => {
    expect(said(changedMessages(before, now, carried))).toEqual(expected);
  });

  it("is each state once, however the looks fall between the steps of a post's life", () => {
    const lives = fc.array(fc.constantFrom("queued", "left", "closed"), { minLength: 1, maxLength: 8 });
    const looks = fc.array(fc.boolean(), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(lives, looks, (ends, lookAfter) => {
        const told: string[] = [];
        const now = new Map<string, InboxRow>();
        let before: ReadonlyMap<string, InboxRow> = inbox();
        let carried: RoomMessage[] = [];
        const look = (): void => {
          told.push(...said(changedMessages(before, now, carried)));
          [before, carried] = [new Map(now), []];
        };
        for (const [index, end] of ends.entries()) {
          const each = post(`p${index}`);
          now.set(each.message_id, each);
          if (lookAfter[index] === true) look();
          if (end === "closed") now.set(each.message_id, { ...each, owed: [] });
          if (end !== "left") continue;
          now.delete(each.message_id);
          carried.push(messageOfPost(each, "started"));
        }
        look();
        for (const [index, end] of ends.entries()) {
          const state = { queued: "queued", left: "started", closed: "closed" }[end];
          const states = told.filter((line) => line.startsWith(`p${index} `));
          expect(states.at(-1)).toBe(`p${index} ${state}`);
          expect(new Set(states).size).toBe(states.length);
        }
      }),
    );
  });
});

describe("the posts of a row", () => {
  it("are those that it holds in full, at the time of their turn", () => {
    const log = new TestLog();
    const row = log.start({ member_id: "m-a", post: { message_id: "msg-1", text: "hello" } });
    expect(messagesOfRow(row)).toEqual([
      {
        room_id: "r1",
        message_id: "msg-1",
        thread_id: "main",
        author: expect.objectContaining({ kind: "person" }),
        text: "hello",
        at: row.created_at,
        state: "started",
      },
    ]);
    expect(messagesOfRow(log.start({ member_id: "m-b", input: [{ message_id: "msg-1", row_seq: 1 }] }))).toEqual([]);
  });
});
