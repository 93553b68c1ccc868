import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type * as RoomtapModule from "../../../index.ts";
import { reaches, tempFolder } from "../../support/plugin-files.ts";

const { createRoomtap } = (await import(
  new URL("../../../dist/index.js", import.meta.url).href
)) as typeof RoomtapModule;

it.each(["inline", "worker"] as const)("a plugin, %s, asks for rooms, their state and their log", async (isolation) => {
  const folder = tempFolder();
  const [path, notes] = [join(folder, "p.mjs"), join(folder, "notes")];
  writeFileSync(
    path,
    `import { appendFileSync } from "node:fs";
    const note = (value) => appendFileSync(${JSON.stringify(notes)}, JSON.stringify(value) + "\\n");
    export default { id: "p", version: "1.0.0", setup(ctx) {
      ctx.onReady(async () => { note((await ctx.rooms.list()).map(({ room_id, members }) => [room_id, members.map(({ handle }) => handle)])); });
      ctx.on("turn.settled", async ({ coordinates: { room_id } }) => {
        const { rows, latest_seq } = await ctx.rooms.log(room_id);
        const state = await ctx.rooms.state(room_id);
        note([state.members.map(({ member_id }) => member_id), rows.map(({ kind }) => kind), latest_seq]);
        await ctx.rooms.state("none").catch(({ code }) => note(code));
      });
    } };`,
  );
  const tap = await createRoomtap({
    db: ":memory:",
    rooms: [
      {
        room_id: "desk",
        members: [{ handle: "a", runner: { kind: "scripted", script: { steps: [{ finish: "hi" }] } } }],
        policy: { maxRounds: 1, maxOwedPasses: 0 },
      },
    ],
    plugins: [{ path, isolation }],
  });
  onTestFinished(() => tap.close());
  await tap.room("desk").post({ text: "@a hello" });
  const lines = (): readonly string[] => readFileSync(notes, "utf8").trimEnd().split("\n");
  await reaches(() => lines().length === 3);
  const noted = lines();
  expect(noted.map((line): unknown => JSON.parse(line))).toEqual([
    [["desk", ["a"]]],
    [["m-a"], ["turn.started", "turn.settled"], 2],
    "unknown_room",
  ]);
});
