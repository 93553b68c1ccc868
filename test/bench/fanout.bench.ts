/**
 * A hundred clients on one session of the real gateway, against a room of Socket.IO and raw sockets with bytes that were
 * made before: deliveries per second over loopback, to readers in a process of their own. Then one client that never
 * reads, and a thousand that have nothing to read.
 */
import { limits } from "../../core/index.ts";
import { Readers } from "./fanout/readers.ts";
import { openRaw, openRoomtap, openSocketIo, type Roomtap, type Sender } from "./fanout/servers.ts";
import {
  atLeast,
  holds,
  liveHeapBytes,
  median,
  medianRatio,
  round,
  sideBySide,
  type BenchResult,
  type Contender,
} from "./measure.ts";

const clients = 100;
const messageBytes = 200;
/** Messages that a client is given before the readers have to have caught up with the ones before. */
const batch = 128;
const idleClients = 1_000;
const kibibyte = 1_024;

/** Long ones fill the socket of a client that does not read. */
const longBytes = 8_000;
const longBatch = 32;
const longMessages = 1_600;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** What is sent in one round. */
interface Load {
  readonly messages: number;
  readonly batch: number;
  readonly burst: number;
  readonly bytes: number;
}

/** Sends to a group of `count` readers, at most two batches ahead of them. Returns deliveries per second. */
async function send(
  readers: Readers,
  to: { readonly group: string; readonly count: number; readonly burst: Sender["burst"] },
  load: Load,
  onTurn: () => void = () => undefined,
): Promise<number> {
  const before = readers.received(to.group).total;
  const start = performance.now();
  for (let sent = 0; sent < load.messages;) {
    await readers.reach(to.group, before + (sent - load.batch) * to.count);
    for (const end = sent + load.batch; sent < end; sent += load.burst) {
      to.burst(load.burst, load.bytes);
      await nextTurn();
      onTurn();
    }
  }
  const all = load.messages * to.count;
  await readers.reach(to.group, before + all);
  return (all / (performance.now() - start)) * 1_000;
}

const rivals = ["roomtap", "socketio", "raw_frame", "raw_coalesced"] as const;

/** Rounds of one burst size, side by side, and the row for it. */
async function compare(
  readers: Readers,
  senders: Record<(typeof rivals)[number], Sender>,
  burst: number,
): Promise<{ readonly row: Row; readonly ratios: Record<"socketio" | "raw_frame" | "raw_coalesced", number> }> {
  const contender =
    (group: (typeof rivals)[number], batches: number): Contender =>
    () =>
      send(
        readers,
        { group, count: clients, burst: (count, bytes) => senders[group].burst(count, bytes) },
        {
          messages: batches * batch,
          batch,
          burst,
          bytes: messageBytes,
        },
      );
  // With one write per burst a round is shorter, so it is given more.
  const many = burst > 1 ? 24 : 6;
  const samples = await sideBySide({
    roomtap: contender("roomtap", many),
    socketio: contender("socketio", 4),
    raw_frame: contender("raw_frame", 6),
    raw_coalesced: contender("raw_coalesced", many),
  });
  const ratios = {
    socketio: medianRatio(samples.roomtap, samples.socketio),
    raw_frame: medianRatio(samples.roomtap, samples.raw_frame),
    raw_coalesced: medianRatio(samples.roomtap, samples.raw_coalesced),
  };
  const row = {
    clients,
    burst,
    per_second: Math.round(median(samples.roomtap)),
    ratio_socketio: round(ratios.socketio),
    ratio_raw_frame: round(ratios.raw_frame),
    ratio_raw_coalesced: round(ratios.raw_coalesced),
  };
  return { row, ratios };
}

type Row = BenchResult["rows"][number];

/** Whether each reader of the groups has what all have, and nothing was lost or doubled. */
function isWhole(readers: Readers, groups: readonly string[]): boolean {
  return groups.every((group) => {
    const { total, least, most } = readers.received(group);
    return least === most && total === least * clients;
  });
}

async function speed(readers: Readers): Promise<BenchResult> {
  const roomtap = await openRoomtap();
  const stream = roomtap.stream();
  const senders = {
    roomtap: { dialect: "gateway", port: roomtap.port, burst: stream.burst, close: () => roomtap.close() },
    socketio: await openSocketIo(),
    raw_frame: await openRaw(false),
    raw_coalesced: await openRaw(true),
  } satisfies Record<(typeof rivals)[number], Sender>;
  for (const group of rivals) {
    await readers.open(group, senders[group].dialect, senders[group].port, clients);
    readers.count(group, batch * clients);
  }
  const eight = await compare(readers, senders, 8);
  const one = await compare(readers, senders, 1);
  const whole = isWhole(readers, rivals) && roomtap.fanOut.stats().slow_consumers === 0;
  for (const group of rivals) readers.end(group);
  for (const sender of Object.values(senders)) await sender.close();
  return {
    rows: [eight.row, one.row],
    gates: [
      atLeast("deliveries, bursts of 8 / a Socket.IO room", eight.ratios.socketio, 6),
      atLeast("deliveries, bursts of 8 / raw sockets, a write per message", eight.ratios.raw_frame, 5),
      atLeast("deliveries, bursts of 8 / raw sockets, a write per burst", eight.ratios.raw_coalesced, 0.8),
      atLeast("deliveries, one at a time / raw sockets", one.ratios.raw_frame, 0.9),
      holds("every client received every message once, and none was closed", whole),
    ],
  };
}

/** A round with a client that stops reading when it has come, and reads again when it was closed. */
class StuckRound {
  readonly #readers: Readers;
  readonly #roomtap: Roomtap;
  readonly group: string;
  heldFrames = 0;
  heldBytes = 0;
  #isClosed = false;

  constructor(readers: Readers, roomtap: Roomtap, group: string) {
    this.#readers = readers;
    this.#roomtap = roomtap;
    this.group = group;
  }

  async open(): Promise<void> {
    await this.#readers.open(this.group, "gateway", this.#roomtap.port, 1);
    this.#readers.pause(this.group);
  }

  look(): void {
    const mailbox = this.#roomtap.clients.at(-1)?.mailbox;
    if (mailbox === undefined || this.#isClosed) return;
    this.heldFrames = Math.max(this.heldFrames, mailbox.occupancy.frames);
    this.heldBytes = Math.max(this.heldBytes, mailbox.occupancy.bytes);
    if (!mailbox.isClosed) return;
    this.#isClosed = true;
    this.#readers.resume(this.group);
  }
}

async function stuck(readers: Readers): Promise<BenchResult> {
  const roomtap = await openRoomtap();
  const others = clients - 1;
  const streams = { without: roomtap.stream(), beside: roomtap.stream() };
  const groups = ["without", "beside"] as const;
  for (const group of groups) {
    streams[group].welcome();
    await readers.open(group, "gateway", roomtap.port, others);
    readers.count(group, longBatch * others);
  }
  const load: Load = { messages: longMessages, batch: longBatch, burst: 8, bytes: longBytes };
  const rounds: StuckRound[] = [];
  const samples = await sideBySide(
    {
      without: () => send(readers, { group: "without", count: others, burst: streams.without.burst }, load),
      beside: async () => {
        const stuckRound = new StuckRound(readers, roomtap, `stuck ${rounds.length}`);
        rounds.push(stuckRound);
        streams.beside.welcome();
        await stuckRound.open();
        const to = { group: "beside", count: others, burst: streams.beside.burst };
        const figure = await send(readers, to, load, () => stuckRound.look());
        await readers.closed(stuckRound.group);
        return figure;
      },
    },
    5,
  );
  const codes = rounds.map(({ group }) => readers.codes(group).join());
  const frames = Math.max(...rounds.map(({ heldFrames }) => heldFrames));
  const bytes = Math.max(...rounds.map(({ heldBytes }) => heldBytes));
  const ratio = medianRatio(samples.beside, samples.without);
  const { slow_consumers: closed } = roomtap.fanOut.stats();
  for (const group of groups) readers.end(group);
  await roomtap.close();
  return {
    rows: [
      {
        stuck_clients: 1,
        clients,
        ratio_without: round(ratio),
        held_frames: frames,
        held_kib: round(bytes / kibibyte),
      },
    ],
    gates: [
      atLeast("deliveries to the others, beside a client that never reads / without it", ratio, 0.8),
      holds(
        "its mailbox was full, and never above its bound",
        frames === limits.maxMailboxFrames && bytes <= limits.maxMailboxBytes,
      ),
      holds("it was closed once, and read 1013", closed === rounds.length && codes.every((code) => code === "1013")),
    ],
  };
}

async function idle(readers: Readers): Promise<BenchResult> {
  const roomtap = await openRoomtap();
  roomtap.stream();
  // The first connections pay for what all share.
  await readers.open("first", "gateway", roomtap.port, clients);
  const heap = liveHeapBytes();
  const { rss, external } = process.memoryUsage();
  await readers.open("idle", "gateway", roomtap.port, idleClients);
  const grown = liveHeapBytes() - heap;
  const after = process.memoryUsage();
  readers.end("first");
  readers.end("idle");
  await roomtap.close();
  const perClient = (bytes: number): number => round(bytes / idleClients / kibibyte);
  return {
    rows: [
      {
        idle_clients: idleClients,
        heap_kib: perClient(grown),
        external_kib: perClient(after.external - external),
        rss_kib: perClient(after.rss - rss),
      },
    ],
    gates: [],
  };
}

export async function run(): Promise<BenchResult> {
  const readers = new Readers();
  const results: BenchResult[] = [];
  for (const part of [speed, stuck, idle]) results.push(await part(readers));
  await readers.stop();
  return { rows: results.flatMap(({ rows }) => rows), gates: results.flatMap(({ gates }) => gates) };
}
