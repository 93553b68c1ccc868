import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { manualClock } from "../../../core/index.ts";
import { readRecording, recordCommand, type RecordOptions } from "../../../plugins/index.ts";
import type { Json } from "../../../plugins/client/index.ts";
import { attemptCoordinates as coordinates, autoGateway } from "../../support/auto-gateway.ts";
import { collectedOutput, type CollectedOutput } from "../../support/collected-output.ts";
import { refuse, type Answers, type FakeGateway } from "../../support/fake-gateway.ts";
import { temporaryFolder } from "../../support/open-log.ts";
import { fileLines } from "../../support/recordings.ts";
import { until } from "../../support/turns-of-loop.ts";

const activity = (n: number | null, kind: string, payload: Json): Json => ({
  ...{ v: 1, coordinates, kind, n, seq: n, at: 5, payload },
});
const delta = (n: number): Json => activity(n, "message.delta", { text: "hi", offset: 0 });
const gap = activity(null, "gap", {
  ...{ dropped: 2, withheld: 0, first_n: 2, last_n: 3, kinds: { "message.delta": 2 }, reason: "overflow" },
});

interface Recorded {
  readonly gateway: FakeGateway;
  readonly output: CollectedOutput;
  readonly status: Promise<number>;
  readonly stop: AbortController;
  readonly tell: (...events: readonly Json[]) => void;
}

const turns = 100_000;

/** A recording that has begun. */
async function recording(
  options: Partial<RecordOptions> & { readonly out: string },
  answers: Answers = {},
): Promise<Recorded> {
  const output = collectedOutput();
  const stop = new AbortController();
  const subscribed = { state: {}, rows: [], cursor: 2, latest_seq: 2, has_more: false, attempts: [] };
  const gateway = autoGateway({
    "rooms.subscribe": () => subscribed,
    "rooms.unsubscribe": () => ({ unsubscribed: true }),
    ...answers,
  });
  const given = { url: "ws://h/api/ws", token: "t", json: false, WebSocket: gateway.WebSocket, room: "r1", kinds: [] };
  const status = recordCommand({ ...given, clock: manualClock(), ...options }, output, stop.signal);
  let isOver = false;
  status.then(
    () => (isOver = true),
    () => (isOver = true),
  );
  await until(() => isOver || output.notes.some((note) => note.startsWith("recording ")), turns);
  const tell = (...events: readonly Json[]): void =>
    events.forEach((payload) => gateway.socket.event("room.activity", { payload }));
  return { gateway, output, status, stop, tell };
}

describe("record", () => {
  it("writes events and gaps as they come, and ends the file when it is stopped", async () => {
    const out = join(temporaryFolder(), "r.jsonl");
    const { output, status, stop, tell } = await recording({ out });
    tell(delta(1), gap, delta(4));
    stop.abort(130);
    expect(await status).toBe(130);
    expect(fileLines(out)).toEqual([
      expect.stringMatching(
        /^\{"roomtap_recording":1,"started_at":1764512345678,"host":\{"version":"[^"]+"\},"options":\{"rooms":\["r1"\],"payload":"standard"\}\}$/,
      ),
      ...[delta(1), gap, delta(4)].map((event) => expect.stringContaining(JSON.stringify(event["payload"])) as string),
      '{"end":true,"events":2,"gaps":1,"dropped":2}',
    ]);
    expect((await readRecording(out)).events).toEqual([delta(1), gap, delta(4)]);
    expect(output.lines).toEqual([]);
    expect(output.notes).toEqual([`recording r1 in ${out}`, `2 events in 1 file, 1 gap, lost: 2; ${out}`]);
  });

  it("ends after so many, asks for the kinds alone, and with --json tells what there is", async () => {
    const out = join(temporaryFolder(), "r.jsonl");
    const { gateway, output, status, tell } = await recording({ out, count: 2, kinds: ["message.*"], json: true });
    tell(delta(1), delta(2), delta(3));
    expect(await status).toBe(0);
    expect(gateway.socket.calls("rooms.subscribe")[0]?.params).toMatchObject({
      kinds: ["message.delta", "message.interim"],
    });
    expect((await readRecording(out)).header.options.kinds).toEqual(["message.delta", "message.interim"]);
    expect(output.json()).toEqual({ type: "summary", file: out, files: 1, events: 2, gaps: 0, dropped: 0 });
  });

  it("goes on in the next file of a folder", async () => {
    const out = `${join(temporaryFolder(), "deep", "er")}/`;
    const { status, stop, tell } = await recording({ out, maxBytes: 10, room: "r1" });
    tell(delta(1), delta(2));
    stop.abort(0);
    await status;
    const names = readdirSync(out);
    expect(names).toEqual(["r1-20251130T141905678Z-000001.jsonl", "r1-20251130T141905678Z-000002.jsonl"]);
    const { events } = await readRecording(names.flatMap((name) => fileLines(join(out, name))));
    expect(events).toEqual([delta(1), delta(2)]);
  });

  it("writes over no file, begins none of a room that is not there, and refuses files with a bound", async () => {
    const folder = temporaryFolder();
    const out = join(folder, "r.jsonl");
    writeFileSync(out, "mine");
    await expect((await recording({ out })).status).rejects.toMatchObject({ code: "recording_unwritable" });
    expect(readFileSync(out, "utf8")).toBe("mine");
    const other = join(folder, "other.jsonl");
    const refused = {
      "rooms.subscribe": () => {
        throw refuse(4004, "unknown_room");
      },
      "groups.list": () => ({ rooms: [], next_offset: null }),
    };
    await expect((await recording({ out: other }, refused)).status).rejects.toMatchObject({ code: "unknown_room" });
    await expect((await recording({ out: other, maxBytes: 5 })).status).rejects.toMatchObject({
      code: "invalid_params",
    });
    await expect((await recording({ out: other, kinds: ["gone"] })).status).rejects.toMatchObject({
      code: "unknown_kind",
    });
    await expect((await recording({ out: join(folder, "no", "x") })).status).rejects.toMatchObject({
      code: "recording_unwritable",
    });
    expect(existsSync(other)).toBe(false);
  });
});
