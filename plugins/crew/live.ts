import type { Clock } from "../../core/index.ts";
import type { Board } from "./board.ts";
import type { RoomBoards } from "./room-boards.ts";

/** While somebody watches, a room is asked so often what no event tells. */
const lookEveryMs = 1_000;
/** A line without meaning is sent when nothing else was for so long, so that whoever left is found out. */
const heartbeatMs = 15_000;

/** What a live stream of boards is made of. */
export interface LiveParts {
  readonly boards: RoomBoards;
  readonly roomId: string;
  readonly clock: Clock;
  /** Ends the stream. */
  readonly signal: AbortSignal;
  /** Between two boards at least. */
  readonly everyMs: number;
  readonly textOf: (board: Board) => string;
}

/**
 * Server-sent events: the whole board, and whenever it has changed the whole board again. The latest one wins, and the next
 * is made when the one before was taken, so a slow reader gets fewer of them and leaves no backlog.
 */
export async function* liveBoards(parts: LiveParts): AsyncGenerator<string, void> {
  const { boards, roomId, clock, signal, everyMs, textOf } = parts;
  let [last, quietMs]: [Board | null, number] = [null, 0];
  const change = new Change();
  const unwatch = boards.watch(roomId, () => change.tell());
  try {
    while (!signal.aborted) {
      const board = boards.now(roomId);
      if (board === null) return;
      if (board !== last) {
        [last, quietMs] = [board, 0];
        yield `event: board\ndata: ${textOf(board)}\n\n`;
        await pause(clock, everyMs, signal);
        continue;
      }
      if (await change.within(clock, lookEveryMs, signal)) continue;
      await boards.look(roomId);
      quietMs += lookEveryMs;
      if (quietMs < heartbeatMs || signal.aborted) continue;
      quietMs = 0;
      yield ": heartbeat\n\n";
    }
  } finally {
    unwatch();
  }
}

/** Waits for the next change. One that comes while nobody waits is remembered. */
class Change {
  #isTold = false;
  #wake: () => void = () => undefined;

  tell(): void {
    this.#isTold = true;
    this.#wake();
  }

  /** Whether there was one before the time was over. */
  async within(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#isTold) {
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      await pause(clock, ms, AbortSignal.any([signal, woken.signal]));
    }
    const isTold = this.#isTold;
    this.#isTold = false;
    return isTold;
  }
}

function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      stop();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const stop = clock.after(ms, end);
    signal.addEventListener("abort", end, { once: true });
  });
}
