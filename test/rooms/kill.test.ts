import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../support/open-log.ts";
import { roomOf, says, TestHost } from "../support/open-room.ts";

const childFile = fileURLToPath(new URL("../support/room-child.ts", import.meta.url));

/** Starts a host in a process of its own, and kills it -9 at the line that `isLast` names. Gives what it accepted. */
async function killed(
  file: string,
  point: string,
  isLast: (line: string, count: number) => boolean,
): Promise<string[]> {
  const words = ["--import", "tsx", childFile, file, point];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exited = once(child, "exit");
  const accepted: string[] = [];
  let count = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith("accepted ")) accepted.push(line.slice("accepted ".length));
    // What it says between its last instruction and its death counts as well.
    if (isLast(line, ++count)) child.kill("SIGKILL");
  }
  await exited;
  return accepted;
}

const answered = ["started m-b message", "settled m-b completed"];
const completed = ["started m-a message", "settled m-a completed", ...answered];
const abandoned = ["started m-a message", "settled m-a host_lost", ...answered];

describe("a host that is killed", { timeout: 60_000 }, () => {
  it.each([
    ["accept", completed],
    ["start", completed],
    ["started", abandoned],
    ["turn", abandoned],
    ["settle", abandoned],
    ["settled", completed],
    ["second", completed],
  ])("R17 R18 at `%s` leaves the post, and each attempt with no row or two", async (point, told) => {
    const file = join(temporaryFolder(), "test.db");
    const accepted = await killed(file, point, (line) => line === `at ${point}`);
    expect(accepted).toHaveLength(1);
    const test = await TestHost.open({ rooms: [roomOf(says("hi"), ["a", "b"])], file });
    expect(await test.room.post({ text: "hello", event_id: "k1" })).toMatchObject({
      message_id: accepted[0],
      duplicate: true,
    });
    await test.quiet();
    expect(await test.told()).toEqual(told);
    expect(await test.log.inbox("r1")).toEqual([]);
  });

  it("R35 when a stop was stored has that stop kept by the next host", async () => {
    const file = join(temporaryFolder(), "test.db");
    await killed(file, "stop", (line) => line === "at stop");
    const test = await TestHost.open({ rooms: [roomOf(says("hi"), ["a", "b"])], file });
    await test.quiet();
    expect(await test.told()).toEqual(["started m-a message", "settled m-a host_lost"]);
    const { threads, inbox } = await test.room.state();
    expect([threads, inbox]).toMatchObject([[{ status: "stopped", owed: [] }], []]);
    await test.room.post({ text: "@b go on" });
    await test.quiet();
    expect((await test.told()).slice(2)).toEqual(["started m-b mention", "settled m-b completed"]);
  });

  it.each([1, 23, 150])("R18 I12 after its %ith line has lost no post that it accepted", async (lines) => {
    const file = join(temporaryFolder(), "test.db");
    const accepted = await killed(file, "never", (_, count) => count >= lines);
    expect(accepted.length).toBeGreaterThanOrEqual(lines);
    const test = await TestHost.open({ rooms: [roomOf(says("hi"), ["a", "b"])], file });
    await test.quiet();
    const rows = await test.rows();
    expect(await test.log.inbox("r1")).toEqual([]);
    const ends = rows.filter(({ kind }) => kind === "turn.settled");
    expect(new Set(ends.map(({ task_id }) => task_id)).size).toBe(rows.length / 2);
    for (const memberId of ["m-a", "m-b"]) {
      const shown = rows.flatMap((row) =>
        row.kind === "turn.started" && row.member_id === memberId
          ? row.payload.input.flatMap((item) => ("message_id" in item ? item.message_id : []))
          : [],
      );
      expect(accepted.filter((id) => shown.filter((other) => other === id).length !== 1)).toEqual([]);
    }
  });
});
