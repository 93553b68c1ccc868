import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Dialect, News, Order } from "./messages.ts";

/** What a group of clients has received: all its sockets together, the least and the most of one. */
export interface Received {
  readonly total: number;
  readonly least: number;
  readonly most: number;
}

/** Clients in a process of their own. */
export class Readers {
  readonly #child: ChildProcess;
  readonly #received = new Map<string, Received>();
  readonly #codes = new Map<string, number[]>();
  #wake = new Set<() => void>();

  constructor() {
    this.#child = fork(fileURLToPath(new URL("./readers-process.ts", import.meta.url)), {
      execArgv: ["--import", "tsx"],
    });
    this.#child.on("message", (news: News) => this.#note(news));
  }

  /** Opens `count` sockets, one after the other; resolves when the last has heard the server. */
  async open(group: string, dialect: Dialect, port: number, count: number): Promise<void> {
    this.#order({ order: "open", group, dialect, port, count });
    await this.#until(() => this.#received.has(group));
  }

  count(group: string, step: number): void {
    this.#order({ order: "count", group, step });
  }

  pause(group: string): void {
    this.#order({ order: "pause", group });
  }

  resume(group: string): void {
    this.#order({ order: "resume", group });
  }

  end(group: string): void {
    this.#order({ order: "end", group });
  }

  received(group: string): Received {
    return this.#received.get(group) ?? { total: 0, least: 0, most: 0 };
  }

  /** Resolves when the group has received so many messages. */
  async reach(group: string, total: number): Promise<void> {
    await this.#until(() => this.received(group).total >= total);
  }

  /** Codes of the close frames that came. */
  codes(group: string): readonly number[] {
    return this.#codes.get(group) ?? [];
  }

  async closed(group: string): Promise<void> {
    await this.#until(() => this.codes(group).length > 0);
  }

  async stop(): Promise<void> {
    const exit = once(this.#child, "exit");
    this.#child.disconnect();
    await exit;
  }

  #order(order: Order): void {
    this.#child.send(order);
  }

  #note(news: News): void {
    if (news.news === "closed") this.#codes.set(news.group, [...this.codes(news.group), news.code]);
    else this.#received.set(news.group, news.news === "received" ? news : { total: 0, least: 0, most: 0 });
    for (const wake of [...this.#wake]) wake();
  }

  async #until(isTrue: () => boolean): Promise<void> {
    while (!isTrue()) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#wake.delete(wake);
          resolve();
        };
        this.#wake.add(wake);
      });
    }
  }
}
