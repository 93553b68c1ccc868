import { messageOf, systemClock, type Clock, type Undo } from "../../core/index.ts";
import { CallError, type Client } from "../client/index.ts";
import type { Output } from "../output.ts";
import { Screen, type Terminal } from "../screen.ts";
import type { Style } from "../style.ts";
import { jsonText } from "../terminal-text.ts";
import { boardLines } from "./board-lines.ts";
import { followRoom, type FollowedRoom } from "./follow.ts";
import { firstView, pressed, render, type Canvas } from "./view.ts";

/** Between two pictures at least: what happens at once is one. */
const redrawMs = 100;
/** How long states last is drawn anew so often. */
const tickMs = 1_000;

/** What `roomtap crew` is asked for. */
export interface CrewCommandOptions {
  readonly room: string;
  /** A JSON line per board. */
  readonly json: boolean;
  /** One board, and the end. */
  readonly once: boolean;
}

/** What it works with. */
export interface CrewCommandParts {
  /** Of a server; it comes back by itself. */
  readonly client: Client;
  /** null when standard output is none. */
  readonly terminal: Terminal | null;
  readonly style: Style;
  /** Ends it; its reason is the status to end with. */
  readonly stop: AbortSignal;
  readonly clock?: Clock | undefined;
}

/**
 * Shows the board of a room: a full screen on a terminal; one plain board without one, or with `once`; with `json` a line for each
 * board, the latest as often as they are read. Gives the status to end with.
 * @throws CallError when the server refuses the room, also later
 */
export async function crewCommand(
  { room, json, once }: CrewCommandOptions,
  output: Output,
  { client, terminal, style, stop, clock = systemClock }: CrewCommandParts,
): Promise<number> {
  const change = new Redraw(clock);
  const followed = await followRoom(client, room, () => change.tell());
  try {
    if (once || (terminal === null && !json)) {
      const lines = json ? [jsonText(followed.board)] : boardLines(followed.board, clock.now());
      for (const line of lines) await output.out(line);
      return 0;
    }
    const ended = endOf(client, followed, stop);
    if (json || terminal === null) {
      return await Promise.race([
        printEach(followed, output, change, ended.signal).then(() => ended.status),
        ended.status,
      ]);
    }
    const screen = new CrewScreen({ followed, client, terminal, style, clock });
    change.onDue(() => screen.draw());
    try {
      return await Promise.race([screen.quit, ended.status]);
    } finally {
      screen.close();
    }
  } finally {
    change.close();
    await followed.close().catch(() => undefined);
  }
}

/** A board per line, until the end; a reader that takes its time gets the latest one next. */
async function printEach(followed: FollowedRoom, { out }: Output, change: Redraw, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    await out(jsonText(followed.board));
    await change.next(until);
  }
}

/** Tells of changes, the first a moment after it, those that come meanwhile with it. */
class Redraw {
  readonly #clock: Clock;
  #isTold = false;
  #stopTimer: Undo | null = null;
  #due: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  tell(): void {
    this.#isTold = true;
    this.#stopTimer ??= this.#clock.after(redrawMs, () => {
      this.#stopTimer = null;
      this.#due();
    });
  }

  onDue(run: () => void): void {
    this.#due = run;
  }

  /** Resolves when there is a change that nobody was told of, or at the end. */
  async next(until: AbortSignal): Promise<void> {
    if (!this.#isTold || this.#stopTimer !== null) {
      await new Promise<void>((resolve) => {
        if (until.aborted) return resolve();
        until.addEventListener("abort", () => resolve(), { once: true });
        this.#due = resolve;
      });
    }
    this.#isTold = false;
  }

  close(): void {
    this.#stopTimer?.();
    this.#due = () => undefined;
  }
}

/** The status to end with at `stop`; it rejects when no connection follows, or the room is refused. */
function endOf(client: Client, followed: FollowedRoom, stop: AbortSignal) {
  const over = new AbortController();
  const status = new Promise<number>((resolve, reject) => {
    const onStop = (): void => resolve(typeof stop.reason === "number" ? stop.reason : 130);
    if (stop.aborted) onStop();
    else stop.addEventListener("abort", onStop, { once: true });
    client.onEnd(reject);
    void followed.ended.then(reject);
  });
  // Closing the client in the end is heard here as well, when nobody waits any more.
  status.catch(() => undefined).finally(() => over.abort());
  return { status, signal: over.signal };
}

/** The board on a screen: keys and news change it, and each change is drawn. */
class CrewScreen {
  /** Resolves with the status to end with when a key quits. */
  readonly quit: Promise<number>;
  readonly #parts;
  readonly #screen: Screen;
  #view = firstView;
  #stopTick: Undo = () => undefined;
  #isOpen = true;

  constructor(parts: {
    readonly followed: FollowedRoom;
    readonly client: Client;
    readonly terminal: Terminal;
    readonly style: Style;
    readonly clock: Clock;
  }) {
    this.#parts = parts;
    let onQuit: (status: number) => void = () => undefined;
    this.quit = new Promise((resolve) => (onQuit = resolve));
    this.#screen = new Screen(parts.terminal, {
      onKey: (key) => {
        const { view, action } = pressed(parts.followed.board, this.#view, key, this.#canvas());
        this.#view = view;
        if (action !== null && "quit" in action) return onQuit(action.quit);
        if (action !== null) void this.#answer(action.answer, action.choice);
        this.draw();
      },
      onResize: () => this.draw(),
    });
    this.draw();
    this.#tick();
  }

  draw(): void {
    if (!this.#isOpen) return;
    const { followed, client } = this.#parts;
    const isDown = client.state !== "open" && this.#view.notice === null;
    const view = isDown ? { ...this.#view, notice: "the connection was lost; it is made again" } : this.#view;
    this.#screen.draw(render(followed.board, view, this.#canvas()));
  }

  close(): void {
    this.#isOpen = false;
    this.#stopTick();
    this.#screen.close();
  }

  #canvas(): Canvas {
    return { ...this.#screen.size, now: this.#parts.clock.now(), style: this.#parts.style };
  }

  #tick(): void {
    this.#stopTick = this.#parts.clock.after(tickMs, () => {
      this.draw();
      this.#tick();
    });
  }

  async #answer(id: string, choice: string): Promise<void> {
    try {
      const { status, outcome } = await this.#parts.client.call("request.answer", { id, result: { choice } });
      const how = `${outcome?.outcome ?? "answered"} ${outcome?.choice ?? ""}`.trimEnd();
      this.#notice(`${id} ${status === "ok" ? how : `was ${how} before`}`);
    } catch (fault) {
      this.#notice(`${id} was not answered: ${fault instanceof CallError ? fault.reason : messageOf(fault)}`);
    }
  }

  #notice(notice: string): void {
    this.#view = { ...this.#view, notice };
    this.draw();
  }
}
