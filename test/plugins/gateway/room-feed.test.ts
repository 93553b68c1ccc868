import { describe, expect, it } from "vitest";
import { limits, type ActivityEvent } from "../../../core/index.ts";
import { HeldLine } from "../../../plugins/gateway/held-line.ts";
import { RoomFeeds } from "../../../plugins/gateway/room-subscriptions.ts";
import {
  fakeFeed,
  memberChange,
  openFeed,
  rowChange,
  snapshotAt,
  turn,
  type FakeFeed,
} from "../../support/fake-feed.ts";
import { ModelledAttempt, type MiddleKind } from "../../support/feed-model.ts";

/** An attempt with its two rows, 1 and 2. */
function attempt(middles: readonly MiddleKind[] = [], index = 0): ModelledAttempt {
  const each = new ModelledAttempt(index, { middles, handlings: [] });
  each.startedSeq = 1;
  each.settledSeq = 2;
  return each;
}

function words({ told }: FakeFeed): readonly string[] {
  return told.map(({ type, payload: { kind, state } }) => {
    const word = typeof kind === "string" ? kind : state;
    return typeof word === "string" ? `${type} ${word}` : type;
  });
}

function eventsOf(each: ModelledAttempt): readonly ActivityEvent[] {
  return each.delivered();
}

describe("a feed of a room", () => {
  it("tells a row before the activity that it makes durable", async () => {
    const fake = await openFeed();
    const each = attempt(["tool.started"]);
    const [started, tool, settled] = eventsOf(each);
    if (started === undefined || tool === undefined || settled === undefined) throw new Error("too few");
    fake.head.seq = 1;
    const waits = fake.activity(started);
    expect(waits).toBeInstanceOf(Promise);
    expect(fake.told).toEqual([]);
    fake.change(rowChange(each.row("turn.started")));
    await waits;
    expect(fake.activity(tool)).toBeUndefined();
    const ends = fake.activity(settled);
    await turn();
    expect(words(fake)).toEqual(["room.log turn.started", "room.activity tool.started"]);
    fake.change(rowChange(each.row("turn.settled")));
    await ends;
    expect(words(fake).slice(2)).toEqual(["room.log turn.settled", "room.activity turn.settled"]);
  });

  it("waits with an attempt whose start was lost until its row is told", async () => {
    const fake = await openFeed();
    const each = attempt(["tool.started"]);
    fake.head.seq = 1;
    const [, tool] = eventsOf(each);
    const waits = tool && fake.activity(tool);
    await turn();
    expect(fake.told).toEqual([]);
    fake.change(rowChange(each.row("turn.started")));
    await waits;
    expect(words(fake)).toEqual(["room.log turn.started", "room.activity tool.started"]);
  });

  it("tells nothing of an attempt that ended before the snapshot", async () => {
    const fake = await openFeed(2);
    fake.head.seq = 2;
    for (const event of eventsOf(attempt(["tool.started"]))) expect(fake.activity(event)).toBeUndefined();
    expect(fake.told).toEqual([]);
  });

  it("forgets what it heard of members before the snapshot, and keeps what came later", async () => {
    const fake = fakeFeed();
    const each = attempt();
    const beginning = fake.feed.begin();
    fake.change(memberChange("queued"));
    fake.watching();
    await turn();
    fake.change(memberChange("running"));
    fake.change(rowChange(each.row("turn.started")));
    fake.change(rowChange(each.row("turn.settled")));
    fake.taken(snapshotAt(1));
    fake.change(memberChange("idle"));
    fake.feed.open(await beginning);
    expect(words(fake)).toEqual(["room.log turn.settled", "room.member idle"]);
    expect(fake.told[1]?.payload).toMatchObject({ room_id: "r1", member_id: "m-a" });
  });

  it("holds activity until it is opened", async () => {
    const fake = fakeFeed();
    const each = attempt(["tool.started"]);
    each.published = 1;
    const beginning = fake.feed.begin();
    const [, tool] = eventsOf(each);
    const waits = tool && fake.activity(tool);
    fake.watching();
    await turn();
    fake.taken(snapshotAt(1, [each.snapshot()]));
    const snapshot = await beginning;
    expect(fake.told).toEqual([]);
    fake.feed.open(snapshot);
    await waits;
    expect(words(fake)).toEqual(["room.activity tool.started"]);
  });

  it.each([
    [limits.maxMailboxFrames - 1, false],
    [limits.maxMailboxFrames, false],
    [limits.maxMailboxFrames + 1, true],
  ])("that hears of %i changes before it is opened is over: %s", async (count, isOver) => {
    const fake = fakeFeed();
    const beginning = fake.feed.begin();
    fake.watching();
    await turn();
    fake.taken(snapshotAt(0));
    const snapshot = await beginning;
    for (let change = 0; change < count; change++) fake.change(memberChange(`s${change}`));
    expect(fake.feed.isOver).toBe(isOver);
    fake.feed.open(snapshot);
    expect(fake.told.length).toBe(isOver ? 0 : count);
  });

  it("leaves nothing behind when it is closed while it begins", async () => {
    const fake = fakeFeed();
    const beginning = fake.feed.begin();
    fake.feed.close();
    expect(fake.undone).toEqual(["consumer", "line"]);
    fake.watching();
    await turn();
    fake.taken(snapshotAt(0));
    fake.feed.open(await beginning);
    fake.change(memberChange("idle"));
    expect([fake.undone, fake.told]).toEqual([["consumer", "line", "watch"], []]);
  });

  it("that was never opened is closed with its call, and one that was stays", async () => {
    const fake = fakeFeed();
    const beginning = fake.feed.begin();
    fake.watching();
    await turn();
    fake.taken(snapshotAt(0));
    await beginning;
    fake.feed.closeUnlessOpen();
    expect(fake.undone).toEqual(["consumer", "watch", "line"]);
    const opened = await openFeed();
    opened.feed.closeUnlessOpen();
    expect(opened.undone).toEqual([]);
  });
});

describe("a line that is held", () => {
  const lineOf = () => {
    const told: string[] = [];
    const line = new HeldLine({ tell: (type) => void told.push(type), close: () => void told.push("closed") });
    return { line, told };
  };

  it("lets out in order what came meanwhile", () => {
    const { line, told } = lineOf();
    line.tell("a", {});
    line.hold();
    line.tell("b", {});
    line.hold();
    line.tell("c", {});
    expect(told).toEqual(["a"]);
    line.release();
    line.tell("d", {});
    expect(told).toEqual(["a", "b", "c", "d"]);
  });

  it("holds 256 events, and lets out all of them with the next one", () => {
    const { line, told } = lineOf();
    line.hold();
    for (let count = 1; count < limits.maxHeldRoomEvents; count++) line.tell("a", {});
    expect(told.length).toBe(0);
    line.tell("a", {});
    expect(told.length).toBe(0);
    line.tell("a", {});
    expect(told.length).toBe(257);
    line.tell("a", {});
    expect(told.length).toBe(258);
    line.hold();
    line.tell("a", {});
    expect(told.length).toBe(258);
  });

  it("holds no more than 4 MiB", () => {
    const { line, told } = lineOf();
    line.hold();
    const text = "x".repeat(limits.maxHeldRoomBytes / 4);
    for (let count = 0; count < 3; count++) line.tell("a", { text });
    expect(told.length).toBe(0);
    line.tell("a", { text });
    expect(told.length).toBe(4);
  });

  it("that is closed lets nothing out", () => {
    const { line, told } = lineOf();
    line.hold();
    line.tell("a", {});
    line.close();
    line.release();
    expect(told).toEqual(["closed"]);
  });
});

describe("the rooms of a connection", () => {
  it("are held until the last call on them is answered", async () => {
    const [feeds, fake] = [new RoomFeeds(), await openFeed()];
    feeds.set("r1", fake.feed);
    const releases = [feeds.hold("r1"), feeds.hold("r1"), feeds.hold("r2")];
    fake.change(memberChange("one"));
    releases[0]?.();
    releases[0]?.();
    releases[2]?.();
    expect(fake.told).toEqual([]);
    releases[1]?.();
    expect(words(fake)).toEqual(["room.member one"]);
  });

  it("are held also when the subscription comes during the call", async () => {
    const [feeds, first, second] = [new RoomFeeds(), await openFeed(), await openFeed()];
    const release = feeds.hold("r1");
    feeds.set("r1", first.feed);
    first.change(memberChange("one"));
    feeds.set("r1", second.feed);
    second.change(memberChange("two"));
    release();
    expect([words(first), first.feed.isOver, words(second)]).toEqual([[], true, ["room.member two"]]);
  });

  it("close what comes when the connection has gone", async () => {
    const [feeds, fake] = [new RoomFeeds(), await openFeed()];
    feeds.close();
    feeds.set("r1", fake.feed);
    expect(fake.feed.isOver).toBe(true);
  });

  it("are 64 at most", async () => {
    const feeds = new RoomFeeds();
    for (let room = 0; room < limits.maxRoomSubscriptions; room++) {
      feeds.check(`r${room}`);
      feeds.set(`r${room}`, (await openFeed()).feed);
    }
    expect(() => feeds.check("r0")).not.toThrow();
    expect(() => feeds.check("r64")).toThrow(expect.objectContaining({ code: "too_many_subscriptions" }));
    expect([feeds.end("r0"), feeds.end("r0")]).toEqual([true, false]);
    expect(() => feeds.check("r64")).not.toThrow();
  });
});
