import {
  TurnRun,
  type Answered,
  type Frame,
  type Question,
  type Runner,
  type Turn,
  type TurnSettled,
  type TurnSource,
  type Undo,
  type WorkPlace,
} from "../../core/index.ts";
import { openBus, tapFrames, type Bus } from "./bus.ts";
import { personSays } from "./fake-turn.ts";
import { HeldRunner, type HeldTurn } from "./held-runner.ts";
import { turnsOfLoop } from "./turns-of-loop.ts";

export interface OpenRunOptions {
  readonly runner: Runner;
  /** Default: one of its own. */
  readonly bus?: Bus;
  /** Default: the connection `c-a`. */
  readonly source?: TurnSource | string;
  readonly place?: WorkPlace;
  readonly stopGraceMs?: number;
  readonly turnDeadlineMs?: number;
}

/** One call of a runner for a turn of an ordinary session, on a clock that stands still. */
export class OpenRun {
  readonly bus: Bus;
  readonly run: TurnRun;
  /** What left since it was claimed. */
  readonly frames: readonly Frame[];
  /** Times that it said that it parks, goes on or is to stop. */
  changes = 0;
  /** Timers of the run that are armed. */
  timers = 0;
  /** Its end, once there is one. */
  settled: TurnSettled | null = null;

  constructor({ runner, bus = openBus(), source, ...options }: OpenRunOptions) {
    this.bus = bus;
    this.frames = tapFrames(bus);
    const execution = bus.claim(source);
    const turn = {
      coordinates: null,
      member: { member_id: "agent", handle: "agent", display_name: "Agent" },
      session: execution.session.durableId,
      unseen: [personSays("hello")],
      earlier: [],
    };
    const onChange = (): void => void this.changes++;
    const clock = { ...bus.clock, after: (ms: number, fire: () => void) => this.#arm(ms, fire) };
    this.run = new TurnRun({ tap: bus.tap, clock, execution, runner, turn, onChange, ...options });
  }

  /** Calls the runner; its end is kept in `settled` as well. */
  async start(): Promise<TurnSettled> {
    this.settled = await this.run.run();
    return this.settled;
  }

  /** Moves time, with turns of the event loop around it. */
  async pass(ms: number): Promise<void> {
    await turnsOfLoop(2);
    this.bus.clock.advance(ms);
    await turnsOfLoop(2);
  }

  /** Answers the oldest question that waits, and lets the answer arrive. */
  async answer(choice = "once"): Promise<void> {
    this.bus.tap.requests.answer(this.bus.tap.requests.open()[0]?.id ?? "", { choice }, "c-a");
    await turnsOfLoop(2);
  }

  #arm(ms: number, fire: () => void): Undo {
    let isArmed = true;
    const disarm = (): void => {
      if (isArmed) this.timers--;
      isArmed = false;
    };
    this.timers++;
    const undo = this.bus.clock.after(ms, () => {
      disarm();
      fire();
    });
    return () => {
      disarm();
      undo();
    };
  }
}

/** A run that has called its runner. */
export function startRun(options: OpenRunOptions): OpenRun {
  const open = new OpenRun(options);
  void open.start();
  return open;
}

/** A run that waits for the test to end it, and its turn. */
export async function holdRun(options: Omit<OpenRunOptions, "runner"> = {}): Promise<HeldTurn & { open: OpenRun }> {
  const runner = new HeldRunner();
  const open = startRun({ runner, ...options });
  return { open, ...(await runner.turn(0)) };
}

export const approval = (command: string): Question => ({
  method: "approval",
  params: { command, tool_name: "shell" },
});

/** Asks, and keeps what it is told. */
export function asks(turn: Turn, command = "rm"): readonly Answered[] {
  const answers: Answered[] = [];
  void turn.ask(approval(command)).then((answer) => answers.push(answer));
  return answers;
}

/** A place that is given back when the test says so. */
export class HeldPlace implements WorkPlace {
  parks = 0;
  /** Calls that wait for the place. */
  readonly waiting: ((hasPlace: boolean) => void)[] = [];

  park(): void {
    this.parks++;
  }

  resume(): Promise<boolean> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  /** Lets the oldest call that waits go on, with the place or without it. */
  async give(hasPlace = true): Promise<void> {
    this.waiting.shift()?.(hasPlace);
    await turnsOfLoop(2);
  }
}
