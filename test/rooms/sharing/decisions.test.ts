import { describe, expect, it } from "vitest";
import { limits, type Refused, type Scope, type Visibility } from "../../../core/index.ts";
import {
  judgeAnswer,
  judgeAttach,
  judgeUse,
  maySee,
  mayWatch,
  roleUnder,
  type AttachRequest,
  type Stance,
  type Standing,
  type Use,
} from "../../../rooms/index.ts";

const codeOf = (judged: string | Refused | null): string =>
  judged === null ? "ok" : typeof judged === "string" ? judged : judged.refused;

const scopesOf = (letters: string): ReadonlySet<Scope> => {
  const words: Readonly<Record<string, Scope>> = { r: "read", w: "write", a: "approvals", x: "admin" };
  return new Set([...letters].flatMap((letter) => words[letter] ?? []));
};

const stanceOf = (standing: Standing, visibility: Visibility, letters: string, isBarred = false): Stance => {
  return { standing, visibility, scopes: scopesOf(letters), isBarred };
};

describe("who may see a session", () => {
  // What somebody is, then whether it sees a private, a shared and a read-only one, with the scopes that are named.
  const rows: readonly [who: string, stance: readonly [Standing, string, boolean?], sees: string][] = [
    ["the owner without a scope", ["owner", ""], "yes yes yes"],
    ["a member without a scope", ["member", ""], "yes yes yes"],
    ["a viewer without a scope", ["viewer", ""], "yes yes yes"],
    ["a stranger who reads", ["none", "r"], "no yes yes"],
    ["a stranger who only writes", ["none", "wa"], "no no no"],
    ["an admin", ["none", "x"], "yes yes yes"],
    ["one that was sent away", ["none", "rwa", true], "no no no"],
    ["an admin that was sent away", ["none", "x", true], "yes yes yes"],
  ];
  it.each(rows)("is decided for %s", (_, [standing, letters, isBarred], sees) => {
    const seen = (["private", "shared", "read_only"] as const).map((visibility) =>
      maySee(stanceOf(standing, visibility, letters, isBarred)) ? "yes" : "no",
    );
    expect(seen.join(" ")).toBe(sees);
  });
});

describe("the use of a session that is seen", () => {
  const uses: readonly Use[] = ["watch", "send", "join", "manage", "retitle"];
  const rows: readonly [standing: Standing, letters: string, answers: readonly string[]][] = [
    ["owner", "", ["ok", "ok", "ok", "ok", "ok"]],
    ["member", "rwa", ["ok", "ok", "observer_rebind", "not_owner", "not_owner"]],
    ["member", "x", ["ok", "ok", "observer_rebind", "not_owner", "not_owner"]],
    ["viewer", "rwax", ["ok", "viewer_cannot_send", "observer_rebind", "not_owner", "not_owner"]],
    ["none", "rw", ["not_attached", "not_attached", "not_attached", "not_owner", "not_owner"]],
    ["none", "x", ["not_attached", "not_attached", "not_attached", "ok", "not_owner"]],
  ];
  it.each(rows)("is decided by role for a %s with %s", (standing, letters, answers) => {
    expect(uses.map((use) => codeOf(judgeUse(use, stanceOf(standing, "shared", letters))))).toEqual(answers);
  });

  it.each(uses)("to %s an unseen one is to name one that does not exist", (use) => {
    expect(codeOf(judgeUse(use, stanceOf("none", "private", "rwa")))).toBe("unknown_session");
    expect(codeOf(judgeUse(use, stanceOf("none", "shared", "rwa", true)))).toBe("unknown_session");
  });

  it("is refused with what to do instead", () => {
    expect(judgeUse("join", stanceOf("viewer", "shared", "r"))?.data).toEqual({
      next_step: "do_not_retry",
      next_action: "start_new_session",
    });
    expect(judgeUse("send", stanceOf("none", "shared", "r"))?.data).toEqual({ next_action: "session.attach" });
    expect(judgeUse("send", stanceOf("viewer", "shared", "r"))?.data).toBeUndefined();
  });
});

describe("frames of a session", () => {
  it.each([
    ["owner", "", true],
    ["member", "w", false],
    ["member", "r", true],
    ["viewer", "wa", false],
    ["viewer", "x", true],
    ["none", "rwax", false],
  ] as const)("reach a %s with %s: %s", (standing, letters, isReached) => {
    expect(mayWatch({ standing, scopes: scopesOf(letters) })).toBe(isReached);
  });
});

describe("an answer", () => {
  it.each([
    ["owner", "a", "approvals", "ok"],
    ["owner", "w", "approvals", "insufficient_scope"],
    ["member", "ra", "approvals", "ok"],
    ["member", "rw", "approvals", "insufficient_scope"],
    ["member", "rw", "write", "ok"],
    ["member", "w", "write", "insufficient_scope"],
    ["member", "x", "approvals", "ok"],
    ["viewer", "rwax", "write", "viewer_cannot_send"],
    ["none", "rwa", "write", "not_attached"],
  ] as const)("of a %s with %s to what needs %s: %s", (standing, letters, scope, code) => {
    expect(codeOf(judgeAnswer(stanceOf(standing, "shared", letters), scope))).toBe(code);
  });
});

describe("who may attach", () => {
  const request = (given: Partial<AttachRequest>): AttachRequest => ({
    ...stanceOf("none", "shared", "r"),
    ...{ role: "viewer", isBound: false, observers: 0, concealPrivate: false },
    ...given,
  });
  // From the top down: each row has all the faults of those below it.
  const worst = { role: "member", visibility: "private", isBound: true, observers: limits.maxObservers } as const;
  it.each([
    ["unknown_session", { ...worst, isBarred: true, role: "guest" }],
    ["unknown_session", { ...worst, concealPrivate: true, role: "guest" }],
    ["invalid_role", { ...worst, standing: "owner", role: "guest" }],
    ["owner_role", { ...worst, standing: "owner", role: "owner" }],
    ["is_owner", { ...worst, standing: "owner" }],
    ["session_private", worst],
    ["session_read_only", { ...worst, visibility: "read_only" }],
    ["already_bound", { ...worst, visibility: "shared" }],
    ["observers_full", { ...worst, visibility: "shared", isBound: false }],
    ["member", { role: "member", observers: limits.maxObservers - 1 }],
    ["viewer", { visibility: "read_only" }],
    ["viewer", { standing: "member", observers: limits.maxObservers }],
    ["member", { standing: "member", role: "member", isBound: true }],
    ["session_private", { visibility: "private", concealPrivate: true, scopes: scopesOf("x") }],
  ] as const)("S10 is answered %s by the first that holds", (answer, given) => {
    expect(codeOf(judgeAttach(request(given)))).toBe(answer);
  });
});

describe("a new visibility", () => {
  it("promotes nobody", () => {
    const left = (["private", "read_only", "shared"] as const).map((visibility) => [
      visibility,
      roleUnder(visibility, "member"),
      roleUnder(visibility, "viewer"),
    ]);
    expect(left).toEqual([
      ["private", null, null],
      ["read_only", "viewer", "viewer"],
      ["shared", "member", "viewer"],
    ]);
  });
});
