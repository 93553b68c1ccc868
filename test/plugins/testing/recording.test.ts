import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ActivityEvent } from "../../../core/index.ts";
import { definePlugin } from "../../../plugins/index.ts";
import { openTestHost, readRecording, type TestHost } from "../../../plugins/testing/index.ts";
import { temporaryFolder } from "../../support/open-log.ts";

const header = {
  roomtap_recording: 1,
  started_at: 5,
  host: { version: "1.2.3" },
  options: { rooms: null, payload: "standard" },
};
const coordinates = {
  ...{ room_id: "r1", thread_id: "main", member_id: "m-a", turn_id: "t-9", task_id: "k-9", execution_generation: 3 },
};
const delta = (n: number, text: string, fields: object = {}): object => ({
  ...{ v: 1, coordinates, kind: "message.delta", n, seq: n + 40, at: 7 },
  payload: { text, offset: 0 },
  ...fields,
});
const gap = {
  ...{ v: 1, coordinates, kind: "gap", n: null, seq: null, at: 8 },
  payload: { dropped: 2, withheld: 0, first_n: 5, last_n: 6, kinds: { "message.delta": 2 }, reason: "overflow" },
};
const future = { ...delta(8, ""), kind: "message.seen", payload: { by: "ada" } };
const end = { end: true, events: 4, gaps: 1, dropped: 2 };

const linesOf = (...lines: readonly object[]): string => `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`;
const whole = linesOf(
  header,
  delta(4, "a", { n_from: 2 }),
  gap,
  delta(7, "all", { payload: { text: "all", offset: 0, snapshot: true } }),
  future,
  end,
);

async function openWatched(): Promise<{ readonly host: TestHost; readonly events: ActivityEvent[] }> {
  const events: ActivityEvent[] = [];
  const plugin = definePlugin({
    id: "demo",
    version: "1",
    setup: (ctx) => ctx.on("*", (event) => void events.push(event)),
  });
  const host = await openTestHost({ plugin });
  onTestFinished(() => host.close());
  return { host, events };
}

describe("a recording", () => {
  it("is played event by event, gaps and unknown kinds among them, as it was recorded", async () => {
    const { host, events } = await openWatched();
    const played = await host.replay({ text: whole });
    expect(events).toEqual(played.events);
    expect(JSON.parse(JSON.stringify(events))).toEqual(
      whole
        .split("\n")
        .slice(1, 5)
        .map((line) => JSON.parse(line) as unknown),
    );
    expect([played.started_at, played.end]).toEqual([5, { end: true, events: 4, gaps: 1, dropped: 2 }]);
    expect(events.every((event) => Object.isFrozen(event))).toBe(true);
  });

  it("goes to a stalled plugin when it is let go on", async () => {
    const { host, events } = await openWatched();
    const release = host.stall();
    await host.replay({ text: linesOf(header, delta(1, "a"), delta(2, "b")) });
    expect(events).toEqual([]);
    release();
    await host.settled();
    expect(events.map(({ n, n_from }) => [n_from ?? n, n])).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });

  it("is read from files that follow each other, the last one cut off", async () => {
    const folder = temporaryFolder();
    const files = ["a.jsonl", "b.jsonl"].map((name) => join(folder, name));
    writeFileSync(files[0] ?? "", linesOf(header, delta(1, "a")));
    writeFileSync(files[1] ?? "", `${linesOf({ ...header, part: 2 }, delta(2, "b"))}{"v":1,"coord`);
    const { events, end: ended } = await readRecording({ file: files });
    expect([events.map(({ n }) => n), ended]).toEqual([[1, 2], null]);
    await expect(readRecording({ file: files.toReversed() })).rejects.toThrow("file 2: expected part 3, got part 1");
    await expect(readRecording({ file: join(folder, "none") })).rejects.toMatchObject({ code: "ENOENT" });
    await expect(readRecording({ file: [] })).rejects.toThrow("recording: expected a file, got none");
  });

  it.each([
    ["nothing", "", "line 1: expected the header of a recording"],
    ["another file", linesOf({ a: 1 }), "line 1: expected the header of a recording"],
    ["a broken line in the middle", `${linesOf(header)}{"v"\n${linesOf(end)}`, "line 2: expected JSON"],
    ["an event without coordinates", linesOf(header, { ...delta(1, "a"), coordinates: {} }), "line 2: coordinates"],
    [
      "something behind its end",
      linesOf(header, end, delta(1, "a")),
      "line 3: expected nothing behind the line that ends it",
    ],
  ])("is refused when it is %s", async (_, text, message) => {
    await expect(readRecording({ text })).rejects.toThrow(message);
  });
});
