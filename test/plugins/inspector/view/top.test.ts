import { describe, expect, it } from "vitest";
import type { MemberEntry } from "../../../../core/index.ts";
import { colouredStyle, plainStyle } from "../../../../plugins/index.ts";
import type { ConsumerStats } from "../../../../plugins/client/index.ts";
import { cellWidth } from "../../../../plugins/cells.ts";
import { pressed } from "../../../../plugins/inspector/view/top-keys.ts";
import { keysOf, type Key } from "../../../../plugins/keys.ts";
import { render, snapshotLines } from "../../../../plugins/inspector/view/top-lines.ts";
import {
  topModel,
  topRows,
  withData,
  type TopData,
  type TopModel,
} from "../../../../plugins/inspector/view/top-model.ts";

function member(handle: string, changes: Partial<MemberEntry> = {}): MemberEntry {
  return {
    member_id: `m-${handle}`,
    state: "idle",
    paused: false,
    since: 1_000,
    open_requests: [],
    last: null,
    ...changes,
  };
}

const stats: ConsumerStats = {
  ...{ id: "cards#1", published: 9, delivered: 7, merged: 1, dropped: 1, dropped_by_kind: { "message.delta": 1 } },
  ...{ gaps: 1, failures: { thrown: 0, rejected: 0, stalled: 0 }, depth: 0, bytes: 0, oldest_age_ms: null },
  ...{ lagging: false, running: 0, handler_ms: null },
};

const rooms = [
  {
    ...{ room_id: "ops", ended: null, handles: new Map([["m-bot", "bot"]]) },
    members: [member("bot", { state: "failed", reason_code: "runner_lost", since: 0 })],
  },
  {
    ...{ room_id: "release", ended: null },
    handles: new Map([
      ["m-a", "a"],
      ["m-b", "b"],
    ]),
    members: [
      member("a", {
        state: "running",
        since: 5_000,
        turn_id: "t-1",
        tool: { tool_id: "c", name: "make", since: 9_000 },
      }),
      member("b", { state: "queued", since: 8_000, behind: "thread", paused: true }),
    ],
  },
];

const data: TopData = {
  ...{ at: 10_000, rooms, unfollowed: 0, consumers: [stats], consumers_problem: null, is_connected: true },
};

function after(keys: readonly Key[], from: TopModel = topModel(data)): TopModel {
  return keys.reduce((model, key) => pressed(model, key).model, from);
}

const chars = (text: string): readonly Key[] => Array.from(text, (char) => ({ char }));
const names = (model: TopModel): readonly string[] => topRows(model).map(({ name }) => name);

describe("the screen of top", () => {
  it("shows members, tools and ages, then consumers", () => {
    expect(render(topModel(data), { width: 100, height: 11, style: plainStyle })).toEqual([
      "roomtap top  2 rooms, 3 members  1 running, 1 queued, 1 failed",
      "ROOM     MEMBER  STATE                       AGE  TOOL    AGE  TURN",
      "ops      @bot    failed (runner_lost)     10.0 s  -         -  -",
      "release  @a      running                   5.0 s  make  1.0 s  t-1",
      "release  @b      queued (thread), paused   2.0 s  -         -  -",
      "",
      "",
      "",
      "CONSUMER  DEPTH  BYTES  OLDEST  DELIVERED  MERGED  DROPPED  GAPS  FAILED  P99  STATE",
      "cards#1       0      0       -          7       1        1     1       0    -  idle",
      " q quit  p pause  s sort: room  r reverse  / filter  h help".padEnd(100),
    ]);
  });

  it.each([
    [80, 24],
    [40, 10],
    [20, 5],
    [10, 3],
    [5, 2],
    [1, 1],
    [200, 60],
  ])("fills %d columns and %d lines, and no more", (width, height) => {
    for (const model of [topModel(data), after(chars("h")), after(chars("/ab"))]) {
      const lines = render(model, { width, height, style: plainStyle });
      expect([lines.length, Math.max(...lines.map(cellWidth)) <= width]).toEqual([height, true]);
    }
  });

  it("shows nothing that a terminal would obey, but its own colours", () => {
    const evil = member("\u001b[2J", { tool: { tool_id: "c", name: "\u001b]0;x\u0007", since: 0 } });
    const model = topModel({
      ...data,
      rooms: [{ room_id: "r\n", ended: "\u001b[2J", handles: new Map(), members: [evil] }],
    });
    for (const style of [plainStyle, colouredStyle]) {
      const text = render(model, { width: 100, height: 12, style }).join("");
      expect(text.replace(/\p{Cc}\[\d+m/gu, "")).not.toMatch(/\p{Cc}/u);
    }
  });

  it("C-072 says why consumers are not shown, and that what stands there is old", () => {
    const model = topModel({ ...data, consumers: null, consumers_problem: "they need admin", is_connected: false });
    const lines = render(model, { width: 120, height: 12, style: plainStyle });
    expect(lines[0]).toMatch(/NOT CONNECTED: what stands here is old$/);
    expect(lines).toContain("consumers: they need admin");
  });

  it("is a plain picture of all there is without a terminal", () => {
    expect(snapshotLines(topModel({ ...data, unfollowed: 2 }))).toEqual([
      "ROOM     MEMBER  STATE                       AGE  TOOL    AGE  TURN",
      "ops      @bot    failed (runner_lost)     10.0 s  -         -  -",
      "release  @a      running                   5.0 s  make  1.0 s  t-1",
      "release  @b      queued (thread), paused   2.0 s  -         -  -",
      "2 rooms more: name those that you want to see",
      "",
      "CONSUMER  DEPTH  BYTES  OLDEST  DELIVERED  MERGED  DROPPED  GAPS  FAILED  P99  STATE",
      "cards#1       0      0       -          7       1        1     1       0    -  idle",
    ]);
  });
});

describe("the keys of top", () => {
  it.each<readonly [string, readonly Key[]]>([
    ["q", [{ char: "q" }]],
    ["\u001b[A\u001bOB\u001b[5~\u001b[6~\u001b[H\u001b[F", ["up", "down", "page_up", "page_down", "home", "end"]],
    ["\u001b", ["escape"]],
    ["a\r\u007f\u0003", [{ char: "a" }, "enter", "backspace", "ctrl_c"]],
    ["\u001b[200~x\u001b[M", [{ char: "x" }]],
    ["日\u0001", [{ char: "日" }]],
  ])("are read from %j", (input, keys) => {
    expect(keysOf(input)).toEqual(keys);
  });

  it.each([
    ["", ["@bot", "@a", "@b"]],
    ["s", ["@a", "@b", "@bot"]],
    ["ss", ["@bot", "@a", "@b"]],
    ["sss", ["@a", "@bot", "@b"]],
    ["r", ["@b", "@a", "@bot"]],
    ["ssss", ["@bot", "@a", "@b"]],
  ])("%j sort and reverse", (keys, order) => {
    expect(names(after(chars(keys)))).toEqual(order);
  });

  it("filter by room, member, state or tool once Enter is typed, and Esc takes it away", () => {
    const typing = after(chars("/MAKEx"));
    expect([names(typing).length, typing.view.typing]).toEqual([3, "MAKEx"]);
    const filtered = after(["backspace", "enter"], typing);
    expect([names(filtered), filtered.view.filter]).toEqual([["@a"], "MAKE"]);
    expect(names(after(["escape"], filtered)).length).toBe(3);
    expect(after([...chars("/zz"), "escape"]).view).toMatchObject({ filter: "", typing: null });
  });

  it("hold the picture, and go on with the newest", () => {
    const held = withData(after(chars("p")), { ...data, at: 99_000 });
    expect([held.data.at, held.view.isPaused]).toEqual([10_000, true]);
    const gone = after(chars("p"), held);
    expect([gone.data.at, gone.held, gone.view.isPaused]).toEqual([99_000, null, false]);
    expect(after(chars("pp")).data.at).toBe(10_000);
  });

  it("quit, also while a filter is typed by Ctrl-C alone", () => {
    const quits = (model: TopModel, key: Key): number | null => pressed(model, key).quit;
    expect([quits(topModel(data), { char: "q" }), quits(topModel(data), "ctrl_c")]).toEqual([0, 130]);
    expect([quits(after(chars("/")), { char: "q" }), quits(after(chars("/")), "ctrl_c")]).toEqual([null, 130]);
  });

  it("scroll no further than to the ends", () => {
    const scrolls = (keys: readonly Key[]): number => after(keys).view.scroll;
    expect([scrolls(["up"]), scrolls(["down"]), scrolls(["end"]), scrolls(["page_down", "home"])]).toEqual([
      0, 1, 2, 0,
    ]);
    const lines = render(after(["end"]), { width: 80, height: 6, style: plainStyle });
    expect(lines.join("\n")).toContain("@b");
  });

  it("show and hide the help, and others do nothing", () => {
    expect([
      after(chars("h")).view.showsHelp,
      after(chars("hh")).view.showsHelp,
      after(chars("h?")).view.showsHelp,
    ]).toEqual([true, false, false]);
    expect(after([...chars("xyz"), "enter", "backspace"])).toEqual(topModel(data));
  });
});
