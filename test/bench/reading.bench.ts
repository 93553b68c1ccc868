/**
 * Reading never holds the loop: a host with 1,000 rooms, one of them with 50,000 rows, and 1,000 sessions, while clients in
 * another process ask for lists, pages, states and a long transcript all at once. Measured is the delay of the server's
 * event loop.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { atMost, holds, round, type BenchResult, median } from "./measure.ts";
import { Callers } from "./reading/callers.ts";
import { longRoom, longSession, openLongHost, roomId, rowsOfLongRoom, writeLongLife } from "./reading/long-host.ts";
import type { Answers, Ask } from "./reading/messages.ts";

const clients = 8;
const rounds = 5;
const maxDelayMs = 20;
const pageRows = 500;

/** What one client asks for at once. */
function asksOf(client: number): readonly Ask[] {
  const page = (index: number): Ask => {
    const since_seq = ((client * 6 + index) * pageRows) % rowsOfLongRoom;
    return { method: "groups.log", params: { room_id: longRoom, since_seq, limit: pageRows } };
  };
  return [
    { method: "groups.list", params: { include_disbanded: true, limit: 500 } },
    { method: "groups.list", params: { include_disbanded: true, limit: 500, offset: 500 } },
    ...Array.from({ length: 6 }, (_, index) => page(index)),
    { method: "rooms.state", params: { room_id: longRoom } },
    { method: "rooms.state", params: { room_id: roomId(client + 1) } },
    { method: "rooms.state", params: { room_id: roomId(900 + client) } },
    { method: "session.list", params: { limit: 1_000 } },
    { method: "session.resume", params: { session_id: longSession } },
  ];
}

interface Delays {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export async function run(): Promise<BenchResult> {
  const folder = mkdtempSync(fileURLToPath(new URL(".tmp-reading-", import.meta.url)));
  try {
    const file = join(folder, "reading.db");
    await writeLongLife(file);
    const host = await openLongHost(file);
    const callers = new Callers();
    try {
      const gateway = host.openGateway({ callsPerSecond: 1_000, callBurst: 1_000 });
      const { port } = await gateway.listen({ port: 0 });
      return await measure(callers, `ws://127.0.0.1:${port}/api/ws?token=${gateway.token}`);
    } finally {
      await callers.stop();
      await host.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(callers: Callers, url: string): Promise<BenchResult> {
  const asks = Array.from({ length: clients }, (_, client) => asksOf(client));
  const samples: Delays[] = [];
  const answers: Answers[] = [];
  // The first round compiles the code, and opens the session.
  for (let turn = -1; turn < rounds; turn++) {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    const answer = await callers.run({ url, clients: asks }, () => delay.enable());
    delay.disable();
    if (turn < 0) continue;
    answers.push(answer);
    samples.push({ p50: delay.percentile(50) / 1e6, p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 });
  }
  const p99 = median(samples.map((sample) => sample.p99));
  return {
    rows: [
      ...samples.map(({ p50, p99: tail, max }, index) => ({
        round: index + 1,
        p50_ms: round(p50),
        p99_ms: round(tail),
        max_ms: round(max),
      })),
      ...Object.entries(answers[0]?.bytes ?? {}).map(([method, bytes]) => ({
        method,
        replies: answers[0]?.counts[method] ?? 0,
        kib: round(bytes / 1_024),
      })),
    ],
    gates: [
      atMost("delay of the loop, p99 in ms, median of the rounds", p99, maxDelayMs),
      holds(
        "every call was answered, and none refused",
        answers.every((answer) => isWhole(answer, asks)),
      ),
    ],
  };
}

function isWhole({ counts, refused }: Answers, asks: readonly (readonly Ask[])[]): boolean {
  const replies = Object.values(counts).reduce((sum, count) => sum + count, 0);
  for (const line of refused) process.stderr.write(`${line}\n`);
  return refused.length === 0 && replies === asks.flat().length;
}
