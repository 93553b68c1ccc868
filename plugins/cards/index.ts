import { definePlugin, type Plugin } from "../plugin.ts";
import { CardLines, type NameOf } from "./card-lines.ts";

export interface CardsOptions {
  /** Takes a line without its line break. What it returns is awaited before the next event. */
  readonly write: (line: string) => unknown;
  /** How people call a member. Default its id. */
  readonly nameOf?: NameOf | undefined;
}

/** The built-in `cards`: tool cards, approvals and member status as lines for a terminal. */
export function cards(options: CardsOptions): Plugin<undefined> {
  return definePlugin({
    id: "cards",
    version: "1.0.0",
    setup(context) {
      const lines = new CardLines(options.nameOf ?? ((memberId) => memberId));
      context.on("*", async (event) => {
        for (const line of lines.of(event)) await options.write(line);
      });
    },
  });
}
