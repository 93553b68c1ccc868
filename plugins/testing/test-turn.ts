import {
  makeCoordinates,
  RoomtapError,
  type Answered,
  type Attempt,
  type Coordinates,
  type JsonObject,
  type Question,
  type Tap,
  type ToolOutcome,
  type TurnSettled,
  type TurnStarted,
  type WriteResult,
} from "../../core/index.ts";

/** What a turn of a test works with. */
export interface TurnParts {
  readonly tap: Tap;
  /** The number of the next row of a log that is not there. */
  readonly nextRow: () => number;
}

/** A tool call that has started. What ends it gives the turn again. */
export interface TestTool {
  readonly tool_id: string;
  ok(result?: unknown): TestTurn;
  /** @param error as an agent tells it */
  fails(error?: string): TestTurn;
  /** A person or a policy said no. */
  denied(): TestTurn;
  /** Any outcome, and whatever else an agent sends with it. */
  ends(outcome: ToolOutcome, fields?: JsonObject): TestTurn;
}

/** A question that waits. */
export interface TestQuestion {
  /** What an answer names: `srq-` and 12 hex. */
  readonly id: string;
  /** Resolves when it has its one outcome. */
  readonly outcome: Promise<Answered>;
  /**
   * @param choice of an approval; of any other question its text
   * @param by who answers; default nobody who is named
   */
  answer(choice: string, by?: string | null): TestTurn;
}

/** The end of a turn, as far as a test says it. */
export type SettledFields = Partial<TurnSettled>;

/**
 * One attempt of a turn, told step by step: each step is a frame of its agent, which leaves by the door that real ones leave
 * by. Steps may follow each other in one expression. Nothing is delivered before the event loop has its turn:
 * `await host.settled()`.
 */
export class TestTurn {
  readonly coordinates: Coordinates;
  readonly #parts: TurnParts;
  #attempt: Attempt | null = null;
  #tools = 0;

  constructor(coordinates: Coordinates, parts: TurnParts) {
    this.coordinates = makeCoordinates(coordinates);
    this.#parts = parts;
  }

  /**
   * Begins it, as its first step does by itself.
   * @throws RoomtapError `session_busy` while another turn of the member runs in the thread; `invalid_params` the second time
   */
  started(fields: Partial<TurnStarted> = {}): this {
    if (this.#attempt !== null) throw misused(`turn ${this.coordinates.turn_id} has started already`);
    const { room_id, thread_id, member_id } = this.coordinates;
    const attempt = this.#parts.tap.begin(this.coordinates, `session-${room_id}-${thread_id}-${member_id}`, null);
    this.#attempt = attempt;
    this.#parts.tap.started(attempt, { ...startedFields, ...fields }, this.#row());
    return this;
  }

  /** Streams a piece of text. */
  text(text: string): this {
    return this.#told("message.delta", { text });
  }

  /** Streams a piece of reasoning. */
  reasoning(text: string): this {
    return this.#told("reasoning.delta", { text });
  }

  interim(text: string): this {
    return this.#told("message.interim", { text });
  }

  error(message: string, reason?: string): this {
    return this.#told("error", { message, ...(reason === undefined ? {} : { reason }) });
  }

  /**
   * Starts a tool call.
   * @param tool_id default `tool-1`, `tool-2`, ...: two turns have the same ones
   */
  tool(name: string, args?: unknown, tool_id = `tool-${++this.#tools}`): TestTool {
    this.#told("tool.start", { tool_id, name, ...(args === undefined ? {} : { args }) });
    const ends: TestTool["ends"] = (outcome, fields = {}) =>
      this.#told("tool.complete", { ...fields, tool_id, outcome });
    return {
      tool_id,
      ok: (result) => ends("ok", result === undefined ? {} : { result }),
      fails: (error = "it failed") => ends("error", { error }),
      denied: () => ends("denied"),
      ends,
    };
  }

  /**
   * Asks people.
   * @param params of an approval: `command`, `description`, `tool_id`, `choices`
   * @param method `approval`, or another one of `Question`
   * @throws RoomtapError `invalid_params` when it makes no question
   */
  ask(params: JsonObject, method: Question["method"] = "approval"): TestQuestion {
    const attempt = this.#open();
    const { requests } = this.#parts.tap;
    let id: string | undefined;
    const stop = requests.on("opened", (request) => void (id ??= request.id));
    const outcome = requests.ask(attempt, { method, params });
    stop();
    // A question that is equal to one that waits joins it.
    id ??= requests.open().findLast(({ session }) => session === attempt.session)?.id;
    if (id === undefined) throw misused(`${method}: it is no question as it stands, or too many wait: nobody is asked`);
    const asked = id;
    return {
      id: asked,
      outcome,
      answer: (choice, by = null) => {
        const { status } = requests.answer(asked, { choice }, by);
        if (status !== "ok") throw misused(`request ${asked}: the answer had no effect: ${status}`);
        return this;
      },
    };
  }

  /** Puts out any frame, also one that must be refused, and gives what became of it. Never throws once it has started. */
  frame(type: string, payload?: JsonObject): WriteResult {
    return this.#parts.tap.emit(this.#open(), { type, payload });
  }

  /** Ends it; by itself `completed`, with what was streamed. What is open is closed first. Nothing comes behind it. */
  settled(fields: SettledFields = {}): this {
    const attempt = this.#open();
    if (attempt.settled) throw misused(`turn ${this.coordinates.turn_id} has settled already`);
    const { tap } = this.#parts;
    const { activity_count, text } = tap.seal(attempt, "interrupted");
    tap.settled(attempt, { ...settledFields, text, activity_count, ...fields }, this.#row());
    return this;
  }

  /** The next attempt of the task: its generation is one higher. It begins with its own first step. */
  retry(): TestTurn {
    const { execution_generation } = this.coordinates;
    return new TestTurn({ ...this.coordinates, execution_generation: execution_generation + 1 }, this.#parts);
  }

  #open(): Attempt {
    if (this.#attempt === null) this.started();
    if (this.#attempt === null) throw misused("the turn could not be started");
    return this.#attempt;
  }

  #told(type: string, payload: JsonObject): this {
    const word = this.frame(type, payload);
    if (word === "written" || word === "held") return this;
    throw misused(`${type}: it had no effect: ${word}. Use frame() for what is to be refused`);
  }

  #row(): { readonly seq: number; readonly hash: string } {
    const seq = this.#parts.nextRow();
    return { seq, hash: seq.toString(16).padStart(64, "0") };
  }
}

function misused(message: string): RoomtapError {
  return new RoomtapError("invalid_params", message);
}

const startedFields: TurnStarted = {
  input: [{ message_id: "m1", author: { kind: "person", id: "ada" }, text: "hello" }],
  cause: "message",
  origin: null,
  seen_through_seq: 0,
  roster_digest: "d".repeat(64),
  discussion: { message_id: "m1", round: 0, slot: 0 },
};

const settledFields: TurnSettled = {
  status: "completed",
  reason_code: null,
  text: "",
  truncated: false,
  error: null,
  usage: null,
  activity_count: 1,
  duration_ms: 5,
};
