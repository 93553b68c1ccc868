import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { manualClock, type ManualClock } from "../../../core/index.ts";
import {
  eventText,
  folderPlace,
  readRecording,
  RecordingWriter,
  singlePlace,
  type RecordingFile,
  type RecordingOptions,
} from "../../../plugins/index.ts";
import { createFile } from "../../../plugins/recording-files.ts";
import { temporaryFolder } from "../../support/open-log.ts";
import { deltaOf, fileLines, gapOf, recordingHeader } from "../../support/recordings.ts";

interface Setup {
  readonly folder: string;
  readonly clock: ManualClock;
  readonly open: (options?: Partial<RecordingOptions>) => Promise<RecordingWriter>;
}

function place(): Setup {
  const folder = temporaryFolder();
  const clock = manualClock();
  const open = (options: Partial<RecordingOptions> = {}): Promise<RecordingWriter> =>
    RecordingWriter.open({
      ...{ clock, header: recordingHeader },
      place: folderPlace(folder, "roomtap", recordingHeader.started_at),
      ...options,
    });
  return { folder, clock, open };
}

const name = (part: number): string => `roomtap-20251130T141905678Z-${String(part).padStart(6, "0")}.jsonl`;
const lineBytes = eventText(deltaOf(1)).length + 1;
const headerBytes = JSON.stringify(recordingHeader).length + 1;

/** A disk with so many bytes left, of which the last write takes what fits. */
class FullDisk {
  left = 0;
  readonly create = async (path: string): Promise<RecordingFile> => {
    const file = await createFile(path);
    const write = async (bytes: Buffer, offset: number, length: number, position: number): Promise<object> => {
      if (this.left === 0) throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
      const fitting = Math.min(length, this.left);
      this.left -= fitting;
      return file.write(bytes, offset, fitting, position);
    };
    return {
      write: write as RecordingFile["write"],
      truncate: (length) => file.truncate(length),
      datasync: () => file.datasync(),
      close: () => file.close(),
    };
  };
}

describe("a recording's file", () => {
  it("holds the header, each event as it is on the wire, and at its end what there was", async () => {
    const { folder, open } = place();
    const writer = await open();
    writer.add(deltaOf(1));
    writer.add(gapOf(4));
    writer.lost({ coordinates: null, first_n: null, last_n: null, events: 2, reason: "reconnect" });
    await writer.flush();
    await writer.close();
    await writer.close();
    expect(readdirSync(folder)).toEqual([name(1)]);
    expect(fileLines(join(folder, name(1)))).toEqual([
      '{"roomtap_recording":1,"started_at":1764512345678,"host":{"version":"0.1.0"},"options":{"rooms":null,"payload":"standard"}}',
      eventText(deltaOf(1)),
      eventText(gapOf(4)),
      '{"lost":{"coordinates":null,"first_n":null,"last_n":null,"events":2,"reason":"reconnect"}}',
      '{"end":true,"events":1,"gaps":1,"dropped":6}',
    ]);
    expect(writer.written).toEqual({ events: 1, gaps: 1, dropped: 6, files: 1 });
    await expect(writer.flush()).rejects.toMatchObject({ code: "closed" });
  });

  it("may be read by its owner alone", async () => {
    const { folder, open } = place();
    await (await open()).close();
    expect(statSync(join(folder, name(1))).mode & 0o777).toBe(0o600);
  });

  it("without its end is read up to its last whole line", async () => {
    const { folder, open } = place();
    const writer = await open();
    writer.add(deltaOf(1));
    writer.add(deltaOf(2));
    await writer.flush();
    const whole = readFileSync(join(folder, name(1)), "utf8");
    const torn = join(folder, "torn.jsonl");
    writeFileSync(torn, whole.slice(0, -10));
    expect(await readRecording(torn)).toMatchObject({ events: [deltaOf(1)], end: null, isCut: true });
    await writer.close();
  });

  it("is never one that was there, also not behind a link", async () => {
    const { folder, open } = place();
    const file = join(folder, "mine.jsonl");
    const link = join(folder, "link.jsonl");
    writeFileSync(file, "keep me");
    symlinkSync(join(folder, "elsewhere"), link);
    for (const path of [file, link, join(folder, "gone", "x.jsonl")]) {
      await expect(open({ place: singlePlace(path) })).rejects.toMatchObject({
        code: "recording_unwritable",
        message: expect.stringContaining(path) as string,
        cause: expect.any(Error) as Error,
      });
    }
    expect(readFileSync(file, "utf8")).toBe("keep me");
    writeFileSync(join(folder, name(1)), "somebody else's");
    const writer = await open();
    expect(writer.file).toBe(join(folder, name(2)));
    await writer.close();
    expect(readFileSync(join(folder, name(1)), "utf8")).toBe("somebody else's");
  });
});

describe("a next file", () => {
  it("is begun by the line that does not fit, and says which it is", async () => {
    const { folder, open } = place();
    const writer = await open({ maxFileBytes: headerBytes + 2 * lineBytes });
    for (const n of [1, 2, 3]) writer.add(deltaOf(n));
    await writer.flush();
    await writer.close();
    expect(readdirSync(folder)).toEqual([name(1), name(2)]);
    expect(fileLines(join(folder, name(1))).slice(1)).toEqual([
      eventText(deltaOf(1)),
      eventText(deltaOf(2)),
      '{"end":true,"events":2,"gaps":0,"dropped":0,"continued":true}',
    ]);
    expect(fileLines(join(folder, name(2)))).toEqual([
      JSON.stringify({ ...recordingHeader, part: 2 }),
      eventText(deltaOf(3)),
      '{"end":true,"events":1,"gaps":0,"dropped":0}',
    ]);
    const both = [1, 2].flatMap((part) => fileLines(join(folder, name(part))));
    expect(await readRecording(both)).toMatchObject({
      events: [deltaOf(1), deltaOf(2), deltaOf(3)],
      end: { events: 3 },
    });
  });

  it("holds a line that is larger than a file may be, alone", async () => {
    const { folder, open } = place();
    const writer = await open({ maxFileBytes: 4_096 });
    for (const n of [1, 2, 3]) writer.add(deltaOf(n, n === 2 ? 2_000_000 : 4));
    await writer.close();
    expect(readdirSync(folder).map((file) => fileLines(join(folder, file)).length)).toEqual([3, 3, 3]);
  });

  it("is begun when the one before is old enough and something comes, and not when it holds nothing", async () => {
    const { folder, clock, open } = place();
    const writer = await open({ maxFileAgeMs: 1_000 });
    clock.advance(5_000);
    writer.add(deltaOf(1));
    await writer.flush();
    writer.add(deltaOf(2));
    await writer.flush();
    expect(readdirSync(folder)).toEqual([name(1), name(2)]);
    clock.advance(999);
    writer.add(deltaOf(3));
    await writer.flush();
    clock.advance(1);
    writer.add(deltaOf(4));
    await writer.close();
    expect(readdirSync(folder)).toEqual([name(1), name(2), name(3)]);
  });

  it("makes the oldest go when more stay than are to, those of earlier runs first, and nobody else's", async () => {
    const { folder, open } = place();
    const old = "roomtap-20240101T000000000Z-000001.jsonl";
    const foreign = "roomtap-20230101T000000000Z-000001.jsonl";
    const other = "other-20230101T000000000Z-000001.jsonl";
    for (const file of [old, other]) writeFileSync(join(folder, file), JSON.stringify(recordingHeader));
    writeFileSync(join(folder, foreign), "a file that only looks like one");
    const writer = await open({ maxFileBytes: headerBytes + lineBytes, keepFiles: 2 });
    expect(readdirSync(folder)).toEqual([other, foreign, old, name(1)].toSorted());
    for (const n of [1, 2, 3]) writer.add(deltaOf(n));
    await writer.close();
    expect(readdirSync(folder)).toEqual([other, foreign, name(2), name(3)].toSorted());
  });

  it("is begun although older ones cannot be removed, which is told", async () => {
    const { folder, open } = place();
    mkdirSync(join(folder, "roomtap-20240101T000000000Z-000001.jsonl"));
    const notes: string[] = [];
    const writer = await open({ keepFiles: 1, onNote: (note) => notes.push(note) });
    await writer.close();
    expect(notes).toEqual([expect.stringMatching(/^older recordings are not removed: EISDIR/)]);
  });
});

describe("a disk that takes nothing", () => {
  it("C-055 leaves no half line: what was not written is written at the same place later", async () => {
    const { folder, open } = place();
    const disk = new FullDisk();
    disk.left = headerBytes + lineBytes + 10;
    const writer = await open({ create: disk.create });
    writer.add(deltaOf(1));
    await writer.flush();
    writer.add(deltaOf(2));
    writer.add(deltaOf(3));
    for (const left of [0, 25]) {
      await expect(writer.flush()).rejects.toMatchObject({
        code: "recording_unwritable",
        message: `${join(folder, name(1))}: ENOSPC: no space left on device, write`,
      });
      expect(fileLines(join(folder, name(1))).slice(1)).toEqual([eventText(deltaOf(1))]);
      expect([writer.waiting, writer.written.events]).toEqual([2, 1]);
      disk.left = left;
    }
    disk.left = Infinity;
    await writer.flush();
    await writer.close();
    expect(await readRecording(join(folder, name(1)))).toMatchObject({
      events: [deltaOf(1), deltaOf(2), deltaOf(3)],
      end: { events: 3 },
    });
  });

  it("leaves no file without a header, and the next file is begun when there is room", async () => {
    const { folder, open } = place();
    const disk = new FullDisk();
    disk.left = 20;
    await expect(open({ create: disk.create })).rejects.toMatchObject({ code: "recording_unwritable" });
    expect(readdirSync(folder)).toEqual([]);
    disk.left = Infinity;
    const writer = await open({ create: disk.create, maxFileBytes: headerBytes + lineBytes });
    writer.add(deltaOf(1));
    await writer.flush();
    disk.left = 5;
    writer.add(deltaOf(2));
    await expect(writer.flush()).rejects.toMatchObject({ code: "recording_unwritable" });
    disk.left = Infinity;
    await writer.close();
    const lines = readdirSync(folder).flatMap((file) => fileLines(join(folder, file)));
    expect(await readRecording(lines)).toMatchObject({ events: [deltaOf(1), deltaOf(2)], end: { events: 2 } });
  });

  it("closes the file that could not be ended, which is readable", async () => {
    const { folder, open } = place();
    const disk = new FullDisk();
    disk.left = headerBytes + lineBytes;
    const writer = await open({ create: disk.create });
    writer.add(deltaOf(1));
    await writer.flush();
    writer.add(deltaOf(2));
    await expect(writer.close()).rejects.toMatchObject({ code: "recording_unwritable" });
    await writer.close();
    expect(writer.waiting).toBe(1);
    expect(await readRecording(join(folder, name(1)))).toMatchObject({ events: [deltaOf(1)], end: null, isCut: false });
  });
});
