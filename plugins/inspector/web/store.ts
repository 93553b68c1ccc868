import { signal, type Signal } from "@preact/signals";
import { CallError, type Client } from "../../client/index.ts";
import type { ConsumerStats } from "../../../observers/index.ts";
import type { PluginInfo } from "../../plugin-control.ts";
import { pageClock } from "./clock.ts";
import { RoomModel, type Depth } from "./room-model.ts";

/** Kinds of the overview: all that starts or ends something. */
const overviewKinds = ["turn.*", "tool.started", "tool.completed", "request.*"];
/** A connection may subscribe to so many rooms; further ones are listed without what moves in them. */
const maxWatched = 64;
/** With so many rooms at most all is asked for, text as well; with more of them only of the room that is looked at. */
const maxDetailed = 8;
/** How often lists that nobody pushes are asked for while they are looked at. */
const pollMs = 1_000;
/** Points of a consumer's curve. */
const maxSamples = 300;

/** One look at the consumers. */
export interface ConsumerSample {
  /** Wall seconds. */
  readonly at: number;
  readonly consumers: readonly ConsumerStats[];
}

/** What was asked for and is not there: nothing yet, not allowed, or a fault. */
export type Listing<Item> = { readonly items: readonly Item[] | null; readonly problem: string | null };

/** All that the page shows, fed by the gateway's wire and nothing else. */
export class Store {
  readonly rooms: Signal<readonly RoomModel[]> = signal([]);
  /** Whether the rooms have been told: until then nobody knows that there are none. */
  readonly isListed: Signal<boolean> = signal(false);
  readonly problem: Signal<string | null> = signal(null);
  readonly consumers: Signal<readonly ConsumerSample[]> = signal([]);
  readonly consumersProblem: Signal<string | null> = signal(null);
  readonly plugins: Signal<Listing<PluginInfo>> = signal({ items: null, problem: null });
  #client: Client | null = null;

  /** From now on what this client brings is shown. What was there before stays until it is told anew. */
  use(client: Client | null): void {
    this.#client = client;
    client?.onState((state) => {
      if (state === "open" && this.#client === client) void this.listRooms();
    });
  }

  room(roomId: string): RoomModel | undefined {
    return this.rooms.value.find(({ id }) => id === roomId);
  }

  /** Reads which rooms there are, and follows each. */
  async listRooms(): Promise<void> {
    const client = this.#client;
    if (client === null) return;
    try {
      const { rooms } = await client.call("groups.list", {});
      const known = new Map(this.rooms.value.map((room) => [room.id, room]));
      const listed = (rooms as readonly { readonly room_id: string; readonly name: string }[]).map(
        ({ room_id, name }) => known.get(room_id) ?? new RoomModel(room_id, name),
      );
      this.rooms.value = listed;
      this.isListed.value = true;
      this.problem.value = null;
      const fresh = listed.filter(({ depth }) => depth === null).slice(0, maxWatched);
      const depth = listed.length <= maxDetailed ? "details" : "overview";
      await Promise.all(fresh.map((room) => this.watch(room, depth)));
    } catch (fault) {
      this.problem.value = textOf(fault);
    }
  }

  /** Follows a room, with text for `details`; never less than before. */
  async watch(room: RoomModel, depth: Depth): Promise<void> {
    const client = this.#client;
    if (client === null || room.depth === depth || room.depth === "details") return;
    room.depth = depth;
    const request = { room_id: room.id, ...(depth === "overview" ? { kinds: overviewKinds } : { reasoning: true }) };
    try {
      await this.#subscribe(client, room, request);
      if (room.rows.length === 0) await this.readOlder(room);
    } catch (fault) {
      room.depth = null;
      room.problem = textOf(fault);
      room.changed();
    }
  }

  /** Reads rows before those that are there; false when there are none. */
  async readOlder(room: RoomModel, count = 200): Promise<boolean> {
    const first =
      room.rows[0]?.seq ?? Number((room.state?.["log"] as { latest_seq?: number } | undefined)?.latest_seq ?? 0) + 1;
    if (first <= 1 || this.#client === null) return false;
    const since_seq = Math.max(0, first - 1 - count);
    const limit = Math.min(count, first - 1 - since_seq);
    const { events } = await this.#client.call("groups.log", { room_id: room.id, since_seq, limit });
    room.addRows(events);
    return true;
  }

  /** @returns what became of it, in words; null when it was taken */
  async answer(requestId: string, choice: string): Promise<string | null> {
    if (this.#client === null) return "not connected";
    try {
      const reply = await this.#client.call("request.answer", { id: requestId, result: { choice } });
      const { status } = reply as { readonly status: string };
      return status === "ok" ? null : status.replaceAll("_", " ");
    } catch (fault) {
      return textOf(fault);
    }
  }

  /** Posts to a room, over a drop as well. @returns what went wrong, in words; null when it is durable */
  async post(roomId: string, text: string): Promise<string | null> {
    if (this.#client === null) return "not connected";
    try {
      await this.#client.post({ room_id: roomId, text });
      return null;
    } catch (fault) {
      return textOf(fault);
    }
  }

  /** Stops all that runs in a room. @returns what went wrong, in words; null when nothing did */
  async stop(roomId: string): Promise<string | null> {
    const problem = signal<string | null>(null);
    await this.#call("groups.stop", problem, { room_id: roomId });
    return problem.value;
  }

  /** Checks every row of a room at the server. */
  async verify(roomId: string): Promise<{ readonly isRight: boolean; readonly text: string }> {
    if (this.#client === null) return { isRight: false, text: "not connected" };
    try {
      const { rows, problem, log_hash } = await this.#client.call("rooms.verify", { room_id: roomId });
      if (problem === null) return { isRight: true, text: `${rows} rows, all right, log_hash ${log_hash}` };
      const where = problem.seq === null ? "what stands beside the rows" : `row ${problem.seq}`;
      return { isRight: false, text: `${where} is bad (${problem.kind}): ${problem.message}` };
    } catch (fault) {
      return { isRight: false, text: textOf(fault) };
    }
  }

  /** Looks at the consumers every second, until the undo. */
  pollConsumers(): () => void {
    return poll(async () => {
      const answer = await this.#call<{ consumers: readonly ConsumerStats[] }>("consumers.list", this.consumersProblem);
      if (answer === null) return;
      const sample = { at: pageClock.now() / 1_000, consumers: answer.consumers };
      this.consumers.value = [...this.consumers.value, sample].slice(-maxSamples);
    });
  }

  /** Looks at the plugins every second, until the undo. */
  pollPlugins(): () => void {
    const problem = signal<string | null>(null);
    return poll(async () => {
      const answer = await this.#call<{ plugins: readonly PluginInfo[] }>("plugins.list", problem);
      this.plugins.value = { items: answer?.plugins ?? this.plugins.value.items, problem: problem.value };
    });
  }

  /** Turns a plugin off or on, or loads it anew. @returns what went wrong, in words; null when nothing did */
  async changePlugin(id: string, change: "enable" | "disable" | "reload"): Promise<string | null> {
    const problem = signal<string | null>(null);
    await this.#call(`plugins.${change}`, problem, { plugin_id: id });
    return problem.value;
  }

  async #call<Result>(method: string, problem: Signal<string | null>, params = {}): Promise<Result | null> {
    if (this.#client === null) return null;
    try {
      const result = await this.#client.call(method, params);
      problem.value = null;
      return result as Result;
    } catch (fault) {
      problem.value = textOf(fault);
      return null;
    }
  }

  async #subscribe(client: Client, room: RoomModel, request: Parameters<Client["subscribeRoom"]>[0]): Promise<void> {
    const listener: Parameters<Client["subscribeRoom"]>[1] = {
      onState: (state, attempts) => room.onState(state, attempts),
      onRow: (row) => room.onRow(row),
      onActivity: (event) => room.onActivity(event),
      onMember: (entry) => room.onMember(entry),
      onLoss: ({ coordinates, events, reason }) => {
        // What the server dropped stands in a gap as well.
        if (reason === "overflow") return;
        room.lost += events;
        room.timeline.loss(coordinates, events, pageClock.now());
        room.changed();
      },
      onEnd: (error) => {
        room.problem = error.message;
        room.depth = null;
        room.changed();
      },
    };
    try {
      await client.subscribeRoom(request, listener);
    } catch (fault) {
      // Who was not granted the reasoning of members sees the rest.
      if (!("reasoning" in request) || !(fault instanceof CallError)) throw fault;
      await client.subscribeRoom({ room_id: request.room_id }, listener);
    }
  }
}

function poll(look: () => Promise<void>): () => void {
  void look();
  return pageClock.every(pollMs, () => void look());
}

function textOf(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault);
}
