import { z } from "zod";
import type { AnswerResult } from "../../core/index.ts";
import type { PluginCaller, PluginContext } from "../plugin.ts";
import type { Board, RequestCard } from "./board.ts";
import { openCard } from "./cards.ts";
import { holds } from "./visible-board.ts";

/** What answers a request: a word that an approval offers, or the result of any other question. */
export const answerSchema = z.union(
  [z.strictObject({ choice: z.string() }), z.strictObject({ result: z.record(z.string(), z.unknown()) })],
  { error: 'expected {"choice": WORD}, or {"result": {...}} for what is no approval' },
);

/** An answer from outside. */
export type GivenAnswer = z.output<typeof answerSchema>;

/** What became of an answer, or why it was not passed on. */
export type Answered =
  | AnswerResult
  | { readonly status: "not_granted" | "insufficient_scope" | "invalid_choice"; readonly message: string };

/**
 * Answers a request of a board in the name of a caller, who is told beside the outcome.
 * @param card of a request that the caller's room has; undefined: there is none of that id
 */
export async function answerRequest(
  { id, grants, requests }: Pick<PluginContext, "id" | "grants" | "requests">,
  card: RequestCard | undefined,
  given: GivenAnswer,
  caller: PluginCaller,
): Promise<Answered> {
  if (card === undefined) return { status: "unknown_request" };
  if (!grants.includes("answer")) {
    return { status: "not_granted", message: `plugin ${id} was not granted to answer: "grants": ["answer"]` };
  }
  if (!holds(caller, card.scope)) {
    return { status: "insufficient_scope", message: `to answer ${card.method} the scope ${card.scope} is needed` };
  }
  const isApproval = card.method === "approval";
  if (isApproval !== "choice" in given) {
    const wanted = isApproval ? "a choice" : "a result";
    return { status: "invalid_choice", message: `${card.id} is answered by ${wanted}; it was not answered` };
  }
  // The host takes every other word for `deny`: a slip of the finger is none.
  if ("choice" in given && card.choices?.includes(given.choice) === false) {
    const message = `${card.id} offers ${card.choices.join(", ")}, got ${JSON.stringify(given.choice)}: it was not answered`;
    return { status: "invalid_choice", message };
  }
  return requests.answer(card.id, { ...given, reason: `${caller.principal} by ${id}` });
}

/**
 * The request of this id in a room, whatever became of it. One that waits and whose event is still on its way to the board is
 * known to the host.
 */
export async function findRequest(
  { requests }: Pick<PluginContext, "requests">,
  board: Board,
  id: string,
): Promise<RequestCard | undefined> {
  const turns = board.members.flatMap((member) => member.turns);
  const card = turns.flatMap((turn) => turn.requests).find((each) => each.id === id);
  if (card !== undefined) return card;
  const open = await requests.open();
  const entry = open.find((each) => each.id === id && each.coordinates?.room_id === board.room_id);
  return entry === undefined ? undefined : openCard(entry, null, []);
}
