import { mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  eventText,
  packageVersion,
  PluginHost,
  readRecording,
  recorder,
  type PluginGrant,
  type Recording,
  type RecorderConfig,
  type RecorderOptions,
} from "../../../plugins/index.ts";
import { openBus, secret, type Bus } from "../../support/bus.ts";
import { temporaryFolder } from "../../support/open-log.ts";
import { fileLines } from "../../support/recordings.ts";
import { until } from "../../support/turns-of-loop.ts";

/** The disk takes its time, and the loop turns meanwhile. */
const turns = 1_000_000;

interface Recorded {
  readonly bus: Bus;
  readonly host: PluginHost;
  readonly folder: string;
  /** Until all that happened so far is written, or waits for the disk. */
  readonly calm: () => Promise<void>;
  /** All files, in order of their names. */
  readonly files: () => readonly string[];
  /** What they hold together, when the plugin was unloaded. */
  readonly recorded: () => Promise<Recording>;
}

async function openRecorder(
  config: Partial<RecorderConfig> = {},
  options: RecorderOptions = {},
  grants: readonly PluginGrant[] = [],
): Promise<Recorded> {
  const bus = openBus();
  const folder = join(temporaryFolder(), "recordings");
  const { observers, clock, notices } = bus;
  const host = new PluginHost({ observers, clock, report: (notice) => notices.push(notice) });
  onTestFinished(() => host.close());
  await host.load({ plugin: recorder(options), config: { folder, ...config }, grants });
  const calm = async (): Promise<void> => {
    await until(() => {
      clock.tick();
      return observers.stats().every(({ depth, running }) => depth === 0 && running === 0);
    }, turns);
  };
  const files = (): readonly string[] => readdirSync(folder).map((name) => join(folder, name));
  const recorded = async (): Promise<Recording> => {
    await calm();
    await host.unload("recorder");
    return readRecording(files().flatMap(fileLines));
  };
  return { bus, host, folder, calm, files, recorded };
}

/** A turn with a tool call and a text that holds a secret. */
function play(bus: Bus): void {
  const attempt = bus.start();
  bus.emit(attempt, "tool.start", { tool_id: "1", name: "read", args: { key: secret } });
  bus.emit(attempt, "tool.complete", { tool_id: "1", outcome: "ok" });
  bus.delta(attempt, `it is ${secret} I think`);
  bus.reason(attempt, "hm");
  bus.settle(attempt);
}

describe("the recorder", () => {
  it("writes what happens, in order and as it is on the wire, between a header and an end", async () => {
    const { bus, files, calm, host } = await openRecorder();
    const watcher = bus.watch({ grants: [] });
    play(bus);
    await calm();
    await host.unload("recorder");
    const lines = fileLines(files()[0] ?? "");
    expect(JSON.parse(lines[0] ?? "")).toEqual({
      roomtap_recording: 1,
      started_at: 1_764_512_345_678,
      host: { version: packageVersion() },
      options: { rooms: null, payload: "standard" },
    });
    expect(lines.slice(1, -1)).toEqual(watcher.events.map(eventText));
    expect(lines.at(-1)).toBe('{"end":true,"events":5,"gaps":1,"dropped":0}');
    expect(lines.join("\n")).not.toContain(secret);
    expect(files()).toHaveLength(1);
    expect([files()[0] ?? "", join(files()[0] ?? "", "..")].map((path) => statSync(path).mode & 0o777)).toEqual([
      0o600, 0o700,
    ]);
  });

  it("records reasoning and whole payloads when it asks for them and is granted them, and is refused when it is not", async () => {
    const asked = { full: true, reasoning: true, approvals: true };
    const { bus, recorded, host, folder } = await openRecorder({}, asked, ["full", "reasoning", "approvals"]);
    const attempt = bus.start();
    bus.emit(attempt, "tool.start", { tool_id: "1", name: "read", args: "x".repeat(100_000) });
    bus.reason(attempt, "hm");
    bus.settle(attempt);
    const { header, events } = await recorded();
    expect(header.options).toEqual({ rooms: null, payload: "full" });
    expect(events.map(({ kind }) => kind)).toEqual([
      "turn.started",
      "tool.started",
      "reasoning.delta",
      "tool.completed",
      "turn.settled",
    ]);
    expect(events[1]?.payload).toMatchObject({ args: "x".repeat(100_000) });
    const refused = host.load({ plugin: recorder(asked), config: { folder }, grants: ["full"] });
    await expect(refused).rejects.toMatchObject({ code: "not_granted" });
  });

  it("records the rooms and kinds of its config alone, and says which in its header", async () => {
    const { bus, recorded } = await openRecorder({ rooms: ["r2"], kinds: ["tool.*", "turn.settled"], payload: "meta" });
    play(bus);
    const attempt = bus.start({ room_id: "r2" }, "other");
    bus.emit(attempt, "tool.start", { tool_id: "1", name: "read", args: "text" });
    bus.settle(attempt);
    const { header, events } = await recorded();
    expect(header.options).toEqual({
      rooms: ["r2"],
      payload: "meta",
      kinds: ["turn.settled", "tool.started", "tool.completed", "tool.output_risk"],
    });
    expect(events.map(({ kind, coordinates }) => [kind, coordinates?.room_id])).toEqual([
      ["tool.started", "r2"],
      ["tool.completed", "r2"],
      ["turn.settled", "r2"],
    ]);
    expect(events[0]?.payload).not.toHaveProperty("args");
  });

  it("begins a new file at the bound of its size, and keeps so many", async () => {
    const { bus, calm, files, recorded } = await openRecorder({ maxFileBytes: 4_096, keepFiles: 3 });
    for (let turn = 0; turn < 20; turn++) play(bus);
    await calm();
    expect(files()).toHaveLength(3);
    expect(
      files()
        .map((path) => statSync(path).size)
        .every((size) => size < 4_096 + 100),
    ).toBe(true);
    const { header, events, end } = await recorded();
    expect(header.part).toBeGreaterThan(1);
    expect(end?.continued).toBeUndefined();
    expect(events.at(-1)?.kind).toBe("turn.settled");
  });

  it.each([
    [{ folder: "" }, "invalid_config"],
    [{ name: "../up" }, "invalid_config"],
    [{ keepFiles: 0 }, "invalid_config"],
    [{ file: "x" }, "invalid_config"],
    [{ kinds: ["tool.gone"] }, "unknown_kind"],
    [{ payload: "full" }, "not_granted"],
  ])("is refused with %j: %s", async (config, code) => {
    const { host, folder } = await openRecorder();
    await host.unload("recorder");
    await expect(host.load({ plugin: recorder(), config: { folder, ...config } })).rejects.toMatchObject({ code });
    expect(host.ids).toEqual([]);
  });

  it("C-061 does not load into a place that cannot be written, and says why", async () => {
    const { bus, host, folder } = await openRecorder();
    const file = join(folder, "file");
    writeFileSync(file, "");
    await host.unload("recorder");
    await expect(host.load({ plugin: recorder(), config: { folder: join(file, "below") } })).rejects.toMatchObject({
      code: "recording_unwritable",
      message: expect.stringMatching(/^plugin recorder: .*below: ENOTDIR/) as string,
    });
    expect(bus.observers.stats()).toEqual([]);
  });
});

describe("a disk that takes nothing for a while", () => {
  /** A file is soon too old, and the next one is missing its folder. */
  const soonOld = { maxFileAgeMs: 1_000, keepFiles: 1_000 };

  async function openGone(): Promise<Recorded & { readonly away: () => void; readonly back: () => void }> {
    const setup = await openRecorder(soonOld);
    const { bus, folder, calm } = setup;
    bus.start({ member_id: "m-first" }, "first");
    await calm();
    bus.clock.advance(1_000);
    return {
      ...setup,
      away: () => renameSync(folder, `${folder}-gone`),
      back: () => renameSync(`${folder}-gone`, folder),
    };
  }

  it("is told once, tried again, and what the queue could not hold stands in the recording as gaps", async () => {
    const { bus, recorded, away, back, calm } = await openGone();
    away();
    const attempt = bus.start();
    const hasTold = (code: string) => () => {
      bus.clock.tick();
      return bus.notices.some((notice) => notice.code === code);
    };
    await until(hasTold("plugin_error"), turns);
    for (let n = 0; n < 3_000; n++) bus.emit(attempt, "message.interim", { text: `text ${n}` });
    const goneAt = bus.clock.monotonic();
    const goOn = (): void => bus.clock.advance(100);
    await until(() => (goOn(), bus.clock.monotonic() - goneAt > 20_000), turns);
    back();
    await until(() => (goOn(), hasTold("plugin_warning")()), turns);
    await calm();
    bus.settle(attempt);
    const { events, end } = await recorded();
    const dropped = events.reduce((sum, { kind, payload }) => sum + (kind === "gap" ? payload.dropped : 0), 0);
    expect(dropped).toBe(3_000 - 1_024);
    expect(end).toMatchObject({ dropped });
    const numbers = events.filter(({ coordinates }) => coordinates?.turn_id === "t-2");
    expect(numbers[0]?.kind).toBe("turn.started");
    expect(numbers.at(-1)).toMatchObject({ kind: "turn.settled", n: 3_002 });
    expect(
      bus.notices.filter(({ code }) => code.startsWith("plugin_")).map(({ code, message }) => [code, message]),
    ).toEqual([
      ["plugin_error", expect.stringMatching(/^plugin recorder: the recording waits, .*ENOENT/)],
      [
        "plugin_warning",
        expect.stringMatching(/^plugin recorder: the recording goes on after \d+ seconds; its gaps tell/),
      ],
    ]);
  });

  it("does not hold up the unloading, which says what was lost", async () => {
    const { bus, host, folder, away } = await openGone();
    away();
    bus.settle(bus.start());
    await until(() => bus.clock.tick() >= 0 && bus.notices.length > 0, turns);
    await host.unload("recorder");
    expect(bus.notices.at(-1)).toMatchObject({
      code: "plugin_error",
      message: expect.stringMatching(
        /^plugin recorder: the recording was not closed; \d+ events? lost: .*ENOENT/,
      ) as string,
    });
    mkdirSync(folder);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("an unloading", () => {
  it("tells in the last lines what the queue still held", async () => {
    const { bus, host, files } = await openRecorder();
    play(bus);
    await host.unload("recorder");
    const { events, losses, end } = await readRecording(files()[0] ?? "");
    expect(events).toEqual([]);
    expect(losses).toEqual([
      { coordinates: null, first_n: null, last_n: null, events: 5, reason: "unloaded", before: 0 },
    ]);
    expect(end).toEqual({ end: true, events: 0, gaps: 0, dropped: 5 });
  });

  it("with the host loses nothing: the queue is read first", async () => {
    const { bus, host, files } = await openRecorder();
    play(bus);
    const disabled = host.disable("recorder");
    await until(() => {
      bus.clock.tick();
      return host.list()[0]?.state === "disabled";
    }, turns);
    await disabled;
    expect(await readRecording(files()[0] ?? "")).toMatchObject({
      end: { events: 5, gaps: 1, dropped: 0 },
      losses: [],
    });
  });
});
