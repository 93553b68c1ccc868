import { join } from "node:path";
import { expect, it } from "vitest";
import { openHost } from "../../support/open-host.ts";
import { temporaryFolder } from "../../support/open-log.ts";

it("loads each built-in that a config can name, in a worker where that may be", { timeout: 60_000 }, async () => {
  const recordings = join(temporaryFolder(), "recordings");
  const { tap } = await openHost({
    plugins: [
      "builtin:crew",
      { path: "builtin:recorder", config: { folder: recordings } },
      { path: "builtin:metrics", grants: ["routes"] },
      "builtin:otel",
      { path: "builtin:inspector", grants: ["routes"] },
    ],
  });
  expect(tap.plugins.list().map(({ id, state, isolation }) => `${id} ${state} ${isolation}`)).toEqual([
    "crew running worker",
    "recorder running worker",
    "metrics running worker",
    "otel running inline",
    "inspector running inline",
  ]);
});
