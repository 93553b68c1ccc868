import { RoomtapError } from "../../core/index.ts";
import type { PluginCaller, PluginContext } from "../plugin.ts";
import { answerRequest, findRequest } from "./answer.ts";
import type { Board } from "./board.ts";
import { boardLines } from "./board-lines.ts";
import type { RoomBoards } from "./room-boards.ts";
import { seesRoom, visibleBoard } from "./visible-board.ts";

/** Adds the commands of Crew: `board` and `answer`. */
export function addCommands(context: PluginContext, boards: RoomBoards): void {
  context.commands.add({
    name: "board",
    summary: "shows the board of a room: ROOM [--json]",
    scope: "read",
    run: async ({ args, caller }) => {
      const [roomId, flag, ...others] = args;
      if (roomId === undefined || others.length > 0 || (flag !== undefined && flag !== "--json")) {
        throw new RoomtapError("invalid_params", "board: expected ROOM [--json]");
      }
      const board = visibleBoard(await boardFor(boards, roomId, caller), caller);
      return flag === undefined ? boardLines(board).join("\n") : board;
    },
  });
  context.commands.add({
    name: "answer",
    summary: "answers an approval: ID CHOICE",
    scope: "approvals",
    run: async ({ args, caller }) => {
      const [id, choice, ...others] = args;
      if (id === undefined || choice === undefined || others.length > 0) {
        throw new RoomtapError("invalid_params", "answer: expected ID CHOICE");
      }
      const rooms = (await boards.list()).filter(({ room_id }) => seesRoom(caller, room_id));
      const open = rooms.flatMap(({ room_id }) => boards.now(room_id) ?? []);
      const cards = await Promise.all(open.map((board) => findRequest(context, board, id)));
      const card = cards.find((each) => each !== undefined);
      const result = await answerRequest(context, card, { choice }, caller);
      if (!("message" in result)) return result;
      const code = result.status === "invalid_choice" ? "invalid_choice" : "not_granted";
      throw new RoomtapError(code, result.message);
    },
  });
}

/** @throws RoomtapError `unknown_room`, also for one that the caller may not see */
async function boardFor(boards: RoomBoards, roomId: string, caller: PluginCaller): Promise<Board> {
  const board = seesRoom(caller, roomId) ? await boards.board(roomId) : null;
  if (board !== null) return board;
  throw new RoomtapError("unknown_room", `there is no room ${roomId}`);
}
