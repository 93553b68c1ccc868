import type { Writable } from "node:stream";
import { limits, type Clock } from "../../core/index.ts";
import { ownBytes } from "./own-bytes.ts";

type Done = (fault?: Error | null) => void;

/**
 * Has a stream of a worker take so much in a second. The rest is dropped where it is printed, before anything is carried to
 * the host, and is told in one line when the second is over.
 */
export function boundOutput(stream: Writable, clock: Clock): void {
  const write = stream.write.bind(stream) as (chunk: unknown, encoding?: unknown, done?: unknown) => boolean;
  /** Of the second that runs. */
  let left = { writes: 0, units: 0 };
  let dropped = 0;
  let isRunning = false;
  const over = (): void => {
    isRunning = false;
    if (dropped === 0) return;
    write(`\n[${dropped} more characters or bytes were printed than fit into a second, and were dropped]\n`);
    dropped = 0;
  };
  const begin = (): void => {
    isRunning = true;
    left = { writes: limits.maxPrintsPerSecond, units: limits.maxPrintedUnitsPerSecond };
    clock.after(1_000, over);
  };
  stream.write = (chunk: unknown, encoding?: BufferEncoding | Done, done?: Done): boolean => {
    if (typeof chunk !== "string" && !ArrayBuffer.isView(chunk)) return write(chunk, encoding, done);
    if (!isRunning) begin();
    const length = typeof chunk === "string" ? chunk.length : chunk.byteLength;
    const most = left.writes > 0 ? Math.min(length, left.units) : 0;
    dropped += length - most;
    left = { writes: left.writes - 1, units: left.units - most };
    if (most > 0 || length === 0) {
      return write(typeof chunk === "string" ? chunk.slice(0, most) : ownBytes(chunk, most), encoding, done);
    }
    const told = typeof encoding === "function" ? encoding : done;
    if (told !== undefined) queueMicrotask(() => told(null));
    return true;
  };
}
