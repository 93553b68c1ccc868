import { describe, expect, it } from "vitest";
import { limits, manualClock, ResumeTokens, secretToken, systemIds } from "../../core/index.ts";

const owner = { principal: "local", generation: "g1" };

function open(maxTokens?: number): { clock: ReturnType<typeof manualClock>; tokens: ResumeTokens<string> } {
  const clock = manualClock();
  return {
    clock,
    tokens: new ResumeTokens<string>({ clock, ids: systemIds, ...(maxTokens === undefined ? {} : { maxTokens }) }),
  };
}

describe("a resume token", () => {
  it("is 32 random bytes as base64url", () => {
    const bytes = "00".repeat(29) + "fbefbe";
    expect(secretToken({ hex: () => bytes })).toBe(`${Buffer.from(bytes, "hex").toString("base64url")}`);
    expect(secretToken(systemIds)).toMatch(/^[\w-]{43}$/);
  });

  it("stands for its holder once", () => {
    const { tokens } = open();
    const token = tokens.issue("a", owner);
    expect(tokens.holder(token, owner)).toBe("a");
    expect(tokens.redeem(token, owner)).toBe("a");
    expect(tokens.redeem(token, owner)).toBeUndefined();
    tokens.drop(token);
    expect(tokens.redeem(token, owner)).toBeUndefined();
    expect(tokens.size).toBe(0);
  });

  it.each([[{ principal: "other", generation: "g1" }], [{ principal: "local", generation: "g2" }]])(
    "is nothing to %o, and stays valid",
    (stranger) => {
      const { tokens } = open();
      const token = tokens.issue("a", owner);
      expect(tokens.redeem(token, stranger)).toBeUndefined();
      expect(tokens.redeem(token, owner)).toBe("a");
    },
  );

  it.each([
    [limits.resumeTokenMs - 1, "a"],
    [limits.resumeTokenMs, "a"],
    [limits.resumeTokenMs + 1, undefined],
  ])("is valid %i ms after the drop: %s", (ms, holder) => {
    const { clock, tokens } = open();
    const token = tokens.issue("a", owner);
    clock.advance(10 * limits.resumeTokenMs);
    tokens.drop(token);
    clock.advance(ms);
    expect(tokens.redeem(token, owner)).toBe(holder);
  });

  it("is worth nothing once it is revoked, dropped or not", () => {
    const { tokens } = open();
    const [a = "", b = "", c = ""] = ["a", "b", "c"].map((holder) => tokens.issue(holder, owner));
    tokens.drop(b);
    tokens.revoke(({ holder, owner: { generation } }) => holder !== "c" && generation === "g1");
    expect([a, b, c].map((token) => tokens.redeem(token, owner))).toEqual([undefined, undefined, "c"]);
  });

  it("gives way at the bound, the first that was dropped first", () => {
    const { tokens } = open(3);
    const [a = "", b = "", c = ""] = ["a", "b", "c"].map((holder) => tokens.issue(holder, owner));
    tokens.drop(b);
    tokens.drop(a);
    const d = tokens.issue("d", owner);
    expect([a, b, c, d].map((token) => tokens.holder(token, owner))).toEqual(["a", undefined, "c", "d"]);
    const e = tokens.issue("e", owner);
    const f = tokens.issue("f", owner);
    expect([a, c, d, e, f].map((token) => tokens.holder(token, owner))).toEqual([undefined, undefined, "d", "e", "f"]);
    expect([tokens.size, tokens.evicted]).toEqual([3, 3]);
  });

  it("makes room by its expiry before anything is dropped for want of it", () => {
    const { clock, tokens } = open(2);
    tokens.drop(tokens.issue("a", owner));
    const b = tokens.issue("b", owner);
    clock.advance(limits.resumeTokenMs + 1);
    tokens.issue("c", owner);
    expect([tokens.holder(b, owner), tokens.size, tokens.evicted]).toEqual(["b", 2, 0]);
  });
});
