import { describe, expect, it } from "vitest";
import { limits } from "../../../core/index.ts";
import { SessionSeats } from "../../../rooms/index.ts";

const owner = { principal: "ada", client_id: "a1" };
const sitter = (client_id: string, principal = client_id): { client_id: string; principal: string } => {
  return { client_id, principal };
};
const words = (seats: SessionSeats): readonly string[] =>
  seats.roster.map(({ client_id, role, connections, since }) => `${client_id} ${role} ${connections} ${since}`);

describe("the seats of a session", () => {
  it("show the owner by its oldest connection, and by its last one while it is away", () => {
    const seats = new SessionSeats(owner, 1);
    expect(words(seats)).toEqual(["a1 owner 0 1"]);
    seats.seatOwner("a1", 2);
    expect([seats.seatOwner("a2", 3), seats.seatOwner("a2", 4)]).toEqual([true, false]);
    expect(words(seats)).toEqual(["a1 owner 2 2"]);
    expect(seats.unseat("a1")).toBe("owner");
    expect(words(seats)).toEqual(["a2 owner 1 3"]);
    seats.unseat("a2");
    expect(words(seats)).toEqual(["a2 owner 0 3"]);
  });

  it("keep the place of an observer that gets another role", () => {
    const seats = new SessionSeats(owner, 1);
    seats.seat(sitter("m"), "member", 2);
    seats.seat(sitter("v"), "viewer", 3);
    expect([seats.isBound("m"), seats.isBound("v")]).toEqual([true, false]);
    seats.seat(sitter("m"), "viewer", 4);
    expect(words(seats)).toEqual(["a1 owner 0 1", "m viewer 1 2", "v viewer 1 3"]);
    expect(seats.isBound("m")).toBe(false);
    expect([seats.unseat("m"), seats.unseat("m")]).toEqual(["viewer", null]);
  });

  it("are nobody's who comes by the same client id for another principal", () => {
    const seats = new SessionSeats(owner, 1);
    seats.seat(sitter("m", "max"), "member", 2);
    expect(seats.standingOf(sitter("m", "max"))).toBe("member");
    expect(seats.standingOf(sitter("m", "eve"))).toBe("none");
    expect(seats.standingOf(sitter("anything", "ada"))).toBe("owner");
  });

  it("S60 lose all of a principal that is sent away, which is remembered for 64 of them", () => {
    const seats = new SessionSeats(owner, 1);
    seats.seat(sitter("m1", "max"), "member", 2);
    seats.seat(sitter("v"), "viewer", 3);
    seats.seat(sitter("m2", "max"), "viewer", 4);
    expect(seats.bar("max")).toEqual(["m1", "m2"]);
    expect(words(seats)).toEqual(["a1 owner 0 1", "v viewer 1 3"]);
    for (let other = 1; other < limits.maxBarred; other++) seats.bar(`p${other}`);
    expect([seats.isBarred("max"), seats.isBarred("p63")]).toEqual([true, true]);
    // Once more it counts as the last.
    seats.bar("max");
    seats.bar("p64");
    expect([seats.isBarred("max"), seats.isBarred("p1"), seats.isBarred("p2")]).toEqual([true, false, true]);
    seats.unbar();
    expect([seats.isBarred("max"), seats.isBarred("p64")]).toEqual([false, false]);
  });
});
