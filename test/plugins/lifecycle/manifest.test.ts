import { describe, expect, it } from "vitest";
import { activityKinds } from "../../../core/index.ts";
import { parseManifest } from "../../../plugins/manifest.ts";
import { permitOf, permittedOptions, type PluginGrant } from "../../../plugins/permit.ts";

const whole = { apiVersion: 1 };

describe("a manifest", () => {
  it("asks for what every plugin may have, when it says nothing", () => {
    expect(parseManifest(whole, "plugin p")).toEqual({
      apiVersion: 1,
      engines: {},
      hooks: ["*"],
      permissions: {
        rooms: "all",
        payload: "standard",
        reasoning: false,
        approvals: "none",
        routes: false,
        optional: [],
      },
      isolation: "any",
      dependencies: {},
    });
  });

  const known = activityKinds.join(", ");
  it.each([
    [
      "C-068",
      { hooks: ["tool.finished"] },
      "unknown_kind",
      /^hooks\[0\]: no activity kind matches "tool\.finished"; known: /,
    ],
    [
      "C-068",
      { hooks: ["gap", "tols.*"] },
      "unknown_kind",
      /^hooks\[1\]: no activity kind matches "tols\.\*"; known: /,
    ],
    [
      "C-068",
      { permissions: { payload: "everything" } },
      "invalid_plugin",
      'permissions.payload: no such word "everything"; known: meta, standard, full',
    ],
    [
      "C-068",
      { permissions: { approvals: true } },
      "invalid_plugin",
      "permissions.approvals: no such word true; known: none, observe, answer",
    ],
    [
      "C-068",
      { permissions: { network: true } },
      "invalid_plugin",
      "permissions.network: unknown key; known: rooms, payload, reasoning, approvals, routes, optional",
    ],
    ["C-068", { isolation: "vm" }, "invalid_plugin", 'isolation: no such word "vm"; known: inline, worker, any'],
    ["", { apiVersion: 2 }, "invalid_plugin", "apiVersion: expected 1, got 2"],
    ["", { apiVersion: undefined }, "invalid_plugin", "apiVersion: expected 1, got undefined"],
    ["", { id: "my plugin" }, "invalid_plugin", /^id: .*expected 1 to 64 of A-Z a-z 0-9 \. _ -/],
    [
      "",
      { engines: { roomtap: "soon" } },
      "invalid_plugin",
      'engines.roomtap: expected a range such as ^1.2.0, got "soon"',
    ],
    ["", { engines: { deno: "*" } }, "invalid_plugin", "engines.deno: unknown key; known: roomtap, node"],
    ["", { hooks: [] }, "invalid_plugin", /^hooks: /],
    ["", { hooks: "tool.*" }, "invalid_plugin", 'hooks: expected a list of kinds, got "tool.*"'],
    ["", { permissions: { rooms: [] } }, "invalid_plugin", "permissions.rooms: expected at least one"],
    [
      "",
      { permissions: { reasoning: "yes" } },
      "invalid_plugin",
      'permissions.reasoning: expected true or false, got "yes"',
    ],
    [
      "",
      { permissions: { routes: ["metrics"] } },
      "invalid_plugin",
      'permissions.routes[0]: expected a path such as /metrics or /files/*, got "metrics"',
    ],
    [
      "",
      { dependencies: { b: "newest" } },
      "invalid_plugin",
      'dependencies.b: expected a range such as ^1.2.0, got "newest"',
    ],
    ["", { disclosure: "x".repeat(501) }, "invalid_plugin", /^disclosure: /],
    [
      "",
      { hoks: ["*"] },
      "invalid_plugin",
      "hoks: unknown key; known: id, apiVersion, engines, hooks, permissions, isolation, dependencies, disclosure",
    ],
  ])("%s with %j is refused, naming what was expected and found", (_, given, code, problem) => {
    let fault: unknown;
    try {
      parseManifest({ ...whole, ...given }, "plugin p");
    } catch (thrown) {
      fault = thrown;
    }
    const { message } = fault as Error;
    expect(fault).toMatchObject({ code });
    expect(message.startsWith("plugin p: manifest: ")).toBe(true);
    const rest = message.slice("plugin p: manifest: ".length);
    if (typeof problem === "string") expect(rest).toBe(problem);
    else expect(rest).toMatch(problem);
    if (code === "unknown_kind") for (const kind of known.split(", ")) expect(rest).toContain(kind);
  });

  it.each(["/plugins/victim/pub", "/plugins/*", "/plugins", "/api/ws", "/*", "/:any", "/:any/victim/pub"])(
    "that lists %s takes what is not its own, and is refused",
    (path) => {
      const given = { ...whole, permissions: { routes: ["/", path] } };
      expect(() => parseManifest(given, "plugin p")).toThrow(
        "plugin p: manifest: permissions.routes[1]: a path of the server: expected one that begins with a name of its " +
          `own, other than /plugins and /api, got "${path}"`,
      );
    },
  );

  it.each([null, [], "crew", 5])("that is %j is refused", (value) => {
    expect(() => parseManifest(value, "plugin p")).toThrow(expect.objectContaining({ code: "invalid_plugin" }));
  });
});

describe("a permit", () => {
  const permit = (permissions: object, granted: readonly PluginGrant[]) =>
    permitOf(parseManifest({ ...whole, permissions }, "plugin p"), granted, "plugin p");

  it.each([
    ["full", { payload: "full" }, { payload: "full", grants: ["full"] }],
    ["reasoning", { reasoning: true }, { grants: ["reasoning"] }],
    ["approvals", { approvals: "observe" }, { grants: ["approvals"], answers: false }],
    ["answer", { approvals: "answer" }, { grants: ["approvals"], answers: true }],
    ["routes", { routes: true }, { routes: true, paths: [] }],
    ["routes", { routes: ["/metrics"] }, { routes: true, paths: ["/metrics"] }],
  ] as const)("of what needs %s: %j, is given with it alone", (grant, permissions, expected) => {
    expect(permit(permissions, [grant])).toMatchObject(expected);
    expect(() => permit(permissions, [])).toThrow(
      expect.objectContaining({
        code: "not_granted",
        message: `plugin p: its manifest asks for ${grant}; granted: none. To grant it: "grants": ["${grant}"]`,
      }),
    );
  });

  it("names all that is missing beside what there is", () => {
    expect(() => permit({ reasoning: true, payload: "full", routes: true }, ["routes"])).toThrow(
      'plugin p: its manifest asks for full, reasoning; granted: routes. To grant it: "grants": ["routes","full","reasoning"]',
    );
  });

  it("to answer has what approvals are about in it, and no more is given than is asked for", () => {
    expect(permit({ approvals: "observe" }, ["answer"])).toMatchObject({ grants: ["approvals"], answers: false });
    expect(permit({}, ["full", "reasoning", "answer", "routes"])).toEqual({
      hooks: activityKinds,
      rooms: null,
      payload: "standard",
      grants: [],
      answers: false,
      routes: false,
      paths: [],
    });
  });

  it("without a manifest is what was granted", () => {
    expect(permitOf(null, ["answer", "full"], "plugin p")).toMatchObject({
      payload: "full",
      grants: ["approvals", "full"],
      answers: true,
      routes: false,
    });
  });

  const narrow = permitOf(
    parseManifest(
      { ...whole, hooks: ["tool.*", "gap"], permissions: { rooms: ["desk", "lab"], payload: "meta" } },
      "plugin p",
    ),
    [],
    "plugin p",
  );

  it.each([
    [{ kinds: ["turn.started"] }, /^a handler asks for turn\.started; the manifest's hooks name tool\.started, /],
    [{ kinds: ["tool.started"], payload: "standard" }, "payload: standard is more than meta, which was granted"],
    [{ kinds: ["tool.started"], rooms: ["attic"] }, "rooms: the manifest does not name attic"],
  ] as const)("refuses a handler with %j", (asked, message) => {
    expect(() => permittedOptions(asked, narrow)).toThrow(message);
    expect(() => permittedOptions(asked, narrow)).toThrow(expect.objectContaining({ code: "not_granted" }));
  });

  it("narrows a handler that asks for more kinds than the hooks name, and for no room", () => {
    expect(permittedOptions({ kinds: ["turn.started", "tool.started"] }, narrow)).toEqual({
      kinds: ["tool.started"],
      rooms: ["desk", "lab"],
      payload: "meta",
    });
  });
});
