import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { members, openLog, postOf, roomOf, temporaryFolder } from "../../support/open-log.ts";

const childFile = fileURLToPath(new URL("../../support/race-child.ts", import.meta.url));
const processes = 12;

interface Racer {
  readonly say: (line: string) => void;
  readonly line: () => Promise<string>;
}

function racer(file: string): Racer {
  const words = ["--import", "tsx", childFile, file];
  const child = spawn(process.execPath, words, { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(async () => {
    const exited = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
    child.kill("SIGKILL");
    await exited;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { say: (line) => void child.stdin.write(`${line}\n`), line: async () => String((await lines.next()).value) };
}

/** How often each word was said. */
function tally(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

describe("12 hosts of one room", { timeout: 120_000 }, () => {
  it("R45 C-051 have one that drives it and calls the runner once, 10 times", async () => {
    const file = join(temporaryFolder(), "test.db");
    const log = await openLog(file);
    const racers = Array.from({ length: processes }, () => racer(file));
    const all = async (line?: string): Promise<Record<string, number>> => {
      if (line !== undefined) for (const each of racers) each.say(line);
      return tally(await Promise.all(racers.map((each) => each.line())));
    };
    expect(await all()).toEqual({ open: processes });
    for (let round = 0; round < 10; round++) {
      const roomId = `r${round}`;
      await log.putRoom({ ...roomOf(roomId), members: members.slice(0, 1) });
      await log.accept(postOf("go", { room_id: roomId, owed: ["m-a"] }));
      expect(await all(roomId)).toEqual({ ready: processes });
      expect(await all("go")).toEqual({ driven: 1, waits: processes - 1 });
      expect(await all("close")).toEqual({ "1 calls": 1, "0 calls": processes - 1 });
    }
    for (const { room_id } of await log.rooms()) {
      expect((await log.read(room_id, { after_seq: 0 })).rows.map(({ kind }) => kind)).toEqual([
        "turn.started",
        "turn.settled",
      ]);
    }
  });
});
