import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { limits } from "../../../core/index.ts";
import { boundOutput } from "../../../plugins/worker/bound-output.ts";
import { openBus } from "../../support/bus.ts";
import { PluginBench } from "../../support/plugin-files.ts";

describe("what a worker prints", () => {
  it("is so much and so often in a second, the rest is dropped and told, and every write is confirmed", async () => {
    const { clock } = openBus();
    const chunks: Buffer[] = [];
    const stream = new Writable({ write: (chunk: Buffer, _, done) => (chunks.push(chunk), done()) });
    boundOutput(stream, clock);
    const most = limits.maxPrintedUnitsPerSecond;
    const large = Buffer.alloc(most * 2, 97);
    await new Promise((resolve) => stream.write(large.subarray(0, most + 10), resolve));
    await new Promise((resolve) => stream.write("more", "utf8", resolve));
    expect(chunks.map(({ length }) => length)).toEqual([most]);
    clock.advance(1_000);
    for (let count = 0; count < limits.maxPrintsPerSecond + 5; count++) stream.write("x");
    clock.advance(1_000);
    stream.write("after");
    const told = (count: number): string =>
      `\n[${count} more characters or bytes were printed than fit into a second, and were dropped]\n`;
    const after = chunks.slice(1).map(String);
    expect([after[0], after.length, after.at(-2), after.at(-1)]).toEqual([
      told(14),
      1 + limits.maxPrintsPerSecond + 2,
      told(5),
      "after",
    ]);
  });

  it("is dropped in its thread when it is a flood: little of it ever reaches the host", async () => {
    const bench = new PluginBench();
    await bench.load(
      "p",
      `const text = "x".repeat(1_000_000) + "\\n"; let count = 0;
      const flood = () => { process.stdout.write(text); if (++count < 200) setImmediate(flood); else note(process.stdout.writableLength); };
      flood();`,
    );
    const [buffered] = (await bench.untilNoted(1)) as readonly number[];
    expect(buffered).toBeLessThan(2 * limits.maxPrintedUnitsPerSecond);
    await bench.until(() => bench.lines.some(({ message }) => message.includes("were dropped")));
    expect(bench.stateOf("p")).toBe("running");
  });
});
