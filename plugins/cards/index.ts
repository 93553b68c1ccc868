import { limits, type ActivityEvent } from "../../core/index.ts";
import { definePlugin, type Plugin } from "../plugin.ts";
import { CardLines, type NameOf } from "./card-lines.ts";

/** Room for both texts of an approval, which are shown whole. */
const maxEventBytes = 2 * limits.maxApprovalTextUnits + 16_384;

/** How the cards reach people. */
export interface CardsOptions {
  /** Takes a line without its line break. What it returns is awaited before the next line. */
  readonly write: (line: string) => unknown;
  /** How people call a member. Default its id. */
  readonly nameOf?: NameOf | undefined;
}

/**
 * The built-in `cards`: tool cards, approvals and member status as lines for a terminal. What an agent wrote is shown,
 * never obeyed. Without the grant `approvals` a card says that something is asked, but not what.
 */
export function cards({ write, nameOf = (memberId) => memberId }: CardsOptions): Plugin<undefined> {
  return definePlugin({
    id: "cards",
    version: "1.0.0",
    setup(context) {
      const lines = new CardLines(nameOf);
      const show = async (event: ActivityEvent): Promise<void> => {
        for (const line of lines.of(event)) await write(line);
      };
      context.on("*", show, { maxEventBytes });
    },
  });
}
