import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemClock } from "../../../core/index.ts";
import { workerCode } from "../../../plugins/worker/index.ts";
import { temporaryFolder } from "../../support/open-log.ts";

it.each([
  ["a loop", "for (;;) {}"],
  ["a promise that never settles", "await new Promise(() => {}); export default {};"],
])("a file with %s at its top is read no longer when the host closes", async (_, text) => {
  const file = join(temporaryFolder(), "plugin.mjs");
  writeFileSync(file, text);
  const closing = new AbortController();
  const reading = workerCode(file, systemClock, closing.signal);
  const end = reading.catch((fault: unknown) => fault);
  closing.abort();
  expect(await end).toMatchObject({ code: "closed" });
});
