import {
  liveAttemptOf,
  TurnRun,
  type Attempt,
  type Lane,
  type LiveAttempt,
  type RunningTool,
  type TurnRunParts,
  type TurnSettled,
} from "../core/index.ts";

/** One call of a room member's runner, from its start to the payload of its one settled row (I3). */
export class AttemptRun extends TurnRun<Attempt> {
  readonly #tap: TurnRunParts["tap"];

  constructor(parts: TurnRunParts<Attempt>) {
    super(parts);
    this.#tap = parts.tap;
  }

  get attempt(): Attempt {
    return this.execution;
  }

  /** Its open calls, in order of their starts. */
  get tools(): readonly RunningTool[] {
    return [...this.attempt.openTools].map(({ tool_id, name, startedAt }) => ({
      tool_id,
      name,
      since: Math.round(this.since + startedAt - this.startedAt),
    }));
  }

  /** What its member's state follows from. */
  get live(): LiveAttempt {
    const { since, startedAt, attempt, isStopping } = this;
    const open = this.#tap.requests.open(attempt);
    const open_requests = open.map(({ id }) => id);
    const asked_at = open[0]?.created_at ?? null;
    return liveAttemptOf(attempt, { since, startedAt, open_requests, asked_at, stopping: isStopping });
  }
}

/** Runs a turn to its end. The lane sees it only while it holds a place: a parked one would keep others out. */
export async function runInLane(lane: Lane, run: AttemptRun): Promise<TurnSettled> {
  let result: Promise<TurnSettled> | undefined;
  for (;;) {
    const end = await lane.run(async () => Promise.race([(result ??= run.run()), run.parked()]));
    if (end !== "parked") return end;
    await run.going();
    if (run.hasEnded && result !== undefined) return result;
  }
}
