import { messageOf, RoomtapError, type ActivityEvent, type Clock, type Undo } from "../../core/index.ts";
import { PluginStore, type KeyValues } from "../plugin-store.ts";
import type { Command, Logger, PluginStorage } from "../plugin.ts";
import type { HandlerRegistration, PluginServices, RouteRegistration } from "../services.ts";
import { deepFreeze } from "./deep-freeze.ts";
import { faultData } from "./fault-data.ts";
import type { GuestLine } from "./guest-line.ts";
import { guestLogger } from "./guest-logger.ts";
import type { BatchAck } from "./messages.ts";
import { runBatch } from "./run-batch.ts";

/** A handler, and where the host sees what it has handled. A batch may come before that. */
interface Handling {
  readonly registration: HandlerRegistration;
  readonly marks: Promise<Uint8Array>;
}

/** The services of a plugin in a worker: each is a question to the host. */
export class RemoteServices implements PluginServices {
  readonly logger: Logger;
  readonly storage: PluginStorage;
  readonly #line: GuestLine;
  readonly #handlers = new Map<number, Handling>();
  readonly #routes = new Map<number, RouteRegistration>();
  readonly #commands = new Map<number, Command>();
  /** What the host has not confirmed; null once the setup is over: then a refusal is a fault. */
  #unconfirmed: Promise<unknown>[] | null = [];
  #registered = 0;
  /** Counts handlers: by it the host knows one again when this worker is started anew. */
  #positions = 0;

  constructor(id: string, line: GuestLine, clock: Clock) {
    this.#line = line;
    this.logger = guestLogger(line, clock);
    this.storage = new PluginStore(id, remoteValues(line));
  }

  observe(registration: HandlerRegistration): Undo {
    const id = ++this.#registered;
    const { kinds, options } = registration;
    const position = this.#positions++;
    const asked = this.#line.call("observe", { registration: id, position, kinds: [...kinds], options });
    const marks = asked.then((answer) => new Uint8Array(answer.marks));
    this.#handlers.set(id, { registration, marks });
    this.#confirm(this.#handlers, id, marks);
    return this.#undo(this.#handlers, id);
  }

  addRoute(route: RouteRegistration): Undo {
    const id = ++this.#registered;
    this.#routes.set(id, route);
    const { method, path, options } = route;
    this.#confirm(this.#routes, id, this.#line.call("addRoute", { registration: id, method, path, options }));
    return this.#undo(this.#routes, id);
  }

  addCommand(command: Command): Undo {
    const id = ++this.#registered;
    this.#commands.set(id, command);
    const { name, summary, scope } = command;
    this.#confirm(this.#commands, id, this.#line.call("addCommand", { registration: id, name, summary, scope }));
    return this.#undo(this.#commands, id);
  }

  stats: PluginServices["stats"] = () => this.#line.call("stats", undefined);
  rooms: PluginServices["rooms"] = () => this.#line.call("rooms", undefined);
  roomState: PluginServices["roomState"] = (roomId) => this.#line.call("roomState", { roomId });
  roomLog: PluginServices["roomLog"] = (roomId, page) => this.#line.call("roomLog", { roomId, page });
  openRequests: PluginServices["openRequests"] = () => this.#line.call("openRequests", undefined);
  answer: PluginServices["answer"] = (id, answer) => this.#line.call("answer", { id, answer });

  /**
   * Resolves when the host has confirmed all that the setup registered.
   * @throws what the host refused first
   */
  async confirmed(): Promise<void> {
    while (this.#unconfirmed !== null && this.#unconfirmed.length > 0) {
      const waiting = this.#unconfirmed;
      this.#unconfirmed = [];
      await Promise.all(waiting);
    }
    this.#unconfirmed = null;
  }

  /** Hands a batch to a handler. @throws RoomtapError `closed` when its registration was undone */
  async batch(registration: number, events: readonly ActivityEvent[]): Promise<BatchAck> {
    const handling = this.#handlers.get(registration);
    if (handling === undefined) throw ended();
    const marks = await handling.marks;
    for (const event of events) deepFreeze(event);
    const { handler, options } = handling.registration;
    return runBatch({ handler, options, mark: (place) => Atomics.store(marks, place, 1) }, events);
  }

  /** @throws RoomtapError `closed` when its registration was undone */
  route(registration: number): RouteRegistration {
    const route = this.#routes.get(registration);
    if (route === undefined) throw ended();
    return route;
  }

  /** @throws RoomtapError `closed` when its registration was undone */
  command(registration: number): Command {
    const command = this.#commands.get(registration);
    if (command === undefined) throw ended();
    return command;
  }

  #confirm(table: Map<number, unknown>, id: number, answer: Promise<unknown>): void {
    const confirmed = answer.catch((fault: unknown) => {
      table.delete(id);
      throw fault;
    });
    if (this.#unconfirmed === null) {
      confirmed.catch((fault: unknown) => {
        const { stack } = faultData(fault);
        const message = `what it registered was refused: ${messageOf(fault)}`;
        this.#line.note("fault", { message, ...(stack === undefined ? {} : { stack }) });
      });
      return;
    }
    // Whoever waits for all of them sees it; until then it is not unhandled.
    confirmed.catch(() => undefined);
    this.#unconfirmed.push(confirmed);
  }

  #undo(table: Map<number, unknown>, id: number): Undo {
    return () => {
      if (table.delete(id)) this.#line.note("end", { registration: id });
    };
  }
}

function ended(): RoomtapError {
  return new RoomtapError("closed", "the plugin has undone this registration");
}

/** Values of one plugin: the host knows whose line it is. */
function remoteValues(line: GuestLine): KeyValues {
  return {
    get: (_, key) => line.call("getValue", { key }),
    set: async ({ key, value }) => {
      await line.call("setValue", { key, value });
      return "stored";
    },
    delete: (_, key) => line.call("deleteValue", { key }),
    keys: (_, prefix) => line.call("keys", { prefix }),
  };
}
