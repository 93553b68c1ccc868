/** Values that are far too large, in a worker: they are refused or left out, and its thread lives. */
import { expect, it } from "vitest";
import { PluginBench } from "../../support/plugin-files.ts";

it("a worker that stores, logs and asks with a hundred megabytes is told, and stays", async () => {
  const bench = new PluginBench();
  await bench.load(
    "p",
    `const told = async (run) => { try { await run(); return "done"; } catch (fault) { return fault.code ?? fault.name; } };
    note(await told(() => ctx.storage.set("a", "x".repeat(1e8))));
    note(await told(() => ctx.logger.info("got", { body: Buffer.alloc(6e7) })));
    note(await told(() => ctx.logger.info("got", { body: "x".repeat(6e7) })));
    note(await told(() => ctx.rooms.log("desk", { after: Buffer.alloc(1e8) })));`,
  );
  expect(bench.noted).toEqual(["quota_exceeded", "done", "done", "invalid_params"]);
  expect(bench.host.list()[0]).toMatchObject({ state: "running", restarts: 0 });
});
