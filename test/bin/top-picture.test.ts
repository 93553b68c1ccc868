import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readText, rootFolder } from "../support/repository.ts";
import { commandPlace, serve } from "../support/served-command.ts";

const played = (...steps: readonly object[]) => ({ kind: "scripted", script: { steps } });
const reading = played({ tool_start: { id: "c1", name: "read_file" } }, { sleep_ms: 60_000 });
const asking = played(
  { tool_start: { id: "c1", name: "run_command" } },
  { ask: { method: "approval", params: { tool_id: "c1", command: "rm -rf build" } } },
);
const config = {
  rooms: [
    {
      room_id: "release",
      members: [
        { handle: "planner", runner: reading },
        { handle: "reviewer", runner: asking },
      ],
    },
    { room_id: "ops", members: [{ handle: "builder", runner: asking }] },
  ],
};

/** The picture of `top` in the README. */
const block = /(```text\n)(ROOM +MEMBER[^`]*)(```)/;

/** Its lines as words, without what differs from run to run: numbers, ages, ids, and how consumers fare at the moment. */
function shapeOf(picture: string): readonly string[] {
  return picture
    .split("\n")
    .filter((line) => !/^(gateway|printer)/.test(line))
    .map((line) =>
      line
        .replace(/t-[0-9a-f]+|<?[\d.,]+( ms| s)?/g, "_")
        .replace(/[\s_-]+/g, " ")
        .trim(),
    );
}

// `ROOMTAP_PICTURES=1` writes it into the README, where `top` has changed.
it("prints the members of two rooms as the README shows them", { timeout: 60_000 }, async () => {
  const place = commandPlace(config);
  await serve(place);
  await place.run(["send", "release", "look over the plan"]);
  await place.run(["send", "ops", "build it"]);
  let picture = "";
  while (!/needs_input/.test(picture) || !/running/.test(picture)) {
    picture = (await place.run(["top", "--once"])).stdout;
  }
  mkdirSync(join(rootFolder, "shots"), { recursive: true });
  writeFileSync(join(rootFolder, "shots", "top.txt"), picture);
  const readme = readText("README.md");
  if (process.env["ROOMTAP_PICTURES"] === "1") {
    writeFileSync(
      join(rootFolder, "README.md"),
      readme.replace(block, (_, open: string, _old, end: string) => open + picture + end),
    );
  }
  const shown = block.exec(readText("README.md"))?.[2] ?? "";
  expect(shapeOf(shown)).toEqual(shapeOf(picture));
});
