import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../core/index.ts";
import { createRunners } from "../../../plugins/runners/index.ts";
import { loadModuleRunner } from "../../../plugins/runners/module-runner.ts";
import { checkpointOf, createRoomtap } from "../../../index.ts";
import { fakeTurn } from "../../support/fake-turn.ts";
import { temporaryFolder } from "../../support/open-log.ts";
import { openChild } from "../../support/told-runner.ts";

/** The file of a module with this text. */
function moduleOf(text: string): string {
  const path = join(temporaryFolder(), "runner.mjs");
  writeFileSync(path, text);
  return path;
}

const runnerText = 'kind: "own", run: async (turn) => ({ status: "completed", text: name }), async close() {}';
const object = `const name = "object"; export default { ${runnerText} };`;

describe("a module's runner", () => {
  it.each([
    ["its default export", object, undefined, "object"],
    [
      "what its default export gives",
      `export default ({ name }) => ({ ${runnerText} });`,
      { name: "function" },
      "function",
    ],
    [
      "what its default export promises",
      `export default async ({ name }) => ({ ${runnerText} });`,
      { name: "promise" },
      "promise",
    ],
  ])("is %s", async (_word, text, options, name) => {
    const runner = await loadModuleRunner({ kind: "module", path: moduleOf(text), options }, "runner");
    expect(await runner.run(fakeTurn())).toEqual({ status: "completed", text: name });
  });

  it("is called as itself, and named as its config is", async () => {
    const text = `class Own {
      kind = "own"; rerun = "safe"; #word = "mine";
      async run() { return { status: "completed", text: this.#word }; }
      steer(turn, { text }) { return text === this.#word; }
      async close() { this.#word = "closed"; }
    }
    export default new Own();`;
    const runner = await loadModuleRunner({ kind: "module", path: moduleOf(text) }, "runner");
    expect([runner.kind, runner.rerun]).toEqual(["module", "safe"]);
    expect(await runner.run(fakeTurn())).toEqual({ status: "completed", text: "mine" });
    expect(await runner.steer?.(fakeTurn(), { kind: "steer", text: "mine" })).toBe(true);
    await runner.close();
    expect(await runner.run(fakeTurn())).toEqual({ status: "completed", text: "closed" });
  });

  it("takes no corrections, and is not run again by itself, unless it or its config says so", async () => {
    const path = moduleOf(object);
    const plain = await loadModuleRunner({ kind: "module", path }, "runner");
    expect(["steer" in plain, plain.rerun]).toEqual([false, undefined]);
    expect(await loadModuleRunner({ kind: "module", path, rerun: "safe" }, "runner")).toMatchObject({ rerun: "safe" });
  });

  it("is found from the current folder, and closed with the others", async () => {
    const text = `let name = "open"; export default { ${runnerText.replace("async close() {}", 'async close() { name = "closed"; }')} };`;
    const runners = createRunners({ clock: systemClock, report: () => undefined });
    const runner = await runners.of({ kind: "module", path: relative(process.cwd(), moduleOf(text)) });
    await runners.close();
    expect(await runner.run(fakeTurn())).toMatchObject({ text: "closed" });
  });
});

const expected = "to be a runner with kind, run and close, or a function that gives one, found";
const wrong: readonly (readonly [string, string, string])[] = [
  ["throws", 'throw new Error("no key");', "expected a module that loads, but FILE failed: no key"],
  ["is no JavaScript", "export default {", "expected a module that loads, but FILE failed: "],
  [
    "exports nothing by default",
    "export const runner = {};",
    `expected the default export of FILE ${expected} nothing`,
  ],
  ["exports a text", 'export default "runner";', `expected the default export of FILE ${expected} a string`],
  [
    "exports half a runner",
    "export default { run() {} };",
    `expected the default export of FILE ${expected} an object without kind, close`,
  ],
  [
    "exports a runner whose steer is none",
    `const name = ""; export default { ${runnerText}, steer: true };`,
    `expected the default export of FILE ${expected} a steer that is a boolean`,
  ],
  [
    "gives nothing",
    "export default () => undefined;",
    `expected what the default export gives of FILE ${expected} nothing`,
  ],
  [
    "rejects",
    'export default async () => { throw new Error("no model"); };',
    "expected a runner of FILE, but its function threw: no model",
  ],
];

describe("a module that gives no runner", () => {
  it.each(wrong)("is invalid_config, with what was expected and found: one that %s", async (_word, text, problem) => {
    const path = moduleOf(text);
    const loading = loadModuleRunner({ kind: "module", path }, "agents.a");
    await expect(loading).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringContaining(`agents.a.path: ${problem.replace("FILE", path)}`) as string,
    });
  });

  it.each(wrong)(
    "makes its member unavailable in a child, for the same reason: one that %s",
    async (_, text, problem) => {
      const path = moduleOf(text);
      const { runner } = openChild({ config: { path } });
      expect(await runner.run(fakeTurn())).toMatchObject({
        status: "failed",
        reason_code: "member_unavailable",
        error: expect.stringContaining(
          `${path} has no runner: runner.path: ${problem.replace("FILE", path)}`,
        ) as string,
      });
    },
  );

  it("keeps a host from opening, and leaves nothing open", async () => {
    const path = moduleOf("export default 7;");
    const members = [{ handle: "a", runner: { kind: "module" as const, path } }];
    const opening = createRoomtap({ db: ":memory:", rooms: [{ room_id: "r1", members }] });
    await expect(opening).rejects.toMatchObject({
      code: "invalid_config",
      message: `rooms[0].members[0].runner.path: expected the default export of ${path} ${expected} a number`,
    });
  });
});

describe("a room of modules", () => {
  it("leaves the same log, wherever they run", async () => {
    const path = moduleOf(object);
    const digests: string[] = [];
    for (const process of [false, true]) {
      const runner = { kind: "module", path, process } as const;
      const rooms = [{ room_id: "r1", members: [{ handle: "a", runner }], policy: { maxRounds: 1 } }];
      const tap = await createRoomtap({ db: ":memory:", rooms });
      await tap.room("r1").post({ text: "@a hello" });
      await tap.finish();
      const { members } = await tap.room("r1").state();
      expect(members[0]?.last).toMatchObject({ status: "completed" });
      digests.push(checkpointOf(tap.room("r1").folded, "").digest);
      await tap.close();
    }
    expect(digests[0]).toBe(digests[1]);
  });
});
