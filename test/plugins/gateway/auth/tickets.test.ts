import { describe, expect, it } from "vitest";
import { gatewayDefaults, manualClock, systemIds } from "../../../../core/index.ts";
import { Tickets, type TicketLimits } from "../../../../plugins/gateway/tickets.ts";

const someone = (principal: string) => ({ principal, generation: "g1", scopes: ["read"] as const, grants: [] });
const laptop = someone("laptop");

function openTickets(limits: Partial<TicketLimits> = {}) {
  const clock = manualClock();
  return { clock, tickets: new Tickets({ clock, ids: systemIds, limits: { ...gatewayDefaults, ...limits } }) };
}

function minted(tickets: Tickets, origin: string | null = null, principal = laptop): string {
  const ticket = tickets.mint(principal, origin);
  expect(ticket).toMatch(/^[\w-]{43}$/);
  return ticket ?? "";
}

describe("a ticket", () => {
  it("is good once", () => {
    const { tickets } = openTickets();
    const ticket = minted(tickets);
    expect([tickets.redeem(ticket, null), tickets.redeem(ticket, null)]).toEqual([laptop, null]);
    expect(tickets.redeem("nobody-gave-it-out", null)).toBeNull();
  });

  it.each([
    [29_999, laptop],
    [30_000, laptop],
    [30_001, null],
  ])("is good for 30 s: after %i ms it gives %o", (ms, identity) => {
    const { clock, tickets } = openTickets();
    const ticket = minted(tickets);
    clock.advance(ms);
    expect(tickets.redeem(ticket, null)).toEqual(identity);
  });

  it("is its page's alone, and not used up by another one", () => {
    const { tickets } = openTickets();
    const ticket = minted(tickets, "https://u.example");
    expect([tickets.redeem(ticket, "https://w.example"), tickets.redeem(ticket, null)]).toEqual([null, null]);
    expect(tickets.redeem(ticket, "https://u.example")).toEqual(laptop);
    expect(tickets.redeem(minted(tickets, null), "https://w.example")).toEqual(laptop);
  });

  it("is void when its credential has gone", () => {
    const { tickets } = openTickets();
    const [one, other] = [minted(tickets), minted(tickets, null, someone("phone"))];
    tickets.revoke(({ principal }) => principal === "laptop");
    expect([tickets.redeem(one, null), tickets.redeem(other, null)]).toEqual([null, someone("phone")]);
  });
});

describe("tickets", () => {
  const mint = (tickets: Tickets, count: number, principal = laptop): boolean[] =>
    Array.from({ length: count }, () => tickets.mint(principal, null) !== null);

  it("are 16 of a principal that wait, and one is free again when one is used or late", () => {
    const { clock, tickets } = openTickets();
    const first = minted(tickets);
    expect(mint(tickets, 16)).toEqual([...Array.from({ length: 15 }, () => true), false]);
    expect(mint(tickets, 1, someone("phone"))).toEqual([true]);
    tickets.redeem(first, null);
    expect(mint(tickets, 2)).toEqual([true, false]);
    clock.advance(30_001);
    expect([tickets.size, ...mint(tickets, 1)]).toEqual([0, true]);
  });

  it("are so many in all", () => {
    const { tickets } = openTickets({ maxTickets: 3 });
    expect(["a", "b", "c", "d"].flatMap((name) => mint(tickets, 1, someone(name)))).toEqual([true, true, true, false]);
    expect(tickets.size).toBe(3);
  });

  it("are 30 of a principal in a minute, used or not", () => {
    const { clock, tickets } = openTickets();
    const use = (): boolean => {
      const ticket = tickets.mint(laptop, null);
      return ticket !== null && tickets.redeem(ticket, null) !== null;
    };
    expect(Array.from({ length: 31 }, use)).toEqual([...Array.from({ length: 30 }, () => true), false]);
    clock.advance(59_999);
    expect(use()).toBe(false);
    clock.advance(1);
    expect(use()).toBe(true);
  });

  it("are counted for so many principals at once, and forgotten after a minute", () => {
    const { clock, tickets } = openTickets({ maxTickets: 2 });
    const use = (name: string): boolean => tickets.redeem(tickets.mint(someone(name), null) ?? "", null) !== null;
    expect(["a", "b", "c", "a"].map(use)).toEqual([true, true, false, true]);
    clock.advance(60_000);
    expect(use("c")).toBe(true);
  });
});
