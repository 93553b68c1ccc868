import type { PluginCaller, PluginContext, RouteRequest, RouteResponse } from "../plugin.ts";
import { answerRequest, answerSchema, findRequest, type Answered } from "./answer.ts";
import type { Board } from "./board.ts";
import type { CrewConfig } from "./config.ts";
import { liveBoards } from "./live.ts";
import type { RoomBoards } from "./room-boards.ts";
import { boardText, seesRoom, summaryOf } from "./visible-board.ts";

/** Readers of live boards, of all rooms. One more is refused. */
export const maxLiveReaders = 64;

const json = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" } as const;
const events = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store" } as const;

/** Statuses of answers; a request that somebody else was faster with is a conflict, and its outcome is told. */
const statuses: { readonly [Status in Answered["status"]]: number } = {
  ok: 200,
  already_resolved: 409,
  unknown_request: 404,
  invalid_answer: 400,
  invalid_choice: 400,
  not_granted: 403,
  insufficient_scope: 403,
};

/** Adds what Crew serves below its path. What a caller may not see is not there for it. */
export function addRoutes(context: PluginContext, boards: RoomBoards, { liveMs }: CrewConfig): void {
  const { routes, clock } = context;
  let readers = 0;
  routes.add("GET", "/", (request) => withCaller(request, (caller) => roomList(boards, caller)), { scope: "read" });
  routes.add(
    "GET",
    "/rooms/:room_id",
    (request) => withRoom(request, boards, (board, caller) => ({ headers: json, body: boardText(board, caller) })),
    { scope: "read" },
  );
  const live = async function* (
    request: RouteRequest,
    caller: PluginCaller,
    roomId: string,
  ): AsyncGenerator<string, void> {
    readers += 1;
    try {
      const textOf = (board: Board): string => boardText(board, caller);
      yield* liveBoards({ boards, roomId, clock, signal: request.signal, everyMs: liveMs, textOf });
    } finally {
      readers -= 1;
    }
  };
  routes.add(
    "GET",
    "/rooms/:room_id/live",
    (request) =>
      withRoom(request, boards, ({ room_id }, caller) => {
        if (readers < maxLiveReaders) return { headers: events, body: live(request, caller, room_id) };
        return problem(
          503,
          "too_many_readers",
          `${maxLiveReaders} read live boards already; ask for /rooms/${room_id}`,
        );
      }),
    { scope: "read" },
  );
  routes.add(
    "POST",
    "/rooms/:room_id/requests/:id",
    (request) => withRoom(request, boards, (board, caller) => answered(context, board, caller, request)),
    { scope: "approvals" },
  );
}

async function roomList(boards: RoomBoards, caller: PluginCaller): Promise<RouteResponse> {
  const rooms = (await boards.list()).filter(({ room_id }) => seesRoom(caller, room_id));
  const summaries = rooms.flatMap(({ room_id }) => {
    const board = boards.now(room_id);
    return board === null ? [] : [summaryOf(board)];
  });
  return { headers: json, json: { rooms: summaries } };
}

async function answered(
  context: PluginContext,
  board: Board,
  caller: PluginCaller,
  { params, body }: RouteRequest,
): Promise<RouteResponse> {
  const parsed = answerSchema.safeParse(parseJson(body));
  if (!parsed.success) return problem(400, "invalid_params", parsed.error.issues[0]?.message ?? "not valid");
  const result = await answerRequest(
    context,
    await findRequest(context, board, params["id"] ?? ""),
    parsed.data,
    caller,
  );
  const status = statuses[result.status];
  if ("message" in result) return problem(status, result.status, result.message);
  if (result.status === "unknown_request") return problem(status, result.status, "the room has no such request");
  return { status, headers: json, json: result };
}

function withCaller(
  { caller }: RouteRequest,
  use: (caller: PluginCaller) => RouteResponse | Promise<RouteResponse>,
): RouteResponse | Promise<RouteResponse> {
  return caller === null ? problem(401, "unauthorized", "who asks is not known") : use(caller);
}

function withRoom(
  request: RouteRequest,
  boards: RoomBoards,
  use: (board: Board, caller: PluginCaller) => RouteResponse | Promise<RouteResponse>,
): RouteResponse | Promise<RouteResponse> {
  return withCaller(request, async (caller) => {
    const roomId = request.params["room_id"] ?? "";
    const board = seesRoom(caller, roomId) ? await boards.board(roomId) : null;
    return board === null ? problem(404, "unknown_room", "there is no such room") : use(board, caller);
  });
}

function problem(status: number, code: string, message: string): RouteResponse {
  return { status, headers: json, json: { error: code, message } };
}

/** undefined for what is no JSON: no schema takes it. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
