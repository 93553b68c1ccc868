import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { commandPlace, script, serve, type CommandPlace } from "../support/served-command.ts";

const echo = { kind: "scripted", from: "message" };
const rooms = [{ room_id: "release", members: [{ handle: "echo", runner: echo }] }];

/** What the plugin `notes` does, in two versions. */
const notes = (version: string, more = ""): string => `
export default {
  id: "notes",
  version: "${version}",
  setup(ctx) {
    ctx.on("turn.settled", async (event) => ctx.storage.set("last", event.payload.text));
    ctx.routes.add("GET", "/last", async () => ({ json: { last: await ctx.storage.get("last") } }), { scope: "read" });
    ctx.commands.add({ name: "say", summary: "gives its arguments", run: ({ args }) => args.join(" ") + "\\u001b[31m" });
    ctx.commands.add({ name: "last", summary: "the last text", run: async () => ({ last: await ctx.storage.get("last") }) });
    ${more}
  },
};
`;

interface PluginPlace extends CommandPlace {
  /** Writes the plugin anew. */
  readonly write: (text: string) => void;
}

/** A config whose plugin stands in a folder beside it, named from there. */
function pluginPlace(text = notes("1.0.0"), entry: object = {}): PluginPlace {
  const at = { path: "plugins/notes.mjs", isolation: "inline", grants: ["routes"], ...entry };
  const place = commandPlace({ rooms, plugins: [at] });
  mkdirSync(join(place.folder, "plugins"));
  const write = (given: string): void => writeFileSync(join(place.folder, "plugins", "notes.mjs"), given);
  write(text);
  return { ...place, write };
}

describe("the plugins of a server", () => {
  it("are listed, run, served over HTTP, disabled, enabled and loaded anew by the command", async () => {
    const place = pluginPlace();
    const { http, token } = await serve(place);
    const tail = place.start(["tail", "release", "--kind", "turn.settled", "--since", "0", "--count", "1"]);
    await place.run(["send", "release", `@echo ${script({ delta: "done" })}`]);
    expect((await tail.result).status).toBe(0);

    const list = await place.run(["plugin", "list"]);
    expect([list.status, list.stdout.split("\n")]).toEqual([
      0,
      [
        "ID         VERSION  STATE    ISOLATION  HANDLERS  DELIVERED  DROPPED  DEPTH  FAILED  FAULTS  RESTARTS",
        "notes      1.0.0    running  inline            1          1        0      0       0       0         0",
        // What shows the events of `up --json`, and what serves the page of `up --port`.
        "printer    1.0.0    running  inline            1          3        0      0       0       0         0",
        "inspector  1.0.0    running  inline            0          0        0      0       0       0         0",
        "",
      ],
    ]);
    const long = await place.run(["plugin", "list", "--long"]);
    expect(long.stdout).toContain("  may: see all rooms at standard, routes\n  routes: GET /plugins/notes/last\n");
    expect(long.stdout).toContain("  command: say: gives its arguments\n");

    const said = await place.run(["plugin", "run", "notes", "say", "a", "--", "--b"]);
    expect([said.status, said.stdout]).toEqual([0, "a --b\ufffd[31m\n"]);
    const last = await place.run(["plugin", "run", "notes", "last", "--json"]);
    expect([last.status, JSON.parse(last.stdout)]).toEqual([0, { last: "done" }]);
    const response = await fetch(`${http}/plugins/notes/last`, { headers: { authorization: `Bearer ${token}` } });
    expect([response.status, await response.json()]).toEqual([200, { last: "done" }]);

    const off = await place.run(["plugin", "disable", "notes", "--json"]);
    expect(JSON.parse(off.stdout)).toMatchObject({ id: "notes", state: "disabled" });
    expect((await fetch(`${http}/plugins/notes/last`)).status).toBe(404);
    expect((await place.run(["plugin", "enable", "notes"])).stdout).toMatch(/^notes +1\.0\.0 +running /m);
    place.write(notes("1.1.0"));
    expect((await place.run(["plugin", "reload", "notes"])).stdout).toMatch(/^notes +1\.1\.0 +running /m);
    // What it stored is there for the new code.
    expect(JSON.parse((await place.run(["plugin", "run", "notes", "last"])).stdout)).toEqual({ last: "done" });
    place.write("{{");
    const broken = await place.run(["plugin", "reload", "notes"]);
    expect([broken.status, broken.stdout]).toEqual([2, ""]);
    expect(broken.stderr).toMatch(/^roomtap: invalid_plugin: .*cannot be imported/);
    place.write(notes("1.2.0", 'throw new Error("no disk");'));
    const failed = await place.run(["plugin", "reload", "notes"]);
    expect(failed.stderr).toMatch(/^roomtap: plugin_failed: .*plugin notes: no disk/);
    expect((await place.run(["plugin", "list"])).stdout).toMatch(
      /notes +1\.\d\.0 +failed .*\n {2}last fault: plugin notes: no disk\n/,
    );
  });

  it.each([
    [
      ["plugin", "run", "notes", "nothing"],
      2,
      "unknown_command",
      'plugin notes has no command "nothing"; it has: say, last',
    ],
    [["plugin", "disable", "other"], 2, "unknown_plugin", 'no plugin "other" here; there are: notes'],
  ])("are refused by their own words: %j", async (args, status, code, message) => {
    const place = pluginPlace();
    await serve(place);
    const result = await place.run(args);
    expect([result.status, result.stdout]).toEqual([status, ""]);
    expect(result.stderr).toContain(`roomtap: ${code}: `);
    expect(result.stderr).toContain(message);
  });
});

describe("up with a plugin that cannot be loaded", () => {
  it.each([
    [
      "a manifest that asks for more than was granted",
      notes("1.0.0").replace("setup", "manifest: { apiVersion: 1, permissions: { reasoning: true } }, setup"),
      {},
      "not_granted: plugin notes: its manifest asks for reasoning",
    ],
    ["a setup that throws", notes("1.0.0", 'throw new Error("no disk");'), {}, "plugin_failed: plugin notes: no disk"],
    ["what is no plugin", "export const nothing = 1;", {}, "invalid_plugin: plugin at "],
    ["a path that leads nowhere", notes("1.0.0"), { path: "plugins/gone.mjs" }, "invalid_plugin: plugin at "],
    [
      "a route that was not granted",
      notes("1.0.0"),
      { grants: [] },
      "not_granted: plugin notes: to serve routes it needs the grant",
    ],
  ])("ends with exit 2 and its own error: %s", async (_, text, entry, problem) => {
    const place = pluginPlace(text, entry);
    const { status, stdout, stderr } = await place.run(["up", "--config", place.config, "--db", place.db]);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(`roomtap: ${problem}`);
    expect(stderr).not.toContain("    at ");
  });

  it.each([
    ["an entry with an unknown key", { grant: ["routes"] }, "plugins[0]"],
    ["a grant that there is not", { grants: ["root"] }, "plugins[0].grants[0]"],
    ["an isolation that there is not", { isolation: "vm" }, "plugins[0].isolation"],
  ])("names the file and the path in it: %s", async (_, entry, path) => {
    const place = pluginPlace(undefined, entry);
    const { status, stderr } = await place.run(["up", "--config", place.config, "--db", place.db]);
    expect(status).toBe(2);
    expect(stderr).toContain(`roomtap: invalid_config: ${place.config}: ${path}`);
  });

  it("SIGHUP reads credentials again, and no plugin", async () => {
    const place = pluginPlace();
    const { running } = await serve(place);
    place.write(notes("9.0.0"));
    running.child.kill("SIGHUP");
    await running.seen(/was read again: /);
    expect((await place.run(["plugin", "list"])).stdout).toMatch(/^notes +1\.0\.0 +running /m);
  });
});
