import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openSqliteLog, type SqliteRoomLog } from "../../rooms/index.ts";
import { logProcess, type LogProcess } from "../support/log-process.ts";
import {
  loopClock,
  openLog,
  ownRoom,
  postOf,
  roomOf,
  startOf,
  temporaryFolder,
  turnsOfLoop,
} from "../support/open-log.ts";

const processes = 12;
const rounds = 50;

/** How often each word was said. */
function tally(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

describe("12 processes at one database", () => {
  let folder: string;
  let log: SqliteRoomLog;
  let racers: readonly LogProcess[];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "roomtap-"));
    const file = join(folder, "test.db");
    log = await openSqliteLog({ file, clock: loopClock() });
    racers = Array.from({ length: processes }, () => logProcess("race", file));
    // Each says that it has the file open.
    await Promise.all(racers.map((racer) => racer.line()));
  }, 60_000);

  afterAll(async () => {
    await Promise.all(racers.map((racer) => racer.kill()));
    await log.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Tells all what to do, lets them go together when each has said that it is ready, and gives what each says then. */
  async function race(task: string): Promise<Record<string, number>> {
    for (const racer of racers) racer.say(task);
    expect(tally(await Promise.all(racers.map((racer) => racer.line())))).toEqual({ ready: processes });
    for (const racer of racers) racer.say("go");
    return tally(await Promise.all(racers.map((racer) => racer.line())));
  }

  it("R45 C-051 one claims the room and calls the runner, 50 times", { timeout: 60_000 }, async () => {
    for (let round = 0; round < rounds; round++) {
      const room_id = `claim-${round}`;
      await log.putRoom(roomOf(room_id));
      await log.accept(postOf("hello", { room_id, owed: ["m-a"] }));
      expect(await race(`claim ${room_id}`)).toEqual({ "runner called": 1, "taken 1": processes - 1 });
      const { rows } = await log.read(room_id, { after_seq: 0 });
      expect(rows.map(({ kind }) => kind)).toEqual(["turn.started"]);
      expect(await log.inbox(room_id)).toEqual([]);
    }
  });

  it("R5 C-086 one appends at each position, 50 times", { timeout: 60_000 }, async () => {
    const generation = await ownRoom(log, "rows");
    for (let seq = 0; seq < rounds; seq++) {
      const words = await race(`append rows ${seq} ${generation}`);
      expect(words).toEqual({ appended: 1, [`at ${seq + 1}`]: processes - 1 });
    }
    const { rows } = await log.read("rows", { after_seq: 0 });
    expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: rounds }, (_, index) => index + 1));
    expect(rows.slice(1).map((row) => row.prev_hash)).toEqual(rows.slice(0, -1).map((row) => row.hash));
  });
});

describe("a lock of another process", () => {
  async function locked() {
    const file = join(temporaryFolder(), "test.db");
    const clock = loopClock();
    const log = await openLog(file, clock);
    await ownRoom(log);
    const locker = logProcess("lock", file);
    onTestFinished(() => locker.kill());
    expect(await locker.line()).toBe("locked");
    const append = { room_id: "r1", rows: [startOf("1")], inbox: [], expected_seq: 0, lease_generation: 1 };
    /** Moves time in steps of a retry; the loop turns between. */
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 25) {
        await turnsOfLoop(2);
        clock.advance(25);
      }
    };
    return { log, locker, append, pass };
  }

  it("C-053 of 300 ms puts an append off and stops no event loop", { timeout: 60_000 }, async () => {
    const { log, locker, append, pass } = await locked();
    let isOver = false;
    const appended = log.append(append).finally(() => (isOver = true));
    await pass(300);
    expect(isOver).toBe(false);
    locker.say("release");
    expect(await locker.line()).toBe("released");
    await pass(50);
    expect((await appended).status).toBe("appended");
    expect((await log.head("r1")).seq).toBe(1);
  });

  it("C-053 for ever ends in log_busy, and the row is taken later", { timeout: 60_000 }, async () => {
    const { log, locker, append, pass } = await locked();
    const [busy] = await Promise.allSettled([log.append(append), pass(5_050)]);
    expect(busy).toMatchObject({ status: "rejected", reason: { code: "log_busy" } });
    expect((await log.head("r1")).seq).toBe(0);
    await locker.kill();
    expect(await log.append(append)).toMatchObject({ status: "appended", rows: [{ seq: 1 }] });
  });
});

describe("a watch", () => {
  it("C-082 brings rows of this process and of another, once each and in order", { timeout: 60_000 }, async () => {
    const file = join(temporaryFolder(), "test.db");
    const clock = loopClock();
    const log = await openLog(file, clock);
    await log.putRoom(roomOf("r1"));
    const seen: number[] = [];
    let reading = Promise.resolve();
    const readOn = async (): Promise<void> => {
      const { rows } = await log.read("r1", { after_seq: seen.at(-1) ?? 0 });
      seen.push(...rows.map(({ seq }) => seq));
    };
    const onChange = (): void => void (reading = reading.then(readOn));
    onTestFinished(log.watch(onChange));
    // Behind the watch, before the snapshot: whoever looks now sees it, and is told of it as well.
    const other = logProcess("hold", file);
    onTestFinished(() => other.kill());
    expect(await other.line()).toBe("ready");
    onChange();
    const generation = (await log.lease("r1")).generation;
    const append = (seq: number) =>
      log.append({
        room_id: "r1",
        rows: [startOf(`own-${seq}`)],
        inbox: [],
        expected_seq: seq,
        lease_generation: generation,
      });
    await append(1);
    other.say("next");
    expect(await other.line()).toBe("appended");
    await append(3);
    other.say("next");
    expect(await other.line()).toBe("appended");
    await reading;
    expect(seen).toEqual([1, 2, 3, 4]);
    clock.advance(250);
    await reading;
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });
});
