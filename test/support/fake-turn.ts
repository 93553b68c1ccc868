import {
  makeCoordinates,
  type Question,
  type RequestOutcome,
  type RunnerFrame,
  type TranscriptEntry,
  type Turn,
} from "../../core/index.ts";

/** A turn without a host: it keeps what its runner emits and asks. */
export interface FakeTurn extends Turn {
  readonly frames: readonly RunnerFrame[];
  readonly questions: readonly Question[];
  /** The streamed text, joined. */
  readonly text: string;
  /** Asks the turn to stop, and withdraws what is asked, as a host does. */
  stop(): void;
  /** Settles with the first frame, emitted before or later, that fits. */
  seen(fits: (frame: RunnerFrame) => boolean): Promise<RunnerFrame>;
  /** Settles once `count` questions were asked. */
  asked(count?: number): Promise<void>;
}

export interface FakeTurnOptions {
  /** The newest person's post; it stands alone in `unseen`. */
  readonly post?: string;
  readonly unseen?: readonly TranscriptEntry[];
  readonly earlier?: readonly TranscriptEntry[];
  readonly member?: string;
  readonly thread?: string;
  /** What people answer to everything; without it questions stay open until the turn is stopped. */
  readonly choice?: string;
  readonly outcome?: RequestOutcome["outcome"];
}

export function personSays(text: string, name = "Ada"): TranscriptEntry {
  return { author: { kind: "person", id: name.toLowerCase(), display_name: name }, text };
}

export function fakeTurn(options: FakeTurnOptions = {}): FakeTurn {
  const { post = "hello", member = "m-one", thread = "main", choice } = options;
  const frames: RunnerFrame[] = [];
  const questions: Question[] = [];
  const stopper = new AbortController();
  const withdrawals: (() => void)[] = [];
  let watchers: (() => void)[] = [];
  const changed = (): void => {
    const woken = watchers;
    watchers = [];
    for (const wake of woken) wake();
  };
  const until = async <T>(find: () => T | undefined): Promise<T> => {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      await new Promise<void>((wake) => watchers.push(wake));
    }
  };
  const outcome = options.outcome ?? (choice === "deny" ? "denied" : "answered");
  const answer: RequestOutcome = { outcome, ...(choice !== undefined && { choice }), by: { origin: "c-test" } };
  return {
    turn_id: "t-1",
    coordinates: makeCoordinates({
      room_id: "r1",
      thread_id: thread,
      member_id: member,
      turn_id: "t-1",
      task_id: "k-1",
      execution_generation: 1,
    }),
    member: { member_id: member, handle: member, display_name: member },
    session: `session-${thread}-${member}`,
    unseen: options.unseen ?? [personSays(post)],
    earlier: options.earlier ?? [],
    signal: stopper.signal,
    emit(frame) {
      frames.push(frame);
      changed();
      return "written";
    },
    ask(question) {
      questions.push(question);
      changed();
      if (choice !== undefined || options.outcome !== undefined) return Promise.resolve(answer);
      return new Promise((resolve) => {
        withdrawals.push(() => resolve({ outcome: "cancelled", by: null }));
      });
    },
    frames,
    questions,
    get text() {
      return frames.map((frame) => (frame.type === "message.delta" ? String(frame.payload?.["text"]) : "")).join("");
    },
    stop() {
      stopper.abort("stopped");
      for (const withdraw of withdrawals) withdraw();
    },
    seen: (fits) => until(() => frames.find(fits)),
    asked: async (count = 1) => void (await until(() => questions[count - 1])),
  };
}
