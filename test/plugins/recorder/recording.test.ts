import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { limits, type ActivityEvent } from "../../../core/index.ts";
import { eventText, parseRecording, readRecording } from "../../../plugins/index.ts";
import { temporaryFolder } from "../../support/open-log.ts";
import { deltaOf, gapOf, recordingHeader } from "../../support/recordings.ts";

const header = JSON.stringify(recordingHeader);
const lost = { coordinates: null, first_n: null, last_n: null, events: 3, reason: "reconnect" };

describe("a recording", () => {
  it("is read back as it was written: header, events, gaps, losses at their places, and its end", () => {
    const events = [deltaOf(1), gapOf(2), deltaOf(4)];
    const lines = [
      header,
      ...events.slice(0, 2).map(eventText),
      JSON.stringify({ lost }),
      eventText(deltaOf(4)),
      '{"end":true,"events":2,"gaps":1,"dropped":5}',
      "",
    ];
    expect(parseRecording(lines)).toEqual({
      header: recordingHeader,
      events,
      losses: [{ ...lost, before: 2 }],
      end: { end: true, events: 2, gaps: 1, dropped: 5 },
      isCut: false,
    });
  });

  it("of several files is read as one, and its counts are added up", () => {
    const second = JSON.stringify({ ...recordingHeader, part: 2 });
    const third = JSON.stringify({ ...recordingHeader, part: 3 });
    const { events, end } = parseRecording([
      header,
      eventText(deltaOf(1)),
      '{"end":true,"events":1,"gaps":0,"dropped":0,"continued":true}',
      second,
      eventText(deltaOf(2)),
      third,
      eventText(gapOf(7)),
      '{"end":true,"events":0,"gaps":1,"dropped":7}',
    ]);
    expect(events).toEqual([deltaOf(1), deltaOf(2), gapOf(7)]);
    expect(end).toEqual({ end: true, events: 1, gaps: 1, dropped: 7 });
  });

  it("that begins with a later file is read from there", () => {
    const later = JSON.stringify({ ...recordingHeader, part: 7 });
    expect(parseRecording([later, eventText(deltaOf(9))])).toMatchObject({ header: { part: 7 }, end: null });
  });

  it("keeps what a newer host tells of an event", () => {
    const newer = { ...deltaOf(1), more: 1, payload: { text: "a", offset: 0, tone: "calm" } };
    const seen = { ...deltaOf(2), kind: "message.seen", payload: { by: "ada" } };
    const lines = [header, ...[newer, seen].map((event) => JSON.stringify(event))];
    expect(parseRecording(lines).events).toEqual([newer, seen]);
  });

  it("cut off anywhere gives its whole lines, and says that it is cut", () => {
    const arbitrary = fc.array(fc.tuple(fc.boolean(), fc.string({ unit: "binary" })), { maxLength: 8 });
    fc.assert(
      fc.property(arbitrary, fc.nat(), (given, place) => {
        const events = given.map(([isGap, text], index): ActivityEvent => {
          const delta = { ...deltaOf(index + 1), payload: { text, offset: 0 } } as ActivityEvent;
          return isGap ? gapOf(index + 1) : delta;
        });
        const lines = events.map(eventText);
        const text = [header, ...lines, ""].join("\n");
        // Behind the header: without one there is no recording.
        const kept = text.slice(0, header.length + 1 + (place % (text.length - header.length)));
        const whole = kept.split("\n").slice(1);
        const last = whole.at(-1) ?? "";
        const isCut = last !== "" && !lines.includes(last);
        const recording = parseRecording(kept.split("\n"));
        expect(recording.isCut).toBe(isCut);
        expect(recording.events).toEqual(events.slice(0, whole.filter((line) => line !== "").length - Number(isCut)));
      }),
    );
  });
});

describe("what is none is refused, with the line that is wrong", () => {
  const second = JSON.stringify({ ...recordingHeader, part: 2 });
  it.each([
    ["nothing", [], "line 1: expected the header of a recording, got nothing"],
    ["a half header", ['{"roomtap_rec'], "line 1: expected the header of a recording, got nothing"],
    ["another version", [header.replace(":1,", ":2,")], "line 1: roomtap_recording: "],
    ["a header with more", [header.replace("{", '{"more":1,')], "line 1: "],
    ["an event first", [eventText(deltaOf(1))], "line 1: expected the header of a recording"],
    ["another thing", [header, '{"a":1}'], "line 2: v: "],
    ["a number", [header, "7"], "line 2: "],
    ["a broken line in the middle", [header, "{", eventText(deltaOf(1))], "line 2: expected JSON"],
    ["a loss of nothing", [header, JSON.stringify({ lost: { ...lost, events: 0 } })], "line 2: lost.events: "],
    [
      "a line behind the end",
      [header, '{"end":true,"events":0,"gaps":0,"dropped":0}', eventText(deltaOf(1))],
      "line 3: expected nothing behind the line that ends it",
    ],
    ["a second beginning", [header, header], "line 2: expected part 2 of this recording"],
    ["a file that is left out", [header, second.replace(":2}", ":3}")], "line 2: expected part 2 of this recording"],
    [
      "a file of another recording",
      [header, second.replace("1764512345678", "1")],
      "line 2: expected part 2 of this recording",
    ],
  ])("%s", (_, lines, message) => {
    expect(() => parseRecording(lines)).toThrow(
      expect.objectContaining({
        code: "invalid_recording",
        message: expect.stringContaining(message) as string,
      }) as Error,
    );
  });
});

describe("a file", () => {
  it("is read by its path, the last line also without its end", async () => {
    const path = join(temporaryFolder(), "a.jsonl");
    writeFileSync(path, `${header}\n${eventText(deltaOf(1, 100_000))}\n${eventText(deltaOf(2))}`);
    expect(await readRecording(path)).toMatchObject({ events: [deltaOf(1, 100_000), deltaOf(2)], isCut: false });
  });

  it("that is not there, is a folder or is no recording is told with its path", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "b.jsonl");
    writeFileSync(path, "hello\n");
    for (const [source, why] of [
      [join(folder, "gone"), "ENOENT"],
      [folder, "EISDIR"],
      [path, "line 1: expected the header"],
    ] as const) {
      await expect(readRecording(source)).rejects.toMatchObject({
        code: "invalid_recording",
        message: expect.stringContaining(`${source}: ${why}`) as string,
      });
    }
  });

  it("above the bound is not read", async () => {
    const path = join(temporaryFolder(), "large.jsonl");
    writeFileSync(path, "");
    truncateSync(path, limits.maxRecordingBytes + 1);
    await expect(readRecording(path)).rejects.toMatchObject({ code: "payload_too_large" });
  });

  it("may come as lines, at once or one by one", async () => {
    async function* lines(): AsyncGenerator<string> {
      yield header;
      yield eventText(deltaOf(1));
    }
    expect((await readRecording(lines())).events).toEqual([deltaOf(1)]);
    expect((await readRecording([header])).events).toEqual([]);
  });
});
