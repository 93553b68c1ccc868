import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkpointOf, emptyState, fold } from "../../rooms/index.ts";
import { roomOf, TestHost } from "../support/open-room.ts";
import { conduct, randomRunner } from "../support/random-runner.ts";

const post = fc.record({
  text: fc.constantFrom("@a hi", "@b hi", "hi", "@nobody hi"),
  thread_id: fc.constantFrom("main", "side"),
});

describe("I4 pure replay", () => {
  it("I4 rows that the driver wrote fold to the state it had, in one pass, row by row, at any split", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(conduct, { minLength: 1, maxLength: 6 }),
        fc.array(post, { minLength: 1, maxLength: 6 }),
        async (conducts, posts) => {
          const test = await TestHost.open({ rooms: [roomOf(randomRunner(conducts), ["a", "b", "c"])] });
          for (const given of posts) {
            await test.room.post(given);
            await test.pass(50);
          }
          const live = test.room.folded;
          const rows = (await test.rows()).slice(0, live.through_seq);
          const { digest } = checkpointOf(live, "");
          const empty = emptyState("r1");
          expect(fold(empty, rows)).toEqual(live);
          expect(
            checkpointOf(
              rows.reduce((state, row) => fold(state, [row]), empty),
              "",
            ).digest,
          ).toBe(digest);
          for (let at = 0; at <= rows.length; at++) {
            const inTwo = fold(fold(empty, rows.slice(0, at)), rows.slice(at));
            expect(checkpointOf(inTwo, "").digest).toBe(digest);
          }
          await test.close();
        },
      ),
      { numRuns: 50 },
    );
  });

  it("I4 a host that opens the log has the state that the last one left", async () => {
    const conducts = [{ steps: ["delta", "open"], end: "completed" }] as const;
    const test = await TestHost.open({ rooms: [roomOf(randomRunner(conducts), ["a", "b"])] });
    for (const text of ["one", "@b two", "three"]) await test.room.post({ text });
    await test.quiet();
    const watched = test.room.folded;
    await test.host.close();
    const again = await TestHost.open({ rooms: [roomOf(randomRunner(conducts), ["a", "b"])], log: test.log });
    expect(again.room.folded).toEqual(watched);
  });
});
