import { systemClock, type Clock, type Undo } from "../../../core/index.ts";
import type { Client } from "../../client/index.ts";
import type { Output } from "../../output.ts";
import type { Style } from "../../style.ts";
import { jsonText } from "../../terminal-text.ts";
import { nextTick } from "../next-tick.ts";
import { withServer, type RemoteOptions } from "../remote.ts";
import { Screen, type Terminal } from "../../screen.ts";
import { TopFeed } from "../top-feed.ts";
import { pressed } from "../view/top-keys.ts";
import { render, snapshotLines } from "../view/top-lines.ts";
import { topModel, withData, type TopData } from "../view/top-model.ts";

/** What `roomtap top` is asked for. */
export interface TopOptions extends RemoteOptions {
  /** Those to show; none: all. */
  readonly rooms: readonly string[];
  /** One look, and the end. */
  readonly once: boolean;
  /** Between two looks, in ms; at least 100. */
  readonly intervalMs: number;
  readonly style: Style;
}

/** What the command works with. */
export interface TopParts {
  /** null when standard output is none. */
  readonly terminal: Terminal | null;
  /** Ends it; its reason is the status to end with. */
  readonly stop: AbortSignal;
  readonly clock?: Clock | undefined;
}

/**
 * Shows what members do and how consumers keep up: a full screen on a terminal; one plain picture without one, or with `once`;
 * with `json` one JSON object, or one at each interval.
 * @throws RoomtapError as `withServer`
 */
export async function topCommand(options: TopOptions, output: Output, parts: TopParts): Promise<number> {
  const { json, once } = options;
  const { terminal, stop, clock = systemClock } = parts;
  const showsOnce = once || (!json && terminal === null);
  const look = async (client: Client): Promise<number> => {
    let onChange = (): void => undefined;
    const feed = new TopFeed({ client, clock, rooms: options.rooms, onChange: () => onChange() });
    await feed.refresh();
    if (showsOnce) {
      const lines = json ? [jsonOf(feed.data())] : snapshotLines(topModel(feed.data()));
      for (const line of lines) await output.out(line);
      return 0;
    }
    // Whatever ends it also ends the refreshing, which else kept the process.
    const over = new AbortController();
    const ended = endOf(client, stop);
    const live: Live = { feed, intervalMs: options.intervalMs, until: AbortSignal.any([stop, over.signal]), clock };
    try {
      if (json || terminal === null) return await Promise.race([printEach(live, output), ended]);
      const full = new FullScreen({ feed, terminal, style: options.style, clock });
      onChange = () => full.redrawSoon();
      try {
        return await Promise.race([full.quit, ended, refreshEach(live, () => full.redraw())]);
      } finally {
        full.close();
      }
    } finally {
      over.abort();
    }
  };
  return withServer(options, output.note, look, { reconnect: !showsOnce });
}

interface Live {
  readonly feed: TopFeed;
  readonly intervalMs: number;
  /** Its end. */
  readonly until: AbortSignal;
  readonly clock: Clock;
}

async function printEach(live: Live, { out }: Output): Promise<number> {
  const print = (): Promise<void> => out(jsonOf(live.feed.data()));
  await print();
  return refreshEach(live, print);
}

/** Refreshes at each interval until the end; gives its status. */
async function refreshEach(
  { feed, intervalMs, until, clock }: Live,
  onRefreshed: () => void | Promise<void>,
): Promise<number> {
  while ((await nextTick(clock, intervalMs, until)) === "due") {
    await feed.refresh();
    if (!until.aborted) await onRefreshed();
  }
  return statusOf(until);
}

function statusOf({ reason }: AbortSignal): number {
  return typeof reason === "number" ? reason : 130;
}

/** Resolves with a status at `stop`; rejects when no connection follows. */
function endOf(client: Client, stop: AbortSignal): Promise<number> {
  const ended = new Promise<number>((resolve, reject) => {
    const onStop = (): void => resolve(statusOf(stop));
    if (stop.aborted) onStop();
    else stop.addEventListener("abort", onStop, { once: true });
    client.onEnd(reject);
  });
  // Closing the client in the end is heard here as well, when nobody waits any more.
  ended.catch(() => undefined);
  return ended;
}

/** Between a change of a member and its picture. */
const redrawMs = 50;

/** The model on a screen: keys and news change it, and each change is drawn. */
class FullScreen {
  /** Resolves with the status to end with when a key quits. */
  readonly quit: Promise<number>;
  readonly #feed: TopFeed;
  readonly #style: Style;
  readonly #screen: Screen;
  readonly #clock: Clock;
  #stopTimer: Undo | null = null;
  #model;

  constructor(parts: {
    readonly feed: TopFeed;
    readonly terminal: Terminal;
    readonly style: Style;
    readonly clock: Clock;
  }) {
    this.#feed = parts.feed;
    this.#clock = parts.clock;
    this.#style = parts.style;
    this.#model = topModel(parts.feed.data());
    let onQuit: (status: number) => void = () => undefined;
    this.quit = new Promise((resolve) => (onQuit = resolve));
    this.#screen = new Screen(parts.terminal, {
      onKey: (key) => {
        const { model, quit } = pressed(this.#model, key);
        this.#model = model;
        if (quit === null) this.#draw();
        else onQuit(quit);
      },
      onResize: () => this.#draw(),
    });
    this.#draw();
  }

  /** Draws what is known when a moment has passed: what happens at once is one picture. */
  redrawSoon(): void {
    this.#stopTimer ??= this.#clock.after(redrawMs, () => this.redraw());
  }

  /** Takes in what is known now. */
  redraw(): void {
    this.#stopTimer?.();
    this.#stopTimer = null;
    this.#model = withData(this.#model, this.#feed.data());
    this.#draw();
  }

  close(): void {
    this.#stopTimer?.();
    this.#screen.close();
  }

  #draw(): void {
    this.#screen.draw(render(this.#model, { ...this.#screen.size, style: this.#style }));
  }
}

function jsonOf({ rooms, ...data }: TopData): string {
  const shown = rooms.map(({ room_id, handles, members, ended }) => ({
    ...{ room_id, ended },
    members: members.map((member) => ({ handle: handles.get(member.member_id) ?? null, ...member })),
  }));
  return jsonText({ ...data, rooms: shown });
}
