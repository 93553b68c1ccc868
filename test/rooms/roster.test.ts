import { describe, expect, it } from "vitest";
import { RoomtapError } from "../../core/index.ts";
import { drivenMembers, parseRoster, readRoster, rosterDigest } from "../../rooms/index.ts";
import { memberInputs } from "../support/plan-room.ts";

function refusalOf(entries: readonly unknown[]): RoomtapError | undefined {
  try {
    parseRoster(entries);
    return undefined;
  } catch (fault) {
    if (fault instanceof RoomtapError) return fault;
    throw fault;
  }
}

describe("parseRoster", () => {
  it("fills in member id and display name from the handle", () => {
    expect(parseRoster([{ handle: "planner", runner_kind: "acp" }])).toEqual([
      { member_id: "m-planner", handle: "planner", display_name: "planner", runner_kind: "acp" },
    ]);
  });

  it("tells persons, whom nobody drives, by their missing runner", () => {
    const members = parseRoster([...memberInputs("a"), { handle: "pat", display_name: "Pat Ö.", runner_kind: null }]);
    expect(members[1]).toMatchObject({ display_name: "Pat Ö.", runner_kind: null });
    expect(drivenMembers(members).map((member) => member.handle)).toEqual(["a"]);
  });

  it.each([
    ["no member", [], "expected 1 to 16 members, got 0"],
    ["17 members", memberInputs(...Array.from({ length: 17 }, (_, k) => `h${k}`)), "expected 1 to 16 members, got 17"],
    ["no object", ["planner"], 'member 1: expected an object, got "planner"'],
    ["no handle", [{ runner_kind: "acp" }], "member 1: handle: expected a handle, got undefined"],
    ["an empty handle", memberInputs(""), 'got ""'],
    ["a handle with a space", memberInputs("a b"), "member 1 (@a b): handle: expected 1 to 64 of A-Z a-z 0-9 _ -"],
    ["a handle of 65", memberInputs("x".repeat(65)), `got "${"x".repeat(65)}"`],
    ["a reserved handle", memberInputs("Everyone"), "expected a handle other than all, everyone, user"],
    ["a handle twice", memberInputs("a", "A"), "member 2 (@A): handle: expected one that no other member has"],
    ["an id twice", [...memberInputs("a"), { handle: "b", member_id: "m-a", runner_kind: "acp" }], 'got "m-a" again'],
    ["a bad id", [{ handle: "a", member_id: "-a", runner_kind: "acp" }], "member_id: expected 1 to 128 of"],
    ["no runner kind", [{ handle: "a" }], "runner_kind: expected the kind of a runner, or null for a person"],
    [
      "two lines of name",
      [{ handle: "a", display_name: "a\nb", runner_kind: null }],
      "display_name: expected 1 to 128",
    ],
    ["half a character", [{ handle: "a", display_name: "\ud800", runner_kind: null }], "half surrogate pairs"],
    ["an unknown key", [{ handle: "a", runner_kind: null, nick: 1 }], 'expected no key "nick"'],
  ])("refuses %s and says what was expected", (_what, entries, message) => {
    const refusal = refusalOf(entries);
    expect(refusal?.code).toBe("invalid_roster");
    expect(refusal?.message).toContain(message);
  });

  it("takes 16 members and handles of 64", () => {
    const handles = Array.from({ length: 16 }, (_, k) => `${k}`.padStart(64, "h"));
    expect(parseRoster(memberInputs(...handles)).map((member) => member.handle)).toEqual(handles);
  });

  it("C-080 takes names of the prototype for names, and refuses `__proto__`", () => {
    const odd = memberInputs("constructor", "toString", "hasOwnProperty", "valueOf");
    expect(parseRoster(odd).map((member) => member.member_id)).toEqual([
      "m-constructor",
      "m-toString",
      "m-hasOwnProperty",
      "m-valueOf",
    ]);
    expect(refusalOf(memberInputs("__proto__"))?.code).toBe("invalid_roster");
    expect(refusalOf([{ handle: "a", member_id: "__proto__", runner_kind: null }])?.code).toBe("invalid_roster");
    const smuggled: unknown = JSON.parse('{"handle":"a","runner_kind":null,"__proto__":{"member_id":"m-admin"}}');
    expect(readRoster([smuggled]).members.every((member) => member.member_id === "m-a")).toBe(true);
    expect(Reflect.get({}, "member_id")).toBeUndefined();
  });
});

describe("readRoster", () => {
  it("R16 leaves the bad entry of four out and names it", () => {
    const { members, problems } = readRoster([...memberInputs("a", "b"), { handle: "no good" }, ...memberInputs("c")]);
    expect(members.map((member) => member.handle)).toEqual(["a", "b", "c"]);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain("member 3 (@no good): handle: expected 1 to 64 of");
  });
});

describe("rosterDigest", () => {
  const members = parseRoster(memberInputs("a", "b"));

  it("covers member id, handle, runner kind and order", () => {
    const others = [
      parseRoster(memberInputs("b", "a")),
      parseRoster(memberInputs("a")),
      members.map((member) => ({ ...member, runner_kind: "acp" })),
      members.map((member) => ({ ...member, member_id: `${member.member_id}x` })),
    ];
    expect(new Set([members, ...others].map(rosterDigest)).size).toBe(5);
  });

  it("does not cover display names and agents", () => {
    expect(rosterDigest(members.map((member) => ({ ...member, display_name: "Somebody" })))).toBe(
      rosterDigest(members),
    );
    expect(rosterDigest(members.map((member) => ({ ...member, profile: "default" })))).toBe(rosterDigest(members));
  });
});
