import { limits } from "../../core/index.ts";
import { definePlugin, type Plugin } from "../plugin.ts";
import { addCommands } from "./commands.ts";
import { crewConfigSchema, type CrewConfig, type CrewOptions } from "./config.ts";
import { RoomBoards } from "./room-boards.ts";
import { addRoutes } from "./routes.ts";

/** Room for both texts of an approval, which are shown whole. */
const maxEventBytes = 2 * limits.maxApprovalTextUnits + 16_384;

/**
 * The built-in `crew`: a board for each room, with each member's state, its tool cards, approvals and streamed text. Without a
 * grant it shows what it may: `approvals` tells what is asked, `answer` lets it answer, `reasoning` shows reasoning, `routes`
 * serves boards below `/plugins/crew`.
 * @param options in place of a config, or under it
 */
export function crew(options: CrewOptions = {}): Plugin<CrewConfig> {
  return definePlugin({
    id: "crew",
    version: "1.0.0",
    config: crewConfigSchema.prefault(options),
    manifest: {
      apiVersion: 1,
      hooks: ["*"],
      permissions: { payload: "standard", optional: ["reasoning", "answer", "approvals", "routes"] },
      disclosure:
        "Keeps the last turns of each member in memory, with what they asked and streamed, and shows them to callers.",
    },
    setup(context, config) {
      const boards = new RoomBoards(context, config);
      context.defer(() => boards.close());
      context.on("*", (event) => boards.take(event), { maxEventBytes });
      context.onReady(async () => void (await boards.list()));
      if (context.grants.includes("routes")) addRoutes(context, boards, config);
      addCommands(context, boards);
    },
  });
}
