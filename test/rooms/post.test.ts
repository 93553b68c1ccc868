import { describe, expect, it } from "vitest";
import type { RoomRecord } from "../../rooms/index.ts";
import { preparePostInput, type PostInput } from "../../rooms/post.ts";
import { members } from "../support/open-log.ts";

const room: RoomRecord = {
  room_id: "r1",
  name: "Room",
  revision: 1,
  members,
  roster_digest: "0".repeat(64),
  created_at: 0,
  paused: [],
  stop: null,
  disbanded_at: null,
};

const prepare = (changes: Partial<PostInput>) => preparePostInput({ text: "hello", ...changes }, room);

describe("a post", () => {
  it("is of the person `local`, in the thread `main`, for everybody, when nothing else is said", () => {
    expect(prepare({})).toEqual({
      post: {
        room_id: "r1",
        message_id: null,
        thread_id: "main",
        author: { kind: "person", id: "local" },
        origin: null,
        text: "hello",
        attachments: [],
        owed: ["m-a", "m-b", "m-c"],
        named: [],
      },
      unresolved: [],
    });
  });

  it("is named by room, author and event id alone", () => {
    const id = prepare({ event_id: "k1" }).post.message_id;
    expect(id).toMatch(/^msg-[0-9a-f]{32}$/);
    expect(prepare({ event_id: "k1", text: "other", thread_id: "t" }).post.message_id).toBe(id);
    expect(prepare({ event_id: "k1", author: { kind: "person", id: "ada" } }).post.message_id).not.toBe(id);
  });

  it.each([
    ["64 KiB of text", { text: "x".repeat(65_536) }, undefined],
    ["a byte more", { text: `${"x".repeat(65_535)}é` }, "text_too_large"],
    ["16 attachments", { attachments: Array<string>(16).fill("a") }, undefined],
    ["17 attachments", { attachments: Array<string>(17).fill("a") }, "text_too_large"],
    ["an attachment of 1 KiB", { attachments: ["x".repeat(1_024)] }, undefined],
    ["an attachment of a byte more", { attachments: ["x".repeat(1_025)] }, "text_too_large"],
    ["control characters that fill a row", { text: "\u0001".repeat(40_950) }, undefined],
    ["control characters beyond a row", { text: "\u0001".repeat(41_000) }, "text_too_large"],
    ["an id with a NUL", { thread_id: "t\0x" }, "invalid_params"],
    ["the id `__proto__`", { event_id: "__proto__" }, "invalid_params"],
    ["an author of no kind", { author: { kind: "host", id: "x" } as never }, "invalid_params"],
    ["a name on two lines", { author: { kind: "person", id: "x", display_name: "a\nb: c" } }, "invalid_params"],
    [
      "a name that a terminal obeys",
      { author: { kind: "person", id: "x", display_name: "\u001b[2J" } },
      "invalid_params",
    ],
    ["a name of a person", { author: { kind: "person", id: "x", display_name: "Ada Ö." } }, undefined],
    ["a key that nobody knows", { room: "r2" } as never, "invalid_params"],
    ["a text that is none", { text: 7 as never }, "invalid_params"],
  ] as const)("with %s is judged by its size and shape", (_, changes: Partial<PostInput>, code) => {
    let fault: unknown;
    try {
      prepare(changes);
    } catch (thrown) {
      fault = thrown;
    }
    if (code === undefined) expect(fault).toBeUndefined();
    else expect(fault).toMatchObject({ code });
  });

  it("C-077 keeps half a surrogate pair as U+FFFD", () => {
    expect(prepare({ text: "a\ud800b", attachments: ["\udc00"] }).post).toMatchObject({
      text: "a\ufffdb",
      attachments: ["\ufffd"],
    });
  });
});
