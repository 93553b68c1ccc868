import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decideClaim, heldUntil, sight, type LeaseSighting } from "../../rooms/lease.ts";
import type { LeaseRow } from "../../rooms/lease-row.ts";

const ttlMs = 15_000;

function row(fields: Partial<LeaseRow> = {}): LeaseRow {
  return { room_id: "r1", generation: 1, holder: "h-w", renewal: 4, released: false, process: null, ...fields };
}

function decide(sighting: LeaseSighting, askedAt: number, isHolderGone = false): unknown {
  return decideClaim({ sighting, askedAt, ttlMs, holder: "h-v", isHolderGone });
}

describe("decideClaim", () => {
  it.each([
    ["never claimed", row({ generation: 0, holder: "", renewal: 0 }), false, "never_claimed"],
    ["given back", row({ released: true }), false, "released"],
    ["of its own, from before", row({ holder: "h-v" }), false, "own"],
    ["of a process that provably died", row(), true, "holder_gone"],
  ])("claims a lease that was %s at once", (_what, lease, isHolderGone, reason) => {
    expect(decide({ lease, unchangedSince: 7 }, 0, isHolderGone)).toEqual({ action: "claim", reason });
  });

  it.each([
    [15_006, { action: "wait", until: 15_007 }],
    [15_007, { action: "claim", reason: "expired" }],
    [15_008, { action: "claim", reason: "expired" }],
  ])("R46 at %i ms decides by a whole TTL without a renewal", (askedAt, decision) => {
    expect(decide({ lease: row(), unchangedSince: 7 }, askedAt)).toEqual(decision);
  });
});

describe("sight", () => {
  const seen = { lease: row(), unchangedSince: 100 };

  it("counts from the first look", () => {
    expect(sight(undefined, row(), 100)).toEqual(seen);
    expect(sight(seen, row(), 9_000)).toEqual(seen);
  });

  it.each([row({ renewal: 5 }), row({ generation: 2 }), row({ generation: 2, renewal: 0 })])(
    "counts anew when the claim or the renewal is another",
    (lease) => {
      expect(sight(seen, lease, 9_000)).toEqual({ lease, unchangedSince: 9_000 });
    },
  );

  it("keeps its count when the lease was given back, and shows it", () => {
    expect(sight(seen, row({ released: true }), 9_000)).toEqual({
      lease: row({ released: true }),
      unchangedSince: 100,
    });
  });
});

describe("I10 a lease", () => {
  it("is claimed by nobody before its holder counts it as over", () => {
    // The holder asks to renew, the database grants it later, a contender looks whenever it likes: on one true time.
    const delays = fc.record({
      askedAt: fc.nat(5_000),
      granted: fc.nat(2_000),
      looks: fc.array(fc.record({ pause: fc.nat(4_000), read: fc.nat(500) }), { minLength: 1, maxLength: 60 }),
    });
    fc.assert(
      fc.property(delays, fc.integer({ min: -1e6, max: 1e6 }), ({ askedAt, granted, looks }, skew) => {
        const grantedAt = askedAt + granted;
        let time = 0;
        let sighting: LeaseSighting | undefined;
        for (const { pause, read } of looks) {
          time += pause;
          const looksAt = time;
          time += read;
          // What is read was true at some instant between question and answer; the latest is the worst.
          const lease = row({ renewal: time >= grantedAt ? 5 : 4 });
          sighting = sight(sighting, lease, time + skew);
          const decision = decideClaim({
            sighting,
            askedAt: looksAt + skew,
            ttlMs,
            holder: "h-v",
            isHolderGone: false,
          });
          if (decision.action === "claim" && lease.renewal === 5) {
            expect(looksAt).toBeGreaterThanOrEqual(heldUntil(askedAt, ttlMs));
          }
        }
      }),
    );
  });
});
