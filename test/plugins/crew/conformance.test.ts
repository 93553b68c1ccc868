import { describe, expect, it } from "vitest";
import { crew, type Board } from "../../../plugins/index.ts";
import { conformanceChecks, type TestHost } from "../../../plugins/testing/index.ts";

let turns = 0;

/** The board that the checks compare; what stands on it is counted, so that no empty one passes. */
async function outcome(host: TestHost): Promise<unknown> {
  const board = (await host.command("board", ["r1", "--json"])) as Board;
  turns += board.members.flatMap((member) => member.turns).length;
  return board;
}

describe.each([
  ["everything it makes use of", ["reasoning", "answer", "routes"] as const],
  ["nothing", [] as const],
])("Crew that was granted %s", (_, grants) => {
  it.each(conformanceChecks({ plugin: crew(), grants: [...grants], outcome }))("$name", async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });

  it("had turns on the boards that were compared", () => {
    expect(turns).toBeGreaterThan(0);
  });
});
