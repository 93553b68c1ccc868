import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { admit, Places, type Place } from "../../rooms/admission.ts";
import { flush } from "../support/memory-leases.ts";

/** A room that starts turns whenever it has a place, until it has none to start. */
class Room {
  readonly name: string;
  readonly places: Places;
  /** Turns that it still wants to start. */
  wanted = 0;
  readonly turns: Place[] = [];
  started = 0;

  constructor(name: string, places: Places) {
    this.name = name;
    this.places = places;
  }

  /** Plans: takes some time, like a real plan. */
  pump = async (): Promise<void> => {
    await Promise.resolve();
    while (this.wanted > 0) {
      const place = this.places.enter(this.name, this.pump);
      if (place === undefined) return;
      this.wanted--;
      this.started++;
      this.turns.push(place);
    }
  };

  post(turns = 1): Promise<void> {
    this.wanted += turns;
    return this.pump();
  }
}

describe("admit", () => {
  it.each([
    { running: 0, max: 1, answers: [], starts: [], next: undefined },
    { running: 0, max: 1, answers: [], starts: ["r1", "r2"], next: "r1" },
    { running: 0, max: 1, answers: ["a1", "a2"], starts: ["r1"], next: "a1" },
    { running: 1, max: 1, answers: ["a1"], starts: ["r1"], next: undefined },
    { running: 1, max: 2, answers: ["a1"], starts: ["r1"], next: "a1" },
    { running: 3, max: 2, answers: ["a1"], starts: ["r1"], next: undefined },
  ])("with $running of $max running, $answers answered and $starts waiting lets in $next", ({ next, ...waiting }) => {
    expect(admit(waiting)).toBe(next);
  });
});

describe("Places", () => {
  it("R37 lets another room in when turns are parked: they hold no place", async () => {
    const places = new Places(2);
    const rooms = ["r1", "r2", "r3", "r4"].map((name) => new Room(name, places));
    const [r1, r2, r3, r4] = rooms as [Room, Room, Room, Room];
    await Promise.all(rooms.map((room) => room.post()));
    expect(rooms.map(({ started }) => started)).toEqual([1, 1, 0, 0]);
    expect([places.before("r3"), places.before("r4"), places.before("r1")]).toEqual([0, 1, undefined]);
    r1.turns[0]?.park();
    r2.turns[0]?.park();
    await flush();
    expect([r3.started, r4.started, places.running]).toEqual([1, 1, 2]);
  });

  it("R37 is not slower for the 101st room when 100 wait for a person", async () => {
    const places = new Places(1);
    for (let index = 0; index < 100; index++) {
      const room = new Room(`r${index}`, places);
      await room.post();
      room.turns[0]?.park();
    }
    const last = new Room("r100", places);
    await last.post();
    expect([last.started, places.running]).toEqual([1, 1]);
  });

  it("R40 gives the next free place to the answered turn, before any new one", async () => {
    const places = new Places(1);
    const [parked, busy, waiting] = ["r1", "r2", "r3"].map((name) => new Room(name, places)) as [Room, Room, Room];
    await parked.post();
    parked.turns[0]?.park();
    await busy.post();
    await waiting.post();
    const told: boolean[] = [];
    void parked.turns[0]?.resume().then((has) => told.push(has));
    await flush();
    expect(told).toEqual([]);
    busy.turns[0]?.leave();
    await flush();
    expect(told).toEqual([true]);
    expect(waiting.started).toBe(0);
    parked.turns[0]?.leave();
    await flush();
    expect(waiting.started).toBe(1);
  });

  it("lets rooms take turns: one that was let in stands behind the others", async () => {
    const places = new Places(1);
    const order: string[] = [];
    const rooms = ["r1", "r2", "r3"].map((name) => new Room(name, places));
    await Promise.all(rooms.map((room) => room.post(1)));
    await Promise.all(rooms.map((room) => room.post(2)));
    for (let turn = 0; turn < 9; turn++) {
      const running = rooms.find(({ turns }) => turns.length > 0);
      order.push(running?.name ?? "none");
      // The room that ends a turn asks for its next one at once, before those that were called could plan.
      running?.turns.pop()?.leave();
      void running?.pump();
      await flush();
    }
    expect(order).toEqual(["r1", "r2", "r3", "r1", "r2", "r3", "r1", "r2", "r3"]);
  });

  it("gives a kept place on when the room that was called does not come, or throws", async () => {
    const places = new Places(1);
    const place = places.enter("r1", () => Promise.resolve());
    places.enter("r2", () => Promise.resolve());
    places.enter("r3", () => Promise.reject(new Error("no plan")));
    const last = new Room("r4", places);
    await last.post();
    place?.leave();
    await flush();
    expect([last.started, places.running]).toEqual([1, 1]);
  });

  it("calls a room once, however often it asks", async () => {
    const places = new Places(1);
    const calls: string[] = [];
    const call = (): Promise<void> => {
      calls.push("r2");
      return Promise.resolve();
    };
    const place = places.enter("r1", call);
    expect(places.enter("r2", call)).toBeUndefined();
    expect(places.enter("r2", call)).toBeUndefined();
    place?.leave();
    await flush();
    expect(calls).toEqual(["r2"]);
  });

  it("keeps the second place of a room whose first call has not ended", async () => {
    const places = new Places(1);
    let end = (): void => undefined;
    const first = new Promise<void>((resolve) => {
      end = resolve;
    });
    const other = places.enter("r0", () => first);
    expect(places.enter("r1", () => first)).toBeUndefined();
    other?.leave();
    const turn = places.enter("r1", () => first);
    const never = new Promise<void>(() => undefined);
    expect(places.enter("r1", () => never)).toBeUndefined();
    turn?.leave();
    end();
    await flush();
    expect(places.running).toBe(1);
    expect(places.enter("r1", () => never)).toBeDefined();
  });

  it("forgets a room that withdraws, in line or called", async () => {
    const places = new Places(1);
    const never = (): Promise<void> => new Promise(() => undefined);
    const place = places.enter("r1", never);
    places.enter("r2", never);
    places.enter("r3", never);
    const last = new Room("r4", places);
    await last.post();
    places.withdraw("r2");
    place?.leave();
    expect(places.before("r4")).toBe(0);
    places.withdraw("r3");
    await flush();
    expect(last.started).toBe(1);
  });

  it("frees nothing twice", async () => {
    const places = new Places(2);
    const [a, b] = [places.enter("r1", () => Promise.resolve()), places.enter("r2", () => Promise.resolve())];
    a?.park();
    a?.park();
    expect(places.running).toBe(1);
    a?.leave();
    a?.leave();
    a?.park();
    expect(places.running).toBe(1);
    b?.leave();
    b?.leave();
    expect(places.running).toBe(0);
    expect(await b?.resume()).toBe(true);
  });

  it("ends the wait of an answered turn that leaves, with false", async () => {
    const places = new Places(1);
    const turn = places.enter("r1", () => Promise.resolve());
    turn?.park();
    const busy = places.enter("r2", () => Promise.resolve());
    const resumed = turn?.resume();
    expect(turn?.resume()).toBe(resumed);
    turn?.park();
    turn?.leave();
    expect(await resumed).toBe(false);
    busy?.leave();
    expect(places.running).toBe(0);
  });

  it("I8 never has more than max running, lets answers in first, and starves nobody (property)", async () => {
    const step = fc.record({ what: fc.constantFrom("post", "park", "resume", "leave"), room: fc.nat(5) });
    const steps = fc.array(step, { maxLength: 120 });
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 3 }), async (script, max) => {
        const places = new Places(max);
        const rooms = Array.from({ length: 6 }, (_, index) => new Room(`r${index}`, places));
        const running: Place[] = [];
        const parked: Place[] = [];
        const resuming = new Set<Place>();
        let posted = 0;
        const collect = (): void => {
          for (const room of rooms) {
            // Whoever started did so while no answered turn was left without a place.
            if (room.turns.length > 0) expect(resuming.size).toBe(0);
            running.push(...room.turns.splice(0));
          }
          expect(running.length).toBe(places.running);
          expect(places.running).toBeLessThanOrEqual(max);
        };
        const resume = (place: Place): void => {
          resuming.add(place);
          void place.resume().then(() => {
            resuming.delete(place);
            running.push(place);
          });
        };
        for (const { what, room } of script) {
          if (what === "post") posted++;
          if (what === "post") void rooms[room]?.post();
          const one =
            what === "park" || what === "leave" ? running.splice(room % (running.length || 1), 1)[0] : undefined;
          if (what === "leave") one?.leave();
          if (what === "park" && one !== undefined) {
            one.park();
            parked.push(one);
          }
          const answered = what === "resume" ? parked.shift() : undefined;
          if (answered !== undefined) resume(answered);
          await flush();
          collect();
        }
        parked.splice(0).forEach(resume);
        while (running.length > 0 || resuming.size > 0) {
          running.shift()?.leave();
          await flush();
          collect();
        }
        expect(rooms.reduce((sum, { started }) => sum + started, 0)).toBe(posted);
        expect(places.running).toBe(0);
      }),
      { numRuns: 100 },
    );
  });
});
