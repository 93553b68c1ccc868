/** Who has a place, and who wants one. */
export interface Admission<Waiting> {
  /** Turns that hold a place. A turn that waits for a person holds none. */
  readonly running: number;
  /** Places over all rooms. */
  readonly max: number;
  /** Parked turns that were answered, in the order of their answers. */
  readonly answers: Iterable<Waiting>;
  /** Rooms that have a turn to start, in the order of asking; one that was let in asks anew, behind the others. */
  readonly starts: Iterable<Waiting>;
}

/** Whom to let in next: an answered turn before any new one; undefined while every place is taken. Pure. */
export function admit<Waiting>({ running, max, answers, starts }: Admission<Waiting>): Waiting | undefined {
  if (running >= max) return undefined;
  for (const answer of answers) return answer;
  for (const start of starts) return start;
  return undefined;
}

/** The place of one turn. */
export interface Place {
  /** Gives the place up while the turn waits for a person. Without effect on one that is parked or has left. */
  park(): void;
  /**
   * Resolves when the turn has a place again, before any new turn gets one: true at once if it was not parked, false when
   * it left in the meantime. Asked twice, it waits once.
   */
  resume(): Promise<boolean>;
  /** Ends the turn's claim to a place. Safe to call twice. */
  leave(): void;
}

/** Someone in line. */
interface Waiting {
  /** Takes the place that is free now; it is counted as taken already. */
  readonly take: () => void;
}

/**
 * The places for turns over all rooms. A free place goes to an answered turn, then to the room that asked first; a room
 * that was let in stands behind the others with its next turn, so rooms take turns.
 */
export class Places {
  readonly #max: number;
  readonly #onLine: (roomIds: Iterable<string>) => void;
  readonly #answers = new Set<Waiting>();
  /** By room, in the order of asking. */
  readonly #starts = new Map<string, Waiting>();
  /** Rooms that were called and have not come yet: a place is kept for each. */
  readonly #called = new Map<string, Waiting>();
  #running = 0;

  /**
   * @param max places, at least 1
   * @param onLine told of the rooms in line when somebody left it before them; must not ask for a place
   */
  constructor(max: number, onLine: (roomIds: Iterable<string>) => void = () => undefined) {
    this.#max = max;
    this.#onLine = onLine;
  }

  /** Places that turns hold or that are kept for rooms that were called. */
  get running(): number {
    return this.#running;
  }

  /** How many rooms stand before this one in the line for new turns; undefined when it is not in it. */
  before(roomId: string): number | undefined {
    const index = [...this.#starts.keys()].indexOf(roomId);
    return index === -1 ? undefined : index;
  }

  /**
   * A place for a turn of the room. Or undefined, and the room stands in line: `call` is called once, when a place is kept
   * for it. The room then enters again before the promise of `call` settles; if it does not, the next one has the place.
   * @param call reports its own faults
   */
  enter(roomId: string, call: () => Promise<unknown>): Place | undefined {
    if (this.#called.delete(roomId)) return this.#place();
    if (this.#starts.has(roomId)) return undefined;
    const waiting: Waiting = { take: () => void this.#call(roomId, waiting, call) };
    this.#starts.set(roomId, waiting);
    if (this.#next() !== waiting) return undefined;
    this.#leaveLine(roomId);
    this.#running++;
    return this.#place();
  }

  /** Takes the room out of the line: it has nothing to start any more. */
  withdraw(roomId: string): void {
    this.#leaveLine(roomId);
    if (this.#called.delete(roomId)) this.#free();
  }

  async #call(roomId: string, waiting: Waiting, call: () => Promise<unknown>): Promise<void> {
    this.#leaveLine(roomId);
    this.#called.set(roomId, waiting);
    try {
      await call();
    } catch {
      // Whoever is called reports its own faults; here it did not come.
    }
    if (this.#called.get(roomId) !== waiting) return;
    this.#called.delete(roomId);
    this.#free();
  }

  #leaveLine(roomId: string): void {
    if (this.#starts.delete(roomId) && this.#starts.size > 0) this.#onLine(this.#starts.keys());
  }

  #place(): Place {
    return new TurnPlace({
      free: () => this.#free(),
      join: (turn) => {
        this.#answers.add(turn);
        this.#serve();
      },
      quit: (turn) => void this.#answers.delete(turn),
    });
  }

  #free(): void {
    this.#running--;
    this.#serve();
  }

  /** Gives free places away, one by one. */
  #serve(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#running++;
      this.#answers.delete(next);
      next.take();
    }
  }

  #next(): Waiting | undefined {
    const [running, max] = [this.#running, this.#max];
    return admit({ running, max, answers: this.#answers, starts: this.#starts.values() });
  }
}

/** What a turn asks of the places. */
interface Line {
  /** Gives a held place up. */
  readonly free: () => void;
  /** Stands in line for a place. */
  readonly join: (turn: Waiting) => void;
  readonly quit: (turn: Waiting) => void;
}

class TurnPlace implements Place, Waiting {
  readonly #line: Line;
  #state: "running" | "parked" | "answered" | "left" = "running";
  #resumed: Promise<boolean> = Promise.resolve(true);
  #end: (hasPlace: boolean) => void = () => undefined;

  constructor(line: Line) {
    this.#line = line;
  }

  park(): void {
    if (this.#state !== "running") return;
    this.#state = "parked";
    this.#line.free();
  }

  resume(): Promise<boolean> {
    if (this.#state === "parked") {
      this.#state = "answered";
      this.#resumed = new Promise((resolve) => {
        this.#end = resolve;
      });
      this.#line.join(this);
    }
    return this.#resumed;
  }

  take(): void {
    this.#state = "running";
    this.#end(true);
  }

  leave(): void {
    const before = this.#state;
    this.#state = "left";
    if (before === "running") this.#line.free();
    if (before !== "answered") return;
    this.#line.quit(this);
    this.#end(false);
  }
}
