import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Chunk, limits, Mailbox, manualClock, Session, WireFrame, type ManualClock } from "../../core/index.ts";
import { lines, TestOutlet } from "../support/fan-out.ts";

interface Opened {
  readonly mailbox: Mailbox;
  readonly outlet: TestOutlet;
  readonly clock: ManualClock;
  /** What the mailbox told its connection. */
  readonly told: string[];
}

function open(reads: boolean): Opened {
  const clock = manualClock();
  const outlet = new TestOutlet(reads);
  const told: string[] = [];
  const mailbox = new Mailbox({
    outlet,
    clock,
    encoding: lines,
    onOverflow: () => void told.push("overflow"),
    onRepliesDrained: () => void told.push("drained"),
  });
  return { mailbox, outlet, clock, told };
}

const session = new Session("D", "s-1", false);
const empty = { frames: 0, bytes: 0, replies: 0, replyBytes: 0 };
const smallest = framesOf(1)[0]?.bytes ?? 0;

/** Events of no payload but a text, each of `bytes` as JSON. */
function framesOf(count: number, bytes?: number): readonly WireFrame[] {
  const text = bytes === undefined ? "" : "x".repeat(bytes - smallest);
  return Array.from({ length: count }, () => {
    return new WireFrame({ jsonrpc: "2.0", method: "event", params: { type: "t", payload: { text } } });
  });
}

function chunk(count: number, bytes?: number, of: Session | null = session): Chunk {
  return new Chunk(of, framesOf(count, bytes));
}

describe("a mailbox", () => {
  it("C-010 holds 256 frames; one more closes it and frees all", () => {
    const { mailbox, outlet, told } = open(false);
    for (let k = 1; k <= 256; k++) {
      expect(mailbox.put(chunk(1))).toBe(true);
      mailbox.flush();
    }
    expect([mailbox.occupancy, outlet.closes]).toEqual([{ ...empty, frames: 256, bytes: 256 * smallest }, []]);
    expect(mailbox.put(chunk(1))).toBe(false);
    expect([mailbox.occupancy, outlet.closes, told]).toEqual([empty, [[1013, "slow_consumer"]], ["overflow"]]);
    expect([mailbox.isClosed, mailbox.isSlowConsumer]).toEqual([true, true]);
  });

  it("drains into one write, also while another is out", () => {
    const { mailbox, outlet } = open(false);
    mailbox.put(chunk(1));
    mailbox.flush();
    for (let k = 0; k < 3; k++) mailbox.put(chunk(1, limits.maxWriteBytes));
    mailbox.drain();
    mailbox.drain();
    expect(outlet.writes.map((write) => write.length)).toEqual([smallest + 1, 3 * (limits.maxWriteBytes + 1)]);
    outlet.drain();
    expect(outlet.writes).toHaveLength(2);
  });

  it("C-010 holds 4 MiB to the byte; one byte more closes it", () => {
    const half = limits.maxMailboxBytes / 2;
    for (const [bytes, isTaken] of [
      [half - 1, true],
      [half, true],
      [half + 1, false],
    ] as const) {
      const { mailbox } = open(false);
      mailbox.put(chunk(1, half));
      mailbox.flush();
      expect(mailbox.put(chunk(1, bytes))).toBe(isTaken);
      expect(mailbox.occupancy).toEqual(isTaken ? { ...empty, frames: 2, bytes: half + bytes } : empty);
    }
  });

  it("C-010 takes a frame above 4 MiB only while it is empty", () => {
    const large = limits.maxMailboxBytes + 1;
    const { mailbox } = open(false);
    expect(mailbox.put(chunk(1, large))).toBe(true);
    expect(mailbox.occupancy).toEqual({ ...empty, frames: 1 });
    expect(mailbox.put(chunk(1))).toBe(true);
    const other = open(false).mailbox;
    other.put(chunk(1));
    expect(other.put(chunk(1, large))).toBe(false);
  });

  it("C-016 counts by its own books; after its end nothing changes", () => {
    const { mailbox, outlet, told } = open(false);
    for (let k = 0; k < 267; k++) {
      mailbox.put(chunk(1));
      mailbox.flush();
    }
    mailbox.reply("{}");
    mailbox.replay([chunk(1)]);
    outlet.drain();
    expect([mailbox.occupancy, outlet.closes, told]).toEqual([empty, [[1013, "slow_consumer"]], ["overflow"]]);
    expect(outlet.writes).toHaveLength(1);
  });

  it("is empty and silent when its connection has ended", () => {
    const { mailbox, outlet, clock, told } = open(false);
    mailbox.put(chunk(2));
    mailbox.flush();
    mailbox.close();
    mailbox.close();
    clock.advance(60_000);
    expect([mailbox.occupancy, mailbox.isSlowConsumer, outlet.closes, told]).toEqual([empty, false, [], []]);
  });

  it("closes a client whose socket confirms nothing for 30 s", () => {
    const { mailbox, outlet, clock } = open(false);
    mailbox.put(chunk(1));
    mailbox.flush();
    clock.advance(20_000);
    outlet.drain();
    mailbox.put(chunk(1));
    mailbox.flush();
    clock.advance(29_999);
    expect(mailbox.isClosed).toBe(false);
    clock.advance(1);
    expect([mailbox.isClosed, outlet.closes]).toEqual([true, [[1013, "slow_consumer"]]]);
  });

  it("keeps a client to which nothing was written for 30 s", () => {
    const { mailbox, outlet, clock } = open(false);
    mailbox.put(chunk(1));
    mailbox.flush();
    outlet.drain();
    clock.advance(90_000);
    expect([mailbox.isClosed, outlet.closes]).toEqual([false, []]);
  });
});

describe("the line of a mailbox", () => {
  it("has frames and replies in one order, one write at a time", () => {
    const { mailbox, outlet } = open(false);
    mailbox.put(chunk(1));
    mailbox.flush();
    mailbox.reply('{"id":1}');
    mailbox.put(chunk(2));
    mailbox.flush();
    expect(outlet.writes).toHaveLength(1);
    outlet.drain();
    expect(outlet.writes).toHaveLength(2);
    expect(outlet.lines.map((line) => line.startsWith('{"id"'))).toEqual([false, true, false, false]);
    outlet.drain();
    expect(mailbox.occupancy).toEqual(empty);
  });

  it("puts at most 64 KiB into a write, or one piece", () => {
    const half = limits.maxWriteBytes / 2;
    for (const [bytes, writes] of [
      [half - 1, 1],
      [half, 1],
      [half + 1, 2],
      [limits.maxWriteBytes + 1, 2],
    ] as const) {
      const { mailbox, outlet } = open(true);
      mailbox.put(chunk(1, half));
      mailbox.put(chunk(1, bytes));
      mailbox.flush();
      expect(outlet.writes).toHaveLength(writes);
    }
  });

  it("goes on while the transport confirms at once, however long it is", () => {
    const piece = new Uint8Array(limits.maxWriteBytes);
    let writes = 0;
    let confirmFirst = (): void => undefined;
    const mailbox = new Mailbox({
      clock: manualClock(),
      encoding: () => piece,
      outlet: {
        write: (_, done) => (writes++ === 0 ? void (confirmFirst = done) : done()),
        close: () => undefined,
      },
    });
    for (let k = 0; k < 20_000; k++) mailbox.reply("");
    confirmFirst();
    expect([mailbox.occupancy, writes]).toEqual([empty, 20_000]);
  });

  it("loses a session's frames that were not handed over, and no others", () => {
    const { mailbox, outlet } = open(false);
    const other = new Session("E", "s-2", false);
    mailbox.put(chunk(1));
    mailbox.flush();
    mailbox.put(chunk(2));
    mailbox.put(chunk(3, undefined, other));
    mailbox.reply("{}");
    mailbox.replay([chunk(4)]);
    mailbox.takeOut(session);
    expect(mailbox.occupancy).toEqual({ frames: 4, bytes: 4 * smallest, replies: 1, replyBytes: 3 });
    outlet.drain();
    expect(outlet.lines).toHaveLength(1 + 3 + 1);
  });

  it("keeps of what was not handed over those frames that it is to keep, and counts them anew", () => {
    const { mailbox, outlet } = open(false);
    const [first, second, third, fourth] = framesOf(4);
    if (!first || !second || !third || !fourth) throw new Error("no frames");
    mailbox.put(chunk(1));
    mailbox.flush();
    mailbox.put(new Chunk(session, [first, second]));
    mailbox.put(new Chunk(null, [third]));
    mailbox.reply("{}");
    mailbox.replay([new Chunk(session, [fourth, first, second])]);
    const asked: (Session | null)[] = [];
    mailbox.retain((frame, of) => {
      asked.push(of);
      return frame === first || frame === fourth;
    });
    expect(asked).toEqual([session, session, null, session, session, session]);
    const replyBytes = 3 + 2 * smallest;
    expect(mailbox.occupancy).toEqual({ frames: 2, bytes: 2 * smallest, replies: 2, replyBytes });
    outlet.drain();
    outlet.drain();
    expect(outlet.lines).toHaveLength(1 + 1 + 1 + 2);
    expect(mailbox.occupancy).toEqual(empty);
  });

  it("reads its client again when what it may not have any more made it full", () => {
    const { mailbox, told } = open(false);
    mailbox.put(chunk(1));
    mailbox.flush();
    for (let reply = 0; reply <= limits.maxHeldReplies; reply++) mailbox.replay([chunk(1)]);
    expect(mailbox.isRepliesFull).toBe(true);
    mailbox.retain(() => false);
    expect([mailbox.isRepliesFull, told]).toEqual([false, ["drained"]]);
  });

  it("confirms each write once, whatever the transport says", () => {
    const { mailbox, outlet } = open(false);
    let confirm = (): void => undefined;
    outlet.write = (_, done) => void (confirm = done);
    mailbox.put(chunk(1));
    mailbox.flush();
    confirm();
    confirm();
    expect(mailbox.occupancy).toEqual(empty);
  });
});

describe("replies in a mailbox", () => {
  it("count apart from frames, and tell when they were taken", () => {
    const { mailbox, outlet, told } = open(false);
    for (let k = 0; k < 256; k++) mailbox.put(chunk(1));
    mailbox.reply("{}", () => void told.push("written"));
    expect(mailbox.occupancy).toEqual({ frames: 256, bytes: 256 * smallest, replies: 1, replyBytes: 3 });
    expect(told).toEqual([]);
    for (let writes = 0; writes < 3; writes++) outlet.drain();
    expect(told).toEqual(["written"]);
  });

  it("I8 are full beyond 64, until some were taken", () => {
    const { mailbox, outlet, told } = open(false);
    const full: boolean[] = [];
    for (let k = 1; k <= 65; k++) {
      mailbox.reply("{}");
      full.push(mailbox.isRepliesFull);
    }
    expect([full.slice(62), told]).toEqual([[false, false, true], []]);
    outlet.drain();
    expect([mailbox.isRepliesFull, told]).toEqual([false, ["drained"]]);
  });

  it("I8 are full beyond 8 MiB", () => {
    const { mailbox } = open(false);
    // The line's end is a byte too.
    mailbox.reply("x".repeat(limits.maxHeldReplyBytes - 3));
    const full = [mailbox.isRepliesFull];
    for (let k = 0; k < 3; k++) {
      mailbox.reply("");
      full.push(mailbox.isRepliesFull);
    }
    expect(full).toEqual([false, false, false, true]);
  });

  it("stand for a replay of any length as one", () => {
    const { mailbox } = open(false);
    mailbox.replay([chunk(200), chunk(200), chunk(112)]);
    expect(mailbox.occupancy).toEqual({ ...empty, replies: 1, replyBytes: 512 * smallest });
  });
});

describe("the books of a mailbox", () => {
  const operations = fc.array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({ op: fc.constant("put"), bytes: fc.integer({ min: smallest, max: 65_536 }) }),
      },
      { weight: 2, arbitrary: fc.record({ op: fc.constant("reply"), bytes: fc.integer({ min: 1, max: 65_536 }) }) },
      { weight: 3, arbitrary: fc.record({ op: fc.constantFrom("drain", "flush"), bytes: fc.constant(0) }) },
      {
        weight: 1,
        arbitrary: fc.record({ op: fc.constantFrom("takeOut", "retain", "replay"), bytes: fc.constant(200) }),
      },
    ),
    { minLength: 1, maxLength: 400 },
  );

  it("C-015 equal what is held after each operation", () => {
    fc.assert(
      fc.property(operations, (steps) => {
        const { mailbox, outlet } = open(false);
        for (const { op, bytes } of steps) {
          const before = mailbox.occupancy;
          switch (op) {
            case "put": {
              const fits = before.frames < 256 && before.bytes + bytes <= limits.maxMailboxBytes;
              expect(mailbox.put(chunk(1, bytes))).toBe(fits && !outlet.closes.length);
              const grown = { ...before, frames: before.frames + 1, bytes: before.bytes + bytes };
              expect(mailbox.occupancy).toEqual(mailbox.isClosed ? empty : grown);
              break;
            }
            case "reply":
              mailbox.reply("x".repeat(bytes - 1));
              break;
            case "drain":
              outlet.drain();
              break;
            case "takeOut":
              mailbox.takeOut(session);
              break;
            case "retain": {
              let asked = 0;
              mailbox.retain(() => asked++ % 2 === 0);
              break;
            }
            case "replay":
              mailbox.replay([chunk(2, bytes)]);
              break;
            default:
              mailbox.flush();
          }
          const { frames, bytes: held, replies, replyBytes } = mailbox.occupancy;
          expect(frames >= 0 && frames <= 256 && held >= 0 && held <= limits.maxMailboxBytes).toBe(true);
          expect(frames === 0 ? held === 0 : held >= frames * smallest).toBe(true);
          expect(replies === 0 ? replyBytes === 0 : replyBytes >= replies).toBe(true);
        }
        for (let k = 0; k < 1_000 && outlet.writes.length > 0; k++) outlet.drain();
        mailbox.flush();
        for (let k = 0; k < 1_000; k++) outlet.drain();
        expect(mailbox.occupancy).toEqual(empty);
      }),
      { numRuns: 60 },
    );
  });
});
