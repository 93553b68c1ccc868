import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Answers, Round } from "./messages.ts";

/** Clients in a process of their own. */
export class Callers {
  readonly #child: ChildProcess = fork(fileURLToPath(new URL("./callers-process.ts", import.meta.url)), {
    execArgv: ["--import", "tsx"],
  });

  /** Connects whoever is not connected yet, then makes the calls. @param onGo called just before the first one is made */
  async run(round: Round, onGo: () => void): Promise<Answers> {
    this.#child.send(round);
    await this.#heard();
    onGo();
    this.#child.send("go");
    return (await this.#heard()) as Answers;
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.kill();
    await exited;
  }

  /** The next message of the process. */
  async #heard(): Promise<unknown> {
    const abandon = new AbortController();
    const { signal } = abandon;
    try {
      const ended = once(this.#child, "exit", { signal }).then(() => {
        throw new Error("the process with the clients ended");
      });
      const [message] = (await Promise.race([once(this.#child, "message", { signal }), ended])) as [unknown];
      return message;
    } finally {
      abandon.abort();
    }
  }
}
