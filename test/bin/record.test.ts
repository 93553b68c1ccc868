import { join } from "node:path";
import { expect, it } from "vitest";
import { readRecording } from "../../plugins/index.ts";
import { jsonLines } from "../support/command.ts";
import { commandPlace, script, serve } from "../support/served-command.ts";

it("record writes what a room of a server does, until it is stopped", async () => {
  const place = commandPlace();
  await serve(place);
  const out = join(place.folder, "release.jsonl");
  const record = place.start(["record", "release", "--out", out, "--count", "3", "--json"]);
  await record.seen(/recording release in /);
  await place.run(["send", "release", `@echo ${script({ delta: "one" })}`]);
  const { status, stdout } = await record.result;
  expect(status).toBe(0);
  expect(jsonLines(stdout)).toEqual([{ type: "summary", file: out, files: 1, events: 3, gaps: 0, dropped: 0 }]);
  const { events, end, header } = await readRecording(out);
  expect(events.map(({ kind, n }) => [kind, n])).toEqual([
    ["turn.started", 1],
    ["message.delta", 2],
    ["turn.settled", 3],
  ]);
  expect([header.options.rooms, end?.events]).toEqual([["release"], 3]);
  const again = await place.run(["record", "release", "--out", out]);
  expect([again.status, again.stderr]).toEqual([1, expect.stringContaining("recording_unwritable") as string]);
});

it("record interrupted ends its file, and says so with its status", async () => {
  const place = commandPlace();
  await serve(place);
  const out = join(place.folder, "release.jsonl");
  const record = place.start(["record", "release", "--out", out]);
  await record.seen(/recording release in /);
  record.child.kill("SIGINT");
  expect((await record.result).status).toBe(130);
  expect(await readRecording(out)).toMatchObject({ events: [], end: { events: 0 }, isCut: false });
});
