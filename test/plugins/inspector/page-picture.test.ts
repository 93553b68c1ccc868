import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { DrivenAgent } from "../../support/driven-agent.ts";
import { openPageHost } from "../../support/page-host.ts";
import { drawPicture } from "../../support/picture.ts";
import { rootFolder } from "../../support/repository.ts";

// The picture that the README shows. `ROOMTAP_PICTURES=1` writes it into the repository, where the page has changed.
const folder = process.env["ROOMTAP_PICTURES"] === "1" ? "plugins/inspector" : "shots";

it("draws the room that the README shows", { timeout: 60_000 }, async () => {
  const agents = [new DrivenAgent(), new DrivenAgent()] as const;
  const members = [
    { handle: "planner", runner: agents[0] },
    { handle: "reviewer", runner: agents[1] },
  ];
  const rooms = [{ room_id: "release", name: "Release", members, policy: { maxRounds: 1, maxOwedPasses: 0 } }];
  const host = await openPageHost({ rooms });
  const page = await host.open("#/rooms/release");
  await page.getByText("No turns yet").waitFor();
  await host.tap.room("release").post({ text: "@planner look over the plan" });
  const first = await agents[0].turn();
  first.emit("tool.start", { tool_id: "c1", name: "read_file", args: { path: "PLAN.md" } });
  await page.getByRole("cell", { name: "1, now read_file" }).waitFor();
  first.emit("tool.complete", { tool_id: "c1", outcome: "ok" });
  first.say("The order is right.");
  await page.getByRole("row", { name: /completed/ }).waitFor();
  await host.tap.room("release").post({ text: "@planner @reviewer build it" });
  const [second] = [await agents[0].turn(1)];
  second.emit("tool.start", { tool_id: "c2", name: "run_command", args: { command: "make" } });
  void second.ask("approval", { tool_id: "c2", command: "rm -rf build && make", description: "Rebuild everything" });
  await page.getByText("rm -rf build && make").waitFor();
  await page.getByRole("button", { name: "30 s" }).click();
  const file = join(rootFolder, folder, "page.svg");
  await drawPicture(page, file, 640);
  const picture = readFileSync(file, "utf8");
  for (const word of ["needs input", "@reviewer", "rm -rf build &amp;&amp; make", "Allow once"]) {
    expect(picture).toContain(word);
  }
});
