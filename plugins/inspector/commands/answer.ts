import { RoomtapError } from "../../../core/index.ts";
import type { Json } from "../../client/index.ts";
import type { Output } from "../../output.ts";
import { jsonText, oneLine } from "../../terminal-text.ts";
import { openRequests, type WaitingRequest } from "../open-requests.ts";
import { parseObject } from "../parse-object.ts";
import { withServer, type RemoteOptions } from "../remote.ts";

/** What `roomtap answer` is asked for. */
export interface AnswerOptions extends RemoteOptions {
  /** `srq-` and 12 hex digits. */
  readonly id: string;
  /** A choice, a text, or the whole result as a JSON object. */
  readonly value: string;
}

/**
 * Answers a question by its exact id. 0: the answer was taken; 1: somebody was first, or it ended, and how is printed.
 * @throws RoomtapError `invalid_choice` for a word that an approval does not offer: nothing is answered then
 */
export async function answerCommand(options: AnswerOptions, { out, note }: Output): Promise<number> {
  const { id, value, json } = options;
  return withServer(options, note, async (client) => {
    const request = (await openRequests(client)).find((each) => each.id === id);
    const result = resultOf(request?.method, value);
    checkChoice(request, result);
    const reply = await client.call("request.answer", { id, result });
    const { status, outcome } = reply;
    const how =
      outcome === undefined ? "answered" : [outcome.outcome, outcome.choice ?? outcome.reason ?? ""].join(" ");
    await out(json ? jsonText(reply) : oneLine(`${id} ${status === "ok" ? how : `was ${how} before`}`));
    return status === "ok" ? 0 : 1;
  });
}

/** The server takes every other word for `deny`: a slip of the finger is none. */
function checkChoice(request: WaitingRequest | undefined, { choice }: Json): void {
  if (request?.method !== "approval" || !Array.isArray(request.choices) || request.choices.includes(choice)) return;
  const offered = request.choices.map((word) => oneLine(String(word))).join(", ");
  const got = choice === undefined ? "none" : jsonText(choice);
  throw new RoomtapError("invalid_choice", `${request.id} offers ${offered}, got ${got}: it was not answered`, {
    remedy: "Choose one of them.",
  });
}

/** The result as the method wants it. Of a request that waits no more it does not matter: it only learns how it ended. */
function resultOf(method: string | undefined, value: string): Json {
  const whole = parseObject(value);
  if (whole !== null) return whole;
  if (method === "approval") return { choice: value };
  return method === "clarify" ? { answer: value } : { value };
}
