import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../core/index.ts";
import { openSqliteLog } from "../rooms/index.ts";
import { chaos } from "./chaos/chaos.ts";
import { findFaults } from "./chaos/checks.ts";
import { finishRound } from "./chaos/clean-host.ts";
import { Dice } from "./chaos/dice.ts";
import { Journal, readJournal, type Entry } from "./chaos/journal.ts";
import { temporaryFolder } from "./support/open-log.ts";

describe("hosts on one database that are killed", { timeout: 60_000 }, () => {
  it("R18 I12 lose no post that was accepted, and call no runner twice", async () => {
    const { faults, kills, messages } = await chaos({ rounds: 5, seed: "suite" });
    expect(faults).toEqual([]);
    expect(kills).toBeGreaterThanOrEqual(5);
    expect(messages).toBeGreaterThanOrEqual(20);
  });
});

describe("what is looked for behind each round", () => {
  /** A room with one post and its turns, by a host that nobody killed; and what `forged` adds to its journal. */
  async function foundIn(forged: (called: Entry) => readonly Entry[]): Promise<readonly string[]> {
    const file = join(temporaryFolder(), "test.db");
    const journal = new Journal(`${file}.journal`);
    const log = await openSqliteLog({ file, clock: systemClock });
    await finishRound(log, journal, "first");
    const author = { kind: "person", id: "p" } as const;
    const post = { room_id: "r1", thread_id: "main", author, origin: null, text: "@a hello", attachments: [] };
    await log.accept({ ...post, message_id: "msg-1", owed: ["m-a"], named: ["m-a"] });
    await finishRound(log, journal, "second");
    const entries = readJournal(`${file}.journal`);
    const called = entries.find(({ kind }) => kind === "called");
    if (called === undefined) throw new TypeError("nobody was called");
    const faults = await findFaults(log, [...entries, ...forged(called)], new Dice("test"));
    await log.close();
    journal.close();
    return faults;
  }

  const accepted = { kind: "accepted", room_id: "r1", message_id: "msg-1", addressed: ["m-a"] } as const;
  const stopped = { kind: "stopped", room_id: "r1", post_number: 1, seq: 0 } as const;

  it.each<[string, RegExp | null, (called: Entry) => readonly Entry[]]>([
    ["nothing, when nothing is wrong", null, () => [accepted]],
    ["a runner that was called twice", /ran 2 times: second, second$/, (called) => [called]],
    ["a post that is gone", /msg-2 was accepted and is not there$/, () => [{ ...accepted, message_id: "msg-2" }]],
    ["a member that never had it", /m-b never had it$/, () => [{ ...accepted, addressed: ["m-b"] }]],
    ["a turn behind the stop of its post", /begins in a discussion that was stopped at row 0$/, () => [stopped]],
  ])("finds %s", async (_what, expected, forged) => {
    const faults = await foundIn(forged);
    if (expected === null) expect(faults).toEqual([]);
    else expect(faults.filter((fault) => expected.test(fault))).not.toEqual([]);
  });
});
