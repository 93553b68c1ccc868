import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RoomtapError, type ErrorCode } from "../../core/index.ts";
import { openSqliteLog, type PostReceipt } from "../../rooms/index.ts";
import { interposed } from "../support/interposed.ts";
import { loopClock } from "../support/open-log.ts";
import { roomOf, TestHost } from "../support/open-room.ts";
import { conduct, randomRunner } from "../support/random-runner.ts";

const troubles: readonly ErrorCode[] = ["log_busy", "log_full", "log_unavailable", "log_read_only"];
const fate = fc.constantFrom<(ErrorCode | "fine")[]>("fine", "fine", "fine", ...troubles);

describe("I12 nothing accepted is lost", () => {
  it("I12 each accepted post is in the log or waits in the inbox, whatever the database refuses", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(conduct, { minLength: 1, maxLength: 4 }),
        fc.array(fate, { minLength: 1, maxLength: 20 }),
        fc.array(fc.constantFrom("@a hi", "hi", "@nobody hi"), { minLength: 1, maxLength: 6 }),
        async (conducts, fates, texts) => {
          const clock = loopClock();
          const log = await openSqliteLog({ file: ":memory:", clock });
          let calls = 0;
          const meetFate = (): void => {
            const word = fates[calls++ % (fates.length + 1)] ?? "fine";
            if (word !== "fine") throw new RoomtapError(word, "trouble");
          };
          const troubled = interposed(log, {
            accept: async (post) => (meetFate(), log.accept(post)),
            append: async (append) => (meetFate(), log.append(append)),
            inbox: async (roomId) => (meetFate(), log.inbox(roomId)),
          });
          const rooms = [roomOf(randomRunner(conducts), ["a", "b"])];
          const test = await TestHost.open({ rooms, clock, log: troubled });
          const accepted: PostReceipt[] = [];
          for (const [index, text] of texts.entries()) {
            const posted = test.room.post({ text, event_id: `k${index}` });
            await posted.then((receipt) => accepted.push(receipt), expectTrouble);
            await test.pass(20_000, 2_500);
          }
          await checkAllThere(test, log, accepted);
          const closing = test.host.close(0);
          await test.pass(50);
          await closing;
          // The next host meets no trouble, and its runners answer.
          const answers = [{ steps: ["delta"], end: "completed" }] as const;
          const next = await TestHost.open({ rooms: [roomOf(randomRunner(answers), ["a", "b"])], clock, log });
          await next.quiet();
          await checkAllThere(next, log, accepted);
          expect((await log.inbox("r1")).flatMap(({ owed }) => owed)).toEqual([]);
          await next.close();
        },
      ),
      { numRuns: 60 },
    );
  });
});

function expectTrouble(fault: unknown): void {
  expect(troubles).toContain(fault instanceof RoomtapError ? fault.code : fault);
}

/** Each post stands in full in one row or in the inbox, and each member it addressed was shown it or is owed. */
async function checkAllThere(
  test: TestHost,
  log: { inbox: TestHost["log"]["inbox"] },
  accepted: readonly PostReceipt[],
): Promise<void> {
  const rows = await test.rows("r1");
  const inbox = await log.inbox("r1");
  const starts = rows.flatMap((row) => (row.kind === "turn.started" ? [row] : []));
  for (const { message_id, addressed } of accepted) {
    const inFull = starts.flatMap(({ payload }) =>
      payload.input.filter((item) => "text" in item && item.message_id === message_id),
    );
    const waiting = inbox.find((post) => post.message_id === message_id);
    expect(inFull.length).toBe(waiting === undefined || waiting.row_seq !== null ? 1 : 0);
    for (const memberId of addressed) {
      const shown = starts.filter(
        ({ member_id, payload }) =>
          member_id === memberId &&
          payload.input.some((item) => "message_id" in item && item.message_id === message_id),
      );
      const isOwed = waiting?.owed.includes(memberId) ?? false;
      expect(shown.length).toBe(isOwed ? 0 : 1);
    }
  }
}
