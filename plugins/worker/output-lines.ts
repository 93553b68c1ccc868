import { StringDecoder } from "node:string_decoder";
import type { Readable } from "node:stream";
import { limits, type Clock } from "../../core/index.ts";
import type { Logger } from "../plugin.ts";
import { LineBudget, withDropped } from "./line-budget.ts";

/** Lines that are kept until there is a logger; of more the rest is dropped and counted. */
const maxEarlyLines = 100;

interface Printed {
  readonly level: "info" | "warn";
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What a worker prints, line by line, into its plugin's logger: stdout at level info, stderr at warn. */
export class OutputLines {
  readonly #budget: LineBudget;
  #early: Printed[] = [];
  #logger: Logger | null = null;

  constructor(clock: Clock) {
    this.#budget = new LineBudget(clock);
  }

  /** Reads a stream to its end. */
  read(stream: Readable, name: "stdout" | "stderr"): void {
    const decoder = new StringDecoder("utf8");
    let begun = "";
    stream.on("data", (chunk: Buffer) => {
      const lines = `${begun}${decoder.write(chunk)}`.split("\n");
      // Of a line that does not end, what is beyond the bound would be cut in any case.
      begun = (lines.pop() ?? "").slice(0, limits.maxLogLineUnits);
      for (const line of lines) this.#take(name, line);
    });
    stream.on("end", () => this.#take(name, begun));
  }

  /** Where they go to from now on, those of before first. */
  logTo(logger: Logger): void {
    this.#logger = logger;
    for (const { level, message, fields } of this.#early.splice(0)) logger[level](message, fields);
  }

  #take(stream: "stdout" | "stderr", line: string): void {
    const text = line.trimEnd().slice(0, limits.maxLogLineUnits).toWellFormed();
    const place = text === "" ? null : this.#budget.take();
    if (place === null) return;
    const level = stream === "stdout" ? "info" : "warn";
    const fields = withDropped({ stream }, place.dropped);
    if (this.#logger !== null) this.#logger[level](text, fields);
    else if (this.#early.length < maxEarlyLines) this.#early.push({ level, message: text, fields });
  }
}
